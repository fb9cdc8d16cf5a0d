import { setTimeout as delay } from 'node:timers/promises';
import { times, within } from './check.mjs';
import { checkLoad, Load } from './load.mjs';

const knownWithinMs = 3_500;
const answerWithinMs = within(100);

/** PostgreSQL is restarted, then away for 12 s: plain calls go on, what needs it is refused at once, nothing is lost. */
export async function database({ fleet, checks }) {
  await fleet.register('plain');
  await fleet.warm('plain');
  const load = new Load(fleet, 'plain');
  await load.atLeast(100);
  await fleet.db.stop();
  await fleet.db.start();
  checks.note('PostgreSQL was restarted');
  await delay(5_000);
  await fleet.db.stop();
  const stopped = performance.now();
  const refused = await refusals(fleet, stopped);
  await delay(Math.max(0, 12_000 - (performance.now() - stopped)));
  await fleet.db.start();
  const seconds = ((performance.now() - stopped) / 1_000).toFixed(1);
  await delay(3_000);
  checkLoad(checks, `restarted, then away for ${seconds} s`, await load.verdict(), 1_000);
  for (const [what, answers] of Object.entries(refused)) {
    const slowest = Math.max(...answers.map(({ ms }) => ms)).toFixed(0);
    const right = answers.filter(({ status, ms }) => status === 503 && ms <= answerWithinMs).length;
    checks.check(
      right === answers.length,
      `${what}: ${right} of ${answers.length} were 503 within ${answerWithinMs.toFixed(0)} ms (slowest ${slowest} ms)`,
    );
  }
  await cutOff({ fleet, checks });
}

/** What replicas answer that know of it: the first answers may take longer. */
async function refusals(fleet, since) {
  const found = { 'calls with a key': [], reads: [], administration: [] };
  while (performance.now() - since < knownWithinMs) {
    await Promise.all(
      fleet.replicas.map(({ url }) => fleet.ask('GET', '/api/v1/tool-metrics/tools', undefined, { url })),
    );
    await delay(200);
  }
  for (const n of times(15)) {
    const headers = { 'idempotency-key': `away-${n}` };
    found['calls with a key'].push(await fleet.call('plain', {}, { headers }));
    found.reads.push(await fleet.ask('GET', '/api/v1/tool-metrics/tools'));
    found.administration.push(await fleet.ask('POST', '/api/v1/custom-tools/plain/enable'));
  }
  return found;
}

/** The same at one replica whose packets are dropped: connections stay, nothing is answered. */
async function cutOff({ fleet, checks }) {
  const [, , { url }] = fleet.replicas;
  const load = new Load(fleet, 'plain');
  await load.atLeast(50);
  fleet.link.cut();
  const since = performance.now();
  while (performance.now() - since < 2 * knownWithinMs) {
    await fleet.ask('GET', '/api/v1/tool-metrics/tools', undefined, { url });
    await delay(200);
  }
  const answers = [];
  for (const n of times(15)) {
    answers.push(await fleet.ask('GET', '/api/v1/tool-metrics/tools', undefined, { url }));
    answers.push(await fleet.call('plain', {}, { url, headers: { 'idempotency-key': `cut-${n}` } }));
  }
  fleet.link.heal();
  await load.atLeast(1_000);
  checkLoad(checks, 'replica 3 cut off', await load.verdict(), 1_000);
  const right = answers.filter(({ status, ms }) => status === 503 && ms <= answerWithinMs).length;
  const slowest = Math.max(...answers.map(({ ms }) => ms)).toFixed(0);
  checks.check(
    right === answers.length,
    `reads and calls with a key there: ${right} of ${answers.length} were 503 within ${answerWithinMs.toFixed(0)} ms (slowest ${slowest} ms)`,
  );
}
