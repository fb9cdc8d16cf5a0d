import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/wait.ts';
import { counted, inTurn, times, within } from './check.mjs';

const ownFault = new Set(['tool_crashed', 'spawn_failed']);

/** Faults are counted over the fleet; a fault of one replica's disk is that replica's alone. */
export async function circuit({ fleet, checks, receiver }) {
  await fleet.register('failing');
  await fleet.warm('failing');
  const states = async (tool) =>
    Promise.all(
      fleet.replicas.map(
        async ({ url }) =>
          (await fleet.ask('GET', `/api/v1/tool-health/${tool}/circuit`, undefined, { url })).body.state,
      ),
    );
  const said = await inTurn(30, async () => (await fleet.call('failing', { action: 'crash' })).said);
  const faults = said.filter((each) => ownFault.has(each)).length;
  const isCutOff = said.slice(faults).every((each) => each === 'circuit_open');
  checks.check(
    faults >= 5 && faults <= 7 && isCutOff,
    `30 failing calls: ${counted(said)} (5 to 7 faults, then circuit_open)`,
  );
  const opened = await states('failing');
  checks.check(
    opened.every((state) => state === 'open'),
    `state at the replicas: ${opened.join(', ')} (all open)`,
  );
  await quickFaults({ fleet, checks, receiver });
  await probes({ fleet, checks, states });
  await missingFile({ fleet, checks, states });
  await brokenFile({ fleet, checks, states });
}

/** Quick calls at all replicas at once open a circuit at several of them: that is one event, and one webhook. */
async function quickFaults({ fleet, checks, receiver }) {
  const names = times(5).map((n) => `quick_${n}`);
  receiver.seen.length = 0;
  for (const name of names) {
    await fleet.register(name);
    await fleet.warm(name);
    await Promise.all(times(30).map(() => fleet.call(name, { action: 'error', code: -32001 })));
  }
  const webhooksOf = (name) =>
    receiver.seen.filter(({ type, tool }) => type === 'circuit.opened' && tool === name).length;
  await until(() => names.every((name) => webhooksOf(name) > 0), {
    timeoutMs: within(20_000),
    what: 'webhooks',
  }).catch(() => undefined);
  // What a replica still writes is there after its next act.
  for (const { url } of fleet.replicas)
    await fleet.ask('POST', `/api/v1/tool-health/${names[0]}/circuit/open`, { reason: 'test' }, { url });
  const events = await inTurn(names.length - 1, async (n) => {
    const path = `/api/v1/events?type=circuit.opened&tool=${names[n + 1]}`;
    return (await fleet.ask('GET', path)).body.data?.length;
  });
  const webhooks = names.slice(1).map(webhooksOf);
  checks.check(
    [...events, ...webhooks].every((count) => count === 1),
    `one opening under quick calls: events ${events.join(' ')}, webhooks ${webhooks.join(' ')} (1 each)`,
  );
}

/** When the pause of 30 s ends, one replica lets three calls through; all others are refused until these have succeeded. */
async function probes({ fleet, checks, states }) {
  let probed = 0;
  const probe = async () => {
    const slow = () => fleet.call('failing', { action: 'sleep', ms: 1_500 });
    const answers = await Promise.all(times(30).map(slow));
    probed += answers.filter(({ said }) => said === 'success').length;
    return probed >= 3;
  };
  await until(probe, { timeoutMs: 60_000, what: 'three probes' });
  checks.check(
    probed === 3,
    `calls in rounds of 30 until three were admitted: ${probed} (exactly 3 probes in all)`,
  );
  const isClosed = async () => (await states('failing')).every((state) => state === 'closed');
  await until(isClosed, { timeoutMs: within(2_000), what: 'closed circuits' }).catch(() => undefined);
  const closed = await states('failing');
  checks.check(
    closed.every((state) => state === 'closed'),
    `after three successes: ${closed.join(', ')} (all closed)`,
  );
}

/** A tool that cannot start at replica 3 is refused there alone, before its circuit; the refusal says to call again. */
async function missingFile({ fleet, checks, states }) {
  await registerWith({ fleet }, 'drifting', (file) => rmSync(file));
  const refusals = await repeatRefused({ fleet, checks }, 'drifting', 'missing');
  const hints = refusals.map(({ said, body, headers }) =>
    [said, body.retryElsewhere, headers.get('retry-after')].join(),
  );
  checks.check(
    hints.length > 0 && hints.every((hint) => hint === 'tool_unavailable,true,0'),
    `refused with: ${counted(hints)} (tool_unavailable, retryElsewhere, Retry-After 0)`,
  );
  const found = await states('drifting');
  checks.check(
    found[0] === 'closed' && found[1] === 'closed',
    `its circuit: ${found.join(', ')} (closed at 1 and 2)`,
  );
  await named({ fleet, checks, third: fleet.replicas[2] });
}

/** Faults that only replica 3 has open the circuit of replica 3 alone. */
async function brokenFile({ fleet, checks, states }) {
  await registerWith({ fleet }, 'broken', (file) => {
    const source = readFileSync(file, 'utf8');
    writeFileSync(file, source.replace('answer(id, input)', 'process.exit(3)'));
  });
  await repeatRefused({ fleet, checks }, 'broken', 'broken');
  const found = await states('broken');
  checks.check(
    found.join() === 'closed,closed,open',
    `its circuit: ${found.join(', ')} (closed, closed, open)`,
  );
}

/** Registers a tool, and then changes its file on the disk of replica 3. */
async function registerWith({ fleet }, name, change) {
  const script = fleet.copyTool(`${name}.mjs`, '../fixtures/tools/fixture-tool.mjs');
  await fleet.register(name, { args: [script], keepAlive: false });
  await fleet.warm(name);
  change(join(fleet.replicas[2].settings.folder, 'tools', `${name}.mjs`));
}

/** Calls through the balancer; what is refused is called again at once. @returns the refusals */
async function repeatRefused({ fleet, checks }, tool, how) {
  const answers = await inTurn(60, async () => {
    const first = await fleet.call(tool);
    const again = first.status === 200 ? undefined : await fleet.call(tool);
    return { first, again };
  });
  const refused = answers.filter(({ again }) => again);
  const said = counted(answers.map(({ first }) => first.said));
  const repeated = counted(refused.map(({ again }) => again.said));
  checks.check(
    refused.length > 0 && refused.every(({ again }) => again.said === 'success'),
    `file ${how} at replica 3: ${said}; refused calls repeated: ${repeated} (all success)`,
  );
  return refused.map(({ first }) => first);
}

/** The tool's view names the replica whose file is missing, at whichever replica it is asked. */
async function named({ fleet, checks, third }) {
  const { port } = third.settings;
  const { body } = await fleet.ask('GET', '/api/v1/replicas');
  const row = body.data?.find(({ address }) => address?.endsWith(`:${port}`));
  const views = await Promise.all(
    fleet.replicas.map(async ({ url }) =>
      JSON.stringify((await fleet.ask('GET', '/api/v1/custom-tools/drifting', undefined, { url })).body),
    ),
  );
  const isNamed = (view) =>
    row !== undefined &&
    view.includes(row.id) &&
    /no such file|does not exist|ENOENT|cannot find/i.test(view);
  checks.check(
    views.every(isNamed),
    `GET /api/v1/custom-tools/drifting names ${row?.id ?? 'no replica'} with its reason at ${views.filter(isNamed).length} of 3 replicas`,
  );
}
