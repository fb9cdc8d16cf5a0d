import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { endsWithin } from '../common/abortable.js';
import { minuteMs } from '../common/clock.js';
import { DatabaseUnavailable } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { messageOf } from '../common/message-of.js';
import type { PartHealth } from '../observability/contributors.js';
import { type CounterKey, Counters, LocalCounters, type Take, type Taken, textOf } from './counters.js';
import { deleteOld } from './kept-counters.js';

/** What a counter looks like after the statement; `prev` is the count before the calls that it asked for. */
interface Row extends CounterKey {
  readonly prev: number;
  readonly used: number;
  readonly limit: number;
  readonly leftMs: number;
}

/** Calls that wait for the next statement. */
interface Waiting {
  readonly take: Take;
  readonly takers: ((taken: Taken) => void)[];
}

/** Calls that were decided here, or taken back, and that the database does not know of. */
interface Owed {
  readonly take: Take;
  readonly calls: number;
}

/** Runs statements. @throws the database's error */
export interface Database {
  query(text: string, values?: unknown[]): Promise<unknown[]>;
}

export interface CountersReport {
  /** A call was counted by this replica alone. */
  countedHere(kind: CounterKey['kind']): void;
  warn(message: string): void;
}

const ours = 'i.kind = c.kind AND i.project = c.project AND i.subject = c.subject';
const investigationLimit = `(SELECT i.set_limit FROM call_counters i WHERE ${ours} AND i.name = '' AND i.resets_at > now())`;
const liveOrNew = (live: string, anew: string): string =>
  `CASE WHEN c.resets_at > now() THEN ${live} ELSE ${anew} END`;
/** The count after the calls that are asked for: no further than the limit. */
const after = (before: string, asked: string, limit: string): string =>
  `CASE WHEN ${limit} = 0 THEN ${before} + ${asked} ELSE greatest(${before}, least(${before} + ${asked}, ${limit})) END`;

const before = `greatest(0, ${liveOrNew('c.used', '0')} + excluded.carried)`;
const limit = `coalesce(${liveOrNew('c.set_limit', 'NULL')}, excluded.own_limit, ${investigationLimit}, $2::int)`;

/**
 * Takes: all counters in one statement, in one order for all replicas, so that none waits in a circle. A crash of the
 * database forgets the counts of the last 0.6 s: the commit does not wait for the disk.
 */
const takeAll = `
  WITH unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
  c AS (
    SELECT a.*, coalesce(a.own, (
             SELECT i.set_limit FROM call_counters i
             WHERE i.kind = a.kind AND i.project = a.project AND i.subject = a.subject AND i.name = '' AND i.resets_at > now()
           ), $2::int) AS lim
    FROM json_to_recordset($1::json)
      AS a (kind text, project text, subject text, name text, own int, ttl float8, asked int, carried int), unsynced
  )
  INSERT INTO call_counters AS c (kind, project, subject, name, own_limit, used, prev, asked, carried, resets_at, used_at)
  SELECT kind, project, subject, name, own, ${after('greatest(0, carried)', 'asked', 'lim')}, greatest(0, carried),
         asked, carried, coalesce((
           SELECT min(i.resets_at) FROM call_counters i WHERE ${ours} AND i.resets_at > now()
         ), now() + ttl * interval '1 millisecond'), now()
  FROM c
  -- Nothing is taken back from an investigation that was reset meanwhile.
  WHERE asked > 0 OR carried > 0 OR EXISTS (SELECT FROM call_counters i WHERE ${ours} AND i.name = c.name)
  ORDER BY kind, project, subject, name
  ON CONFLICT (kind, project, subject, name) DO UPDATE SET
    prev = ${before}, used = ${after(before, 'excluded.asked', limit)},
    set_limit = ${liveOrNew('c.set_limit', 'NULL')}, own_limit = excluded.own_limit,
    asked = excluded.asked, carried = excluded.carried,
    resets_at = ${liveOrNew('c.resets_at', 'excluded.resets_at')}, used_at = now()
  RETURNING kind, project, subject, name, prev, used,
    coalesce(c.set_limit, c.own_limit, ${investigationLimit}, $2::int) AS "limit",
    (extract(epoch FROM resets_at - clock_timestamp()) * 1000)::float8 AS "leftMs"`;

const cleanEveryMs = 5 * minuteMs;

/** A statement that takes longer counts as failed. */
const timeoutMs = 2_000;
/** Between two tries while the database is away. */
const retryMs = 1_000;

/**
 * Counters in the database, exact over all replicas: the calls of one turn of the event loop share one statement. While
 * the database is away this replica counts on from the last number it heard, and brings its calls along later.
 */
