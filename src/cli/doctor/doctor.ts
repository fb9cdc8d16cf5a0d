import { CliError } from '../exit.js';
import type { Output } from '../output.js';
import type { Surroundings } from '../surroundings.js';
import { type Finding, placeFindings, programFindings } from './host.js';
import { serverFindings } from './server.js';

/** What a server needs, what is there, and how to mend the rest. @throws CliError where something is missing */
export async function doctor(surroundings: Surroundings, out: Output): Promise<void> {
  const server = await serverFindings(surroundings);
  const findings: Finding[] = [
    { what: 'toolkeeper', state: 'ok', found: `${surroundings.root}, Node ${process.version}` },
    ...(server ?? [
      {
        what: 'server',
        state: 'note',
        found: `none answers at ${surroundings.server().url}`,
        mend: 'npm start, or toolkeeper start',
      },
      ...(await placeFindings(surroundings)),
    ]),
    ...programFindings(surroundings.environment['PATH']),
  ];
  out.answer(findings, () => findings.map((finding) => lineOf(out, finding)).join('\n'));
  const missing = findings.filter(({ state }) => state === 'missing').map(({ what }) => what);
  if (missing.length > 0) throw new CliError(`to be mended: ${missing.join(', ')}`);
}

function lineOf(out: Output, { what, state, found, mend }: Finding): string {
  const head = `${out.state(state)}${' '.repeat(9 - state.length)}${what.padEnd(16)}${found}`;
  return mend === undefined ? head : `${head}\n${' '.repeat(25)}mend: ${mend}`;
}
