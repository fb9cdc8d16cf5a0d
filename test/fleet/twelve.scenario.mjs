import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { pace } from '../support/pace.ts';
import { until } from '../support/wait.ts';
import { counted, cpuMsOf, inTurn, times } from './check.mjs';

const size = 12;
const seconds = 30;
const perSecond = 200;
/** In a hundred calls: the rest have neither a budget nor a key. */
const [budgeted, keyed] = [20, 10];

/** What twelve replicas with small pools cost one PostgreSQL, at rest and at 200 calls/s. */
export async function twelve({ checks, started }) {
  const fleet = await started({ variables: { DATABASE_POOL_SIZE: '2' } });
  await fleet.grow(size);
  for (const name of ['counted', 'moved', 'with_circuit']) await fleet.register(name, { poolSize: 2 });
  await fleet.warm('counted');
  const watch = await Watch.open(fleet);
  try {
    await delay(10_000);
    const rest = await watch.during(() => delay(seconds * 1_000));
    checks.note(`at rest: ${figures(rest)}`);
    checks.check(
      rest.connections <= size * 5,
      `${rest.connections} connections at rest (at most ${size * 5})`,
    );
    await propagation({ fleet, checks, when: 'at rest' });

    const said = [];
    let sent = 0;
    const stop = pace(perSecond, async () => void said.push((await call(fleet, sent++)).said));
    await delay(5_000);
    const before = said.length;
    const busy = await watch.during(() => delay(seconds * 1_000));
    const calls = said.length - before;
    checks.note(`at ${(calls / seconds).toFixed(0)} calls/s: ${figures(busy)}`);
    checks.check(busy.connections <= size * 5, `${busy.connections} connections (at most ${size * 5})`);
    await propagation({ fleet, checks, when: `at ${perSecond} calls/s` });
    await stop();
    checks.check(
      said.every((each) => each === 'success'),
      `calls of ${size} replicas: ${counted(said)} (all success)`,
    );
    const aCall = ((busy.cpuMs - rest.cpuMs) * 1_000) / calls;
    const aReplica = rest.cpuMs / seconds / size;
    checks.note(
      `PostgreSQL: ${aReplica.toFixed(2)} ms/s for each replica at rest, ${aCall.toFixed(0)} µs for each call`,
    );
    checks.note(
      `70 % of a core carries ${Math.floor(700 / aReplica)} replicas at rest, or ${size} replicas and ` +
        `${Math.floor((700 - size * aReplica) / (aCall / 1_000))} calls/s of this mixture`,
    );
  } finally {
    await watch.close();
  }
}

function call(fleet, n) {
  const kind = n % 100;
  return fleet.call(
    'counted',
    {},
    {
      url: fleet.replicas[n % size].url,
      ...(kind < budgeted && { context: { investigationId: `counted-${Math.floor(n / 100)}-${kind % 4}` } }),
      ...(kind >= 100 - keyed && { headers: { 'idempotency-key': `counted-${n}` } }),
    },
  );
}

/** How long an act of an operator takes until all replicas have confirmed it, and whether they obey then. */
async function propagation({ fleet, checks, when }) {
  const ms = [];
  let disobeyed = 0;
  for (const n of times(10)) {
    const action = n % 2 === 0 ? 'disable' : 'enable';
    const { url } = fleet.replicas[n % size];
    const answer = await fleet.ask('POST', `/api/v1/custom-tools/moved/${action}`, undefined, { url });
    ms.push(answer.ms);
    if (action !== 'disable') continue;
    const said = await Promise.all(fleet.replicas.map((replica) => fleet.call('moved', {}, replica)));
    disobeyed += said.filter((each) => each.said !== 'tool_not_found').length;
  }
  const events = await inTurn(3, (n) => spreadOfEvent(fleet, n + 1));
  const sorted = ms.sort((a, b) => a - b);
  checks.check(
    disobeyed === 0,
    `${when}: tools disabled and enabled at one replica: p50 ${sorted[sorted.length >> 1].toFixed(0)} ms, ` +
      `most ${sorted.at(-1).toFixed(0)} ms until answered; ${disobeyed} calls elsewhere ran on (none)`,
  );
  checks.note(
    `${when}: an event is at all replicas after ${events.map((each) => each.toFixed(0)).join(', ')} ms`,
  );
}

/** Opens a circuit. @returns milliseconds from the answer until each replica lists the event */
async function spreadOfEvent(fleet, nth) {
  const tool = 'with_circuit';
  const act = (action) =>
    fleet.ask('POST', `/api/v1/tool-health/${tool}/circuit/${action}`, { reason: 'test' });
  const path = `/api/v1/events?tool=${tool}&type=circuit.opened&limit=100`;
  const opened = async (url) => (await fleet.ask('GET', path, undefined, { url })).body.data?.length ?? 0;
  const before = await opened(fleet.url);
  await act('open');
  const began = performance.now();
  for (const { url } of fleet.replicas)
    await until(async () => (await opened(url)) > before, { what: `opening ${nth} at ${url}` });
  const ms = performance.now() - began;
  await act('close');
  return ms;
}

/** What PostgreSQL is asked and sends. */
class Watch {
  notifications = 0;

  static async open(fleet) {
    const watch = new Watch();
    watch.fleet = fleet;
    watch.listener = new pg.Client({ connectionString: fleet.db.url });
    watch.listener.on('notification', () => watch.notifications++);
    await watch.listener.connect();
    await watch.listener.query('LISTEN toolkeeper');
    return watch;
  }

  close() {
    return this.listener.end();
  }

  async during(work) {
    const before = await this.now();
    await work();
    const after = await this.now();
    return {
      connections: after.connections,
      transactions: after.transactions - before.transactions,
      notifications: after.notifications - before.notifications,
      cpuMs: after.cpuMs - before.cpuMs,
    };
  }

  async now() {
    const { notifications, fleet } = this;
    const [row] = await fleet.db.query(
      `SELECT (SELECT (xact_commit + xact_rollback)::int FROM pg_stat_database WHERE datname = current_database()) AS transactions,
         (SELECT count(*)::int FROM pg_stat_activity WHERE application_name LIKE 'toolkeeper%') AS connections`,
    );
    return { ...row, notifications, cpuMs: cpuMsOf(fleet.db.pid) };
  }
}

const figures = ({ connections, transactions, notifications, cpuMs }) =>
  `each replica has ${(connections / size).toFixed(1)} connections, ` +
  `${(transactions / seconds / size).toFixed(2)} transactions/s and ${(notifications / seconds / size).toFixed(2)} notifications/s sent; ` +
  `PostgreSQL takes ${(cpuMs / seconds).toFixed(0)} ms/s of CPU`;
