import { setTimeout as delay } from 'node:timers/promises';
import { times } from './check.mjs';

/** What is done now and then is done each minute at the latest. */
const seconds = 60;

/** What the fleet costs PostgreSQL while nobody calls. */
export async function rest({ fleet, checks }) {
  const script = fleet.copyTool('resting.mjs', '../fixtures/tools/fixture-tool.mjs');
  const add = async (from, to) => {
    for (let n = from; n < to; n += 4)
      await Promise.all(
        times(Math.min(4, to - n)).map((m) =>
          fleet.register(`resting_${n + m}`, { args: [script], keepAlive: false, poolSize: 1 }),
        ),
      );
  };
  const cost = async () => {
    // Registrations, first grades and idle processes are over then.
    await delay(10_000);
    const before = await totals(fleet);
    await delay(seconds * 1_000);
    const after = await totals(fleet);
    return { transactions: after.transactions - before.transactions, rows: after.rows - before.rows };
  };
  await add(0, 10);
  const few = await cost();
  await add(10, 200);
  const many = await cost();
  const rate = (count) => (count / seconds).toFixed(1);
  for (const [what, slack] of [
    ['transactions', seconds / 2],
    ['rows', seconds * 20],
  ])
    checks.check(
      many[what] <= few[what] * 1.1 + slack,
      `${what}/s at rest: ${rate(few[what])} with 10 tools, ${rate(many[what])} with 200 (the same)`,
    );
  const [{ count }] = await fleet.db.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  checks.note(`${count} connections at rest`);
  await Promise.all(
    times(60).map((n) =>
      fleet.ask('GET', '/api/v1/tool-metrics/tools', undefined, { url: fleet.replicas[n % 3].url }),
    ),
  );
  const [{ count: busy }] = await fleet.db.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  checks.check(busy <= 27, `${busy} connections after 60 reads at once (at most 27)`);
  for (const n of times(200)) await fleet.ask('DELETE', `/api/v1/custom-tools/resting_${n}`);
}

/**
 * Transactions of all sessions, and rows of tables that these read. Sessions report them within a second or when they are
 * idle.
 */
async function totals(fleet) {
  const [found] = await fleet.db.query(
    `SELECT (xact_commit + xact_rollback)::int AS transactions,
       (SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int FROM pg_stat_user_tables) AS rows
     FROM pg_stat_database WHERE datname = current_database()`,
  );
  return found;
}