export class SharedCounters extends Counters implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly local: LocalCounters;
  private readonly cleaner: IntervalLoop;
  private waiting = new Map<string, Waiting>();
  private owed = new Map<string, Owed>();
  private isRunning = false;
  /** The database is away, and no statement is tried until then, by performance.now(). */
  private awayUntil: number | undefined;

  constructor(
    private readonly db: Database,
    private readonly defaultLimit: number,
    private readonly report: CountersReport,
  ) {
    super();
    this.local = new LocalCounters(defaultLimit);
    const clean = async (): Promise<void> => void (await db.query(deleteOld));
    this.cleaner = new IntervalLoop(clean, cleanEveryMs, (error) =>
      report.warn(`Old budgets and rates could not be removed: ${messageOf(error)}`),
    );
  }

  onApplicationBootstrap(): void {
    this.cleaner.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.cleaner.stop();
  }

  override take(take: Take): Promise<Taken> {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    const text = textOf(take);
    const takers = this.waiting.get(text)?.takers ?? [];
    takers.push(resolve);
    this.waiting.set(text, { take, takers });
    this.schedule();
    return promise;
  }

  health(): PartHealth {
    if (this.awayUntil === undefined) return { status: 'up' };
    return { status: 'degraded', message: 'each replica counts alone: the database does not answer' };
  }

  private schedule(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    setImmediate(() => void this.run());
  }

  /** One statement at a time: what comes meanwhile goes with the next one. */
  private async run(): Promise<void> {
    do {
      const { waiting, owed } = this;
      this.waiting = new Map();
      this.owed = new Map();
      try {
        this.answer(waiting, await this.count(waiting, owed));
      } catch (error) {
        this.failed(error);
        for (const { take, calls } of owed.values()) this.owe(take, calls);
        for (const { take, takers } of waiting.values())
          for (const taker of takers) taker(this.takeHere(take));
      }
    } while (this.waiting.size > 0 || (this.owed.size > 0 && this.awayUntil === undefined));
    this.isRunning = false;
  }

  /** @throws DatabaseUnavailable, or the database's error */
  private async count(waiting: Map<string, Waiting>, owed: Map<string, Owed>): Promise<Row[]> {
    if (this.awayUntil !== undefined && performance.now() < this.awayUntil) throw new DatabaseUnavailable();
    const takes = new Map([...owed, ...waiting].map(([text, { take }]) => [text, take]));
    const asks = [...takes].map(([text, { kind, project, subject, name, limit: own, ttlMs: ttl }]) => {
      const asked = waiting.get(text)?.takers.length ?? 0;
      return { kind, project, subject, name, own, ttl, asked, carried: owed.get(text)?.calls ?? 0 };
    });
    const rows = this.db.query(takeAll, [JSON.stringify(asks), this.defaultLimit]);
    if (!(await endsWithin(timeoutMs, rows))) throw new DatabaseUnavailable(`no answer in ${timeoutMs} ms`);
    if (this.awayUntil !== undefined) this.report.warn('Budgets and rates are counted by all replicas again');
    this.awayUntil = undefined;
    return (await rows) as Row[];
  }

  /** The first ones to ask are admitted. */
  private answer(waiting: Map<string, Waiting>, rows: readonly Row[]): void {
    for (const row of rows) {
      const { prev, used, limit, leftMs } = row;
      const state = { used, limit, resetsAt: Date.now() + leftMs };
      this.local.set(row, state);
      const { take, takers = [] } = waiting.get(textOf(row)) ?? {};
      takers.forEach((taker, place) => {
        const granted = place < used - prev;
        const release = (): void => take && this.owe(take, -1);
        taker({ ...state, granted, used: granted ? prev + place + 1 : used, release });
      });
    }
  }

  private takeHere(take: Take): Taken {
    const taken = this.local.take(take);
    if (taken.granted) this.owe(take, 1);
    this.report.countedHere(take.kind);
    const release = (): void => {
      taken.release();
      this.owe(take, -1);
    };
    return { ...taken, release };
  }

  /** Goes with the next statement. */
  private owe(take: Take, calls: number): void {
    const text = textOf(take);
    const sum = (this.owed.get(text)?.calls ?? 0) + calls;
    if (sum === 0) this.owed.delete(text);
    else this.owed.set(text, { take, calls: sum });
    if (this.awayUntil === undefined) this.schedule();
  }

  private failed(error: unknown): void {
    if (this.awayUntil !== undefined && performance.now() < this.awayUntil) return;
    if (this.awayUntil === undefined)
      this.report.warn(`Each replica counts budgets and rates alone for now: ${messageOf(error)}`);
    this.awayUntil = performance.now() + retryMs;
  }
}
