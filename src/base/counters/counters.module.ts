import { Logger, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { getToken } from '@willsoto/nestjs-prometheus';
import type { PoolClient } from 'pg';
import type { Counter } from 'prom-client';
import type { DataSource } from 'typeorm';
import { endsWithin } from '../common/abortable.js';
import { sha256 } from '../common/canonical-json.js';
import { minuteMs } from '../common/clock.js';
import { DatabaseUnavailable } from '../common/errors.js';
import { messageOf } from '../common/message-of.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors, type PartHealth } from '../observability/contributors.js';
import { counter } from '../observability/metrics.js';
import {
  type CounterKey,
  Counters,
  type CountRequest,
  type CountResult,
  LocalCounters,
  mapKeyOf,
} from './counters.js';
import { deleteOld, KeptCounters } from './kept-counters.js';

/** A counter as the statement returns it. `prev`: its count before the statement's calls. */
interface Row extends CounterKey {
  readonly prev: number;
  readonly used: number;
  readonly limit: number;
  readonly leftMs: number;
}

/** The part of the next statement for one counter. */
interface Waiting {
  readonly request: CountRequest;
  /** Resolves the calls that wait for the statement. */
  readonly resolvers: ((result: CountResult) => void)[];
  /** Balance of calls that were counted here or released, which the database does not know yet. */
  carried: number;
}

/** Condition that joins a counter `c` with the counters `i` of its investigation. */
const sameSubject = 'i.kind = c.kind AND i.project = c.project AND i.subject = c.subject';
/** SQL for the limit that an operator has set for all tools of the investigation. */
const investigationLimit = `(SELECT i.set_limit FROM call_counters i WHERE ${sameSubject} AND i.name = '' AND i.resets_at > now())`;
/** SQL for a value of the stored counter if it has not expired, else for that of a new counter. */
const liveOrNew = (live: string, fresh: string): string =>
  `CASE WHEN c.resets_at > now() THEN ${live} ELSE ${fresh} END`;
/** SQL for the count after the requested calls: at most the limit, unless it is above it already. */
const countAfter = (before: string, asked: string, limit: string): string =>
  `CASE WHEN ${limit} = 0 THEN ${before} + ${asked} ELSE greatest(${before}, least(${before} + ${asked}, ${limit})) END`;

/** SQL for the count of a stored counter before the statement's calls, and for its limit. */
const usedBefore = `greatest(0, ${liveOrNew('c.used', '0')} + excluded.carried)`;
const limitNow = `coalesce(${liveOrNew('c.set_limit', 'NULL')}, excluded.own_limit, ${investigationLimit}, $2::int)`;

/**
 * Statement that counts the waiting calls of all counters, sorted so that replicas do not deadlock. The commit does not wait
 * for the disk, so a crash of the database loses the counts of the last 0.6 s.
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
  SELECT kind, project, subject, name, own, ${countAfter('greatest(0, carried)', 'asked', 'lim')}, greatest(0, carried),
         asked, carried, coalesce((
           SELECT min(i.resets_at) FROM call_counters i WHERE ${sameSubject} AND i.resets_at > now()
         ), now() + ttl * interval '1 millisecond'), now()
  FROM c
  -- Nothing is taken back from an investigation that was reset meanwhile.
  WHERE asked > 0 OR carried > 0 OR EXISTS (SELECT FROM call_counters i WHERE ${sameSubject} AND i.name = c.name)
  ORDER BY kind, project, subject, name
  ON CONFLICT (kind, project, subject, name) DO UPDATE SET
    prev = ${usedBefore}, used = ${countAfter(usedBefore, 'excluded.asked', limitNow)},
    set_limit = ${liveOrNew('c.set_limit', 'NULL')}, own_limit = excluded.own_limit,
    asked = excluded.asked, carried = excluded.carried,
    resets_at = ${liveOrNew('c.resets_at', 'excluded.resets_at')}, used_at = now()
  RETURNING kind, project, subject, name, prev, used,
    coalesce(c.set_limit, c.own_limit, ${investigationLimit}, $2::int) AS "limit",
    (extract(epoch FROM resets_at - clock_timestamp()) * 1000)::float8 AS "leftMs"`;

/** Min pause between two deletions of old counters. */
const cleanEveryMs = 5 * minuteMs;

/** A statement that takes longer counts as failed. */
const timeoutMs = 2_000;
/** Pause between two attempts while the database is unavailable. */
const retryMs = 1_000;

/**
 * Counters in the database, exact over all replicas. Calls of one turn of the event loop share one statement. While the
 * database is unavailable, this replica continues from the last known count and adds its calls later.
 */
export class SharedCounters extends Counters {
  private readonly logger = new Logger(SharedCounters.name);
  private readonly local: LocalCounters;
  private waiting = new Map<string, Waiting>();
  /** Whether a statement runs or is scheduled. */
  private isRunning = false;
  private cleanedAt = performance.now();
  /** Set while the database is unavailable: time of the next attempt, by performance.now(). */
  private awayUntil: number | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly defaultLimit: number,
    /** Counts the calls that only this replica has counted. */
    private readonly countedHere: Counter,
    /** Whether to prepare statements. False behind a pooler in transaction mode, which executes on another connection. */
    private readonly prepares: boolean,
  ) {
    super();
    this.local = new LocalCounters(defaultLimit);
  }

  override take(request: CountRequest): Promise<CountResult> {
    const { promise, resolve } = Promise.withResolvers<CountResult>();
    this.waitingFor(request).resolvers.push(resolve);
    this.schedule();
    return promise;
  }

  /** Whether all replicas count together. */
  health(): PartHealth {
    if (this.awayUntil === undefined) return { status: 'up' };
    return { status: 'degraded', message: 'each replica counts alone: the database does not answer' };
  }

  /** Runs the next statement after this turn of the event loop, unless one is running. */
  private schedule(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    setImmediate(() => void this.run());
  }

  /** Runs statements, one at a time, while there is work. Calls that arrive meanwhile wait for the next one. */
  private async run(): Promise<void> {
    do {
      const { waiting } = this;
      this.waiting = new Map();
      try {
        this.answer(waiting, await this.count([...waiting.values()]));
        this.clean();
      } catch (error) {
        this.onFailure(error);
        for (const { request, resolvers, carried } of waiting.values()) {
          this.carryOver(request, carried);
          for (const resolve of resolvers) resolve(this.takeHere(request));
        }
      }
    } while (this.hasWork());
    this.isRunning = false;
  }

  /** Deletes old counters, at most every five minutes and only while there are calls. */
  private clean(): void {
    if (performance.now() - this.cleanedAt < cleanEveryMs) return;
    this.cleanedAt = performance.now();
    const warn = (error: unknown): void =>
      this.logger.warn(`Old budgets and rates could not be removed: ${messageOf(error)}`);
    this.db.query(deleteOld).catch(warn);
  }

  /** Whether to run another statement. While the database is unavailable, only for calls. */
  private hasWork(): boolean {
    const all = [...this.waiting.values()];
    return this.awayUntil === undefined ? all.length > 0 : all.some(({ resolvers }) => resolvers.length > 0);
  }

  /** The part of the next statement for a counter; created if there is none. */
  private waitingFor(request: CountRequest): Waiting {
    const mapKey = mapKeyOf(request);
    const waiting = this.waiting.get(mapKey) ?? { request, resolvers: [], carried: 0 };
    this.waiting.set(mapKey, waiting);
    return waiting;
  }

  /** Runs the statement. @throws DatabaseUnavailable, or the database's error */
  private async count(waiting: readonly Waiting[]): Promise<Row[]> {
    if (this.awayUntil !== undefined && performance.now() < this.awayUntil) throw new DatabaseUnavailable();
    const parts = waiting.map(({ request, resolvers, carried }) => {
      const { kind, project, subject, name, limit: own, ttlMs: ttl } = request;
      return { kind, project, subject, name, own, ttl, asked: resolvers.length, carried };
    });
    const rows = this.query(takeAll, [JSON.stringify(parts), this.defaultLimit]);
    if (!(await endsWithin(timeoutMs, rows))) throw new DatabaseUnavailable(`no answer in ${timeoutMs} ms`);
    if (this.awayUntil !== undefined) this.logger.warn('Budgets and rates are counted by all replicas again');
    this.awayUntil = undefined;
    return (await rows) as Row[];
  }

  /** Answers the waiting calls; the first ones are admitted. */
  private answer(waiting: Map<string, Waiting>, rows: readonly Row[]): void {
    for (const row of rows) {
      const { prev, used, limit, leftMs } = row;
      const state = { used, limit, resetsAt: Date.now() + leftMs };
      this.local.set(row, state);
      const { request, resolvers = [] } = waiting.get(mapKeyOf(row)) ?? {};
      resolvers.forEach((resolve, place) => {
        const granted = place < used - prev;
        const release = (): void => request && this.carryOver(request, -1);
        resolve({ ...state, granted, used: granted ? prev + place + 1 : used, release });
      });
    }
  }

  /** Counts a call in this replica only. */
  private takeHere(request: CountRequest): CountResult {
    const result = this.local.take(request);
    if (result.granted) this.carryOver(request, 1);
    this.countedHere.inc({ kind: request.kind });
    const release = (): void => {
      result.release();
      this.carryOver(request, -1);
    };
    return { ...result, release };
  }

  /** Adds calls to the next statement; a negative number takes calls back. */
  private carryOver(request: CountRequest, calls: number): void {
    if (calls === 0) return;
    this.waitingFor(request).carried += calls;
    if (this.awayUntil === undefined) this.schedule();
  }

  /** Notes that the database is unavailable. */
  private onFailure(error: unknown): void {
    if (this.awayUntil !== undefined && performance.now() < this.awayUntil) return;
    if (this.awayUntil === undefined)
      this.logger.warn(`Each replica counts budgets and rates alone for now: ${messageOf(error)}`);
    this.awayUntil = performance.now() + retryMs;
  }

  /** Runs a statement, prepared once per connection, because planning takes four fifths of the time. */
  private async query(text: string, values: unknown[]): Promise<unknown[]> {
    const runner = this.db.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      const name = this.prepares && { name: sha256(text).slice(0, 32) };
      return (await client.query<never>({ ...name, text, values })).rows;
    } finally {
      await runner.release();
    }
  }
}

