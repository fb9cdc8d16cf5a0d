import type { Session } from '../api.js';
import type { ServerAddress, Surroundings } from '../surroundings.js';
import { CliError, type Output } from '../output.js';
import { type Finding, missing, note, ok, placeFindings, programFindings } from './host.js';

interface Part {
  readonly status: 'up' | 'down' | 'degraded';
  readonly message?: string;
  readonly [detail: string]: unknown;
}

interface StoredTool {
  readonly name: string;
  readonly protocol: string;
  readonly isolation: string;
}

const timeoutMs = 10_000;
const mends: Readonly<Record<string, string>> = {
  database: 'is it up, and right in DATABASE_URL? The log of the server has the reason',
  recorder: 'docs/operate/recording.md says what fills the journal',
  embeddings: 'is EMBEDDINGS_URL right, and its model there? Meanwhile playbooks are found by words',
  server: 'wait: it starts, or ends',
  tools: 'wait: tools are being loaded',
};
/** The way from each tier to the next one. */
const nextTier = [
  'apt-get install bubblewrap socat; SANDBOX and SANDBOX_MAX_TIER must allow it',
  'apt-get install bubblewrap socat; an ordinary pod cannot run them (docs/operate/sandbox.md)',
  'give it a writable cgroup: SANDBOX_CGROUP (docs/operate/sandbox.md)',
];

/** Prints what a server needs, what is there, and how to mend the rest. @throws CliError where something is missing */
export async function doctor({ surroundings, out }: Session): Promise<void> {
  const server = await serverFindings(surroundings);
  const findings: Finding[] = [
    ok('toolkeeper', `${surroundings.root}, Node ${process.version}`),
    ...(server ?? [
      note('server', `none answers at ${surroundings.server().url}`, 'npm start, or toolkeeper start'),
      ...(await placeFindings(surroundings)),
    ]),
    ...programFindings(surroundings.environment['PATH']),
  ];
  out.answer(findings, () => findings.map((finding) => lineOf(out, finding)).join('\n'));
  const lacking = findings.filter(({ state }) => state === 'missing').map(({ what }) => what);
  if (lacking.length > 0) throw new CliError(`to be mended: ${lacking.join(', ')}`);
}

function lineOf(out: Output, { what, state, found, mend }: Finding): string {
  const head = `${out.state(state)}${' '.repeat(9 - state.length)}${what.padEnd(16)}${found}`;
  return mend === undefined ? head : `${head}\n${' '.repeat(25)}mend: ${mend}`;
}

/** The findings that a running server reports. @returns undefined if none answers */
async function serverFindings(surroundings: Surroundings): Promise<Finding[] | undefined> {
  const address = surroundings.server();
  const asked = await ask(address, '/readyz').catch(() => undefined);
  if (!asked) return undefined;
  const { details = {} } = (await asked.json().catch(() => ({}))) as { details?: Record<string, Part> };
  const found = `${address.url} ${asked.ok ? 'is ready' : `answers ${asked.status}`}`;
  if (Object.keys(details).length === 0)
    return [missing('server', found, 'another program listens there: set PORT')];
  return [
    { what: 'server', state: asked.ok ? 'ok' : 'missing', found },
    await keyFinding(address, surroundings.dataDir),
    ...(await sharedServers(address)),
    ...Object.entries(details)
      .filter(([part]) => part !== 'server')
      .map(([part, told]) => (part === 'sandbox' ? sandboxFinding(told) : partFinding(part, told))),
    ...(await toolFindings(address).catch(() => [])),
  ];
}

/** The end of a refusal that explains how to allow it. */
const allowing = /(?:to allow it(?:, set|:)|, or set) (chmod \S+ \S+|([A-Z_]+)=(\S+))$/;

/** Tools that cannot be started, and the lines that allow those which a rule refuses. */
async function toolFindings(address: ServerAddress): Promise<Finding[]> {
  const answer = await ask(address, '/api/v1/custom-tools?status=error&limit=100');
  const { data = [] } = (await answer.json()) as { data?: { name: string; errorMessage: string | null }[] };
  const settings = new Map<string, Set<string>>();
  const tools = data.map(({ name, errorMessage }) => {
    const [, mend, variable, values = ''] = allowing.exec(errorMessage ?? '') ?? [];
    if (variable !== undefined)
      settings.set(variable, new Set([...(settings.get(variable) ?? []), ...values.split(',')]));
    return note(`tool ${name}`, errorMessage ?? 'it cannot be started', mend);
  });
  const all = [...settings].map(([variable, values]) => `${variable}=${[...values].join(',')}`);
  return [...tools, ...all.map((line) => note('to allow all', line))];
}

async function keyFinding(address: ServerAddress, dataDir: string): Promise<Finding> {
  const mend = `set TOOLKEEPER_KEY, or TOOLKEEPER_DATA_DIR to that of the server (now ${dataDir})`;
  if (address.key === undefined) return note('key', 'none is known: changes are refused', mend);
  const { status } = await ask(address, '/api/v1/tools?limit=1');
  if (status === 401) return missing('key', 'the server does not know it', mend);
  return ok('key', 'the server knows it');
}

/** MCP servers whose memory all projects share. */
async function sharedServers(address: ServerAddress): Promise<Finding[]> {
  const asked = await ask(address, '/api/v1/custom-tools?limit=1000');
  const { data = [] } = (await asked.json().catch(() => ({}))) as { data?: readonly StoredTool[] };
  return data
    .filter(({ protocol, isolation }) => protocol === 'mcp' && isolation === 'shared')
    .map(({ name }) =>
      note(
        `MCP server ${name}`,
        'is shared: each project can read what another left in its memory',
        `PATCH /api/v1/custom-tools/${name} {"isolation": "project"}`,
      ),
    );
}

function sandboxFinding({ tier, enabled, policy, grantable }: Part): Finding {
  if (typeof tier !== 'number') return ok('sandbox', 'only the admin key can read its tier');
  const held = enabled === false ? 'switched off' : `tier ${tier} of 3, policy ${String(policy)}`;
  const grants = Array.isArray(grantable) && grantable.length > 0 ? grantable.join(', ') : 'nothing else';
  const found = `${held}; besides its own folder a tool may be granted: ${grants} (SANDBOX_GRANTABLE_PATHS)`;
  const mend = enabled === false ? 'SANDBOX=enforce' : nextTier[tier];
  return mend === undefined ? ok('sandbox', found) : note('sandbox', found, mend);
}

function partFinding(what: string, { status, ...details }: Part): Finding {
  const figures = Object.entries(details).map(([name, value]) => `${name} ${String(value)}`);
  const found = [status, ...figures].join(', ');
  if (status === 'up') return ok(what, found);
  return { ...note(what, found, mends[what]), ...(status === 'down' && { state: 'missing' }) };
}

const ask = ({ url, key }: ServerAddress, path: string): Promise<Response> =>
  fetch(`${url}${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(timeoutMs),
  });
