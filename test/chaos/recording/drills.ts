import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/wait.js';
import type { Random } from '../random.js';
import { Ledger, type Verdict } from './ledger.js';
import { holding, Rig } from './rig.js';
import { SwallowingProxy } from './swallowing-proxy.js';

/** What one drill found; `figures` are its own. */
export interface Finding {
  readonly drill: string;
  readonly rounds: number;
  readonly verdict: Verdict;
  readonly drainSeconds: number;
  readonly figures: Readonly<Record<string, number>>;
}

type Variables = Record<string, string>;

async function withRig<T>(variables: Variables, work: (rig: Rig) => Promise<T>): Promise<T> {
  const rig = new Rig();
  try {
    await rig.open(variables);
    return await work(rig);
  } finally {
    await rig.close();
  }
}

/** SIGKILL with so many calls in flight and others being answered; the next gateway replays the journal. */
export const killGateway = (
  random: Random,
  rounds: number,
  inFlight: number,
  variables: Variables = {},
): Promise<Finding> =>
  withRig(variables, async (rig) => {
    const ledger = new Ledger();
    let slowest = 0;
    for (let round = 0; round < rounds; round++) {
      const held = Array.from({ length: inFlight }, () => ledger.call(rig.url, 'held', holding));
      await until(async () => (await rig.metric('toolkeeper_calls_in_flight')) >= inFlight, {
        what: `${inFlight} calls in flight`,
      });
      const stop = rig.load(ledger, 8);
      await someAnswered(ledger);
      await delay(random.between(20, 300));
      await rig.kill();
      await Promise.all([stop(), ...held]);
      await rig.start(variables);
      slowest = Math.max(slowest, await rig.drained(ledger));
      await until(async () => (await ledger.verdict(rig.db)).interrupted >= inFlight * (round + 1), {
        what: `${inFlight} interrupted calls a round`,
      });
    }
    const figures = { heldAtTheKills: rounds * inFlight };
    return {
      drill: 'gateway killed',
      rounds,
      verdict: await ledger.verdict(rig.db),
      drainSeconds: slowest,
      figures,
    };
  });

/** The database is taken away and given back under a steady load; calls must go on meanwhile. */
const databaseAway = async (
  drill: string,
  rounds: number,
  perSecond: number,
  /** `answered` resolves when calls were answered since the round began. */
  away: (rig: Rig, answered: () => Promise<unknown>) => Promise<void>,
): Promise<Finding> =>
  withRig({}, async (rig) => {
    const ledger = new Ledger();
    let [slowest, fewest] = [0, Infinity];
    for (let round = 0; round < rounds; round++) {
      const stop = rig.pace(ledger, perSecond);
      await someAnswered(ledger);
      const before = ledger.acknowledged;
      await away(rig, () =>
        until(() => ledger.acknowledged > before, { what: 'calls to be answered meanwhile' }),
      );
      fewest = Math.min(fewest, ledger.acknowledged - before);
      slowest = Math.max(slowest, await rig.drained(ledger));
      await stop();
    }
    slowest = Math.max(slowest, await rig.drained(ledger));
    const figures = { fewestAnsweredMeanwhile: fewest };
    return { drill, rounds, verdict: await ledger.verdict(rig.db), drainSeconds: slowest, figures };
  });

export const restartDatabase = (random: Random, rounds: number, perSecond: number): Promise<Finding> =>
  databaseAway('PostgreSQL stopped at once', rounds, perSecond, async ({ db }, answered) => {
    await db.stopAtOnce();
    await delay(random.between(200, 800));
    await answered();
    await db.start();
  });

export const freezeDatabase = (seconds: number, perSecond: number): Promise<Finding> =>
  databaseAway(`PostgreSQL frozen for ${seconds} s`, 1, perSecond, async ({ db }, answered) => {
    db.freeze();
    try {
      await delay(seconds * 1_000);
      await answered();
    } finally {
      db.thaw();
    }
  });

export const terminateBackends = (rounds: number, perSecond: number): Promise<Finding> =>
  databaseAway('all backends terminated', rounds, perSecond, async ({ db }, answered) => {
    for (let n = 0; n < 5; n++) {
      await db.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
      await delay(100);
    }
    await answered();
  });

/** Inserts are committed, their answers never come. */
export const swallowCommits = (times: number): Promise<Finding> =>
  withRig({}, async (rig) => {
    const proxy = new SwallowingProxy(new URL(rig.db.url));
    const variables = { DATABASE_URL: await proxy.open() };
    await rig.end();
    await rig.start(variables);
    const ledger = new Ledger();
    const stop = rig.pace(ledger, 100);
    let drainSeconds = 0;
    for (let n = 0; n < times; n++) {
      proxy.arm(1);
      await until(() => proxy.swallowed > n, { what: 'a swallowed answer' });
      // In between it succeeds: else the drain would wait longer and longer.
      drainSeconds = Math.max(drainSeconds, await rig.drained(ledger));
    }
    await stop();
    await rig.drained(ledger);
    const verdict = await ledger.verdict(rig.db);
    await rig.kill();
    await proxy.close();
    const figures = { swallowed: proxy.swallowed };
    return { drill: 'commit answered by a cut', rounds: times, verdict, drainSeconds, figures };
  });

/** The drain's thread dies while there is a backlog and calls are in flight over several segments. */
export const crashDrain = (rounds: number): Promise<Finding> =>
  // Eight segments: 128 KiB each.
  withRig({ JOURNAL_MAX_BYTES: '1048576' }, async (rig) => {
    const ledger = new Ledger();
    let slowest = 0;
    for (let round = 0; round < rounds; round++) {
      const slow = [1, 2, 3].map(() => ledger.call(rig.url, 'quick', { action: 'sleep', ms: 1_500 }));
      const stop = rig.load(ledger, 8);
      await someAnswered(ledger);
      await delay(300);
      writeFileSync(rig.crashFile, '');
      await until(() => ended(rig) > round, { what: 'the end of the thread' });
      await delay(500);
      await stop();
      await Promise.all(slow);
      slowest = Math.max(slowest, await rig.drained(ledger));
    }
    const figures = { deaths: ended(rig) };
    return {
      drill: 'drain thread killed',
      rounds,
      verdict: await ledger.verdict(rig.db),
      drainSeconds: slowest,
      figures,
    };
  });

/** The tool's processes have started: calls are being answered. */
async function someAnswered(ledger: Ledger): Promise<void> {
  const before = ledger.acknowledged;
  await until(() => ledger.acknowledged > before + 20, { what: 'calls to be answered' });
}

const ended = (rig: Rig): number => rig.gateway.log().split('journal_drain_ended').length - 1;