const countedHereName = 'toolkeeper_budget_local_total';

/** Counters of calls: in the database if replicas may share it, else in memory. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    counter(
      countedHereName,
      'Calls whose budget or rate was counted by this replica alone, because the database was away',
      'kind',
    ),
    {
      provide: Counters,
      inject: [
        APP_CONFIG,
        getToken(countedHereName),
        { token: getDataSourceToken(), optional: true },
        { token: Contributors, optional: true },
      ],
      useFactory: countersFor,
    },
    {
      // Only counters in memory need rows to survive a restart.
      provide: KeptCounters,
      inject: [Counters, { token: getDataSourceToken(), optional: true }],
      useFactory: (counters: Counters, db?: DataSource) =>
        counters instanceof LocalCounters && db ? new KeptCounters(counters, db) : null,
    },
  ],
  exports: [Counters],
})
export class CountersModule {}

function countersFor(
  { database, investigations }: AppConfig,
  countedHere: Counter,
  db?: DataSource,
  contributors?: Contributors,
): Counters {
  const { callsPerTool } = investigations;
  const logger = new Logger(Counters.name);
  if (database.url === undefined || !db)
    return new LocalCounters(callsPerTool, (message) => logger.warn(message));
  const shared = new SharedCounters(db, callsPerTool, countedHere, database.sessionUrl === undefined);
  contributors?.addHealth('budgets', () => shared.health());
  return shared;
}
