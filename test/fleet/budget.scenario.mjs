import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/wait.ts';
import { counted, inTurn, times } from './check.mjs';

/** Limits hold for the fleet: ten calls of a tool in an investigation, ten calls a minute of a key. */
export async function budget({ fleet, checks }) {
  await fleet.register('spent');
  await fleet.warm('spent');
  const call = (investigationId, options) =>
    fleet.call('spent', {}, { context: { investigationId }, ...options });
  const admitted = (answers) => answers.filter(({ said }) => said === 'success').length;
  const saids = (answers) => counted(answers.map(({ said }) => said));

  const serial = await inTurn(45, () => call('in-turn'));
  checks.check(admitted(serial) === 10, `45 calls in turn: ${saids(serial)} (ten admitted)`);
  const left = serial
    .slice(0, 10)
    .map(
      ({ headers }) =>
        /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1] ?? headers.get('ratelimit-remaining'),
    );
  checks.check(
    left.join(' ') === '9 8 7 6 5 4 3 2 1 0',
    `RateLimit-Remaining: ${left.join(' ')} (falls by one)`,
  );
  const atOnce = await Promise.all(times(60).map(() => call('at-once')));
  checks.check(admitted(atOnce) === 10, `60 calls at once: ${saids(atOnce)} (ten admitted)`);
  await keyRate({ fleet, checks, saids, admitted });
  await cutOff({ fleet, checks, call, admitted });
  await whileKilled({ fleet, checks, call, admitted });
}

async function keyRate({ fleet, checks, saids, admitted }) {
  const withKey = async () => {
    const rate = { calls: 10, per: 'minute' };
    const { body } = await fleet.ask('POST', '/api/v1/keys', {
      name: 'rated',
      owner: 'test',
      scopes: ['tools:call'],
      rate,
    });
    const call = () => fleet.call('spent', {}, { headers: { authorization: `Bearer ${body.key}` } });
    for (const { url } of fleet.replicas)
      await until(
        async () =>
          (
            await fleet.ask('GET', '/api/v1/tools', undefined, {
              url,
              headers: { authorization: `Bearer ${body.key}` },
            })
          ).status === 200,
        { what: 'the key' },
      );
    return call;
  };
  // A window of a minute must not end between the calls.
  await until(() => new Date().getSeconds() < 50, { what: 'the next minute' });
  const serial = await inTurn(45, await withKey());
  checks.check(admitted(serial) === 10, `45 calls of a key in turn: ${saids(serial)} (ten admitted)`);
  await until(() => new Date().getSeconds() < 50, { what: 'the next minute' });
  const other = await withKey();
  const atOnce = await Promise.all(times(60).map(other));
  checks.check(admitted(atOnce) === 10, `60 calls of a key at once: ${saids(atOnce)} (ten admitted)`);
}

/** A replica without the database counts on from the last number that it has heard, and says so. */
async function cutOff({ fleet, checks, call, admitted }) {
  const [first, , third] = fleet.replicas;
  const used = [];
  // Replica 3 hears of the fourth call, so that six are left.
  for (const url of [first.url, first.url, first.url, third.url]) used.push(await call('cut-off', { url }));
  const before = await fleet.metric('toolkeeper_budget_local_total', third);
  fleet.link.cut();
  await delay(3_000);
  const there = await inTurn(15, () => call('cut-off', { url: third.url }));
  const elsewhere = await Promise.all(
    times(30).map((n) => call('cut-off', { url: fleet.replicas[n % 2].url })),
  );
  const sum = admitted([...used, ...there, ...elsewhere]);
  checks.check(
    sum >= 10 && sum <= 16,
    `replica 3 cut off with six left: ${sum} admitted (10 to 16), ${admitted(there)} of them there`,
  );
  const local = (await fleet.metric('toolkeeper_budget_local_total', third)) - before;
  checks.check(
    local >= admitted(there) && local > 0,
    `toolkeeper_budget_local_total at replica 3: + ${local}`,
  );
  const ready = await fleet.ask('GET', '/readyz', undefined, { url: third.url });
  checks.check(
    ready.status === 200 && ready.body.details?.budgets?.status === 'degraded',
    `readyz at replica 3: ${ready.status}, budgets ${ready.body.details?.budgets?.status} (200, degraded)`,
  );
  fleet.link.heal();
  const isWhole = async () => {
    // The next count tells it that the database is back.
    await call('healed', { url: third.url });
    const { body } = await fleet.ask('GET', '/readyz', undefined, { url: third.url });
    return ['budgets', 'database'].every((part) => body.details?.[part]?.status === 'up');
  };
  await until(isWhole, { timeoutMs: 30_000, what: 'replica 3 to use the database again' });
}

async function whileKilled({ fleet, checks, call, admitted }) {
  const [, second] = fleet.replicas;
  const investigations = times(20).map((n) => `killed-${n}`);
  const calls = investigations.flatMap((id) =>
    times(45).map(async (n) => {
      await delay(n * 40);
      return { id, ...(await call(id)) };
    }),
  );
  await delay(600);
  await second.end('SIGKILL');
  const answers = await Promise.all(calls);
  const each = investigations.map((id) => admitted(answers.filter((answer) => answer.id === id)));
  checks.check(
    each.every((count) => count <= 10) && Math.max(...each) > 5,
    `20 investigations while replica 2 is killed: admitted ${counted(each)} (never more than 10)`,
  );
  await fleet.restore();
}
