import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { PgBoss } from 'pg-boss';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import { backOff } from '../common/back-off.js';
import { Cancellation } from '../common/cancellation.js';
import { isDatabaseUnavailable } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import type { Lifecycle } from '../common/lifecycle.js';
import { SingleFlight } from '../common/single-flight.js';
import type { StartupWork } from '../common/startup-work.js';
import type { DatabaseClient, DatabaseHealth } from '../database/database-health.js';
import { JobEnds } from './job-ends.js';
import type { Queue, StoredJob } from './queue.js';

interface Running {
  readonly queue: Queue;
  readonly job: StoredJob;
  readonly cancellation: Cancellation;
}

const schema = 'toolkeeper_jobs';
/** Payload of a notification: another replica has made the tables, or has more jobs than it can run. */
const channel = 'jobs';

/** Interval of looking for jobs of other replicas that no notification told of. */
const pollMs = 2_000;
/** Interval of heartbeats of the jobs that run here. */
const beatMs = 3_000;
/** Interval of looking for jobs whose replica was lost. */
const superviseSeconds = 10;
/** Between two notifications. */
const notifyMs = 50;
/** Maximum wait at shutdown for what ended to be stored. */
const storeMs = 3_000;
const storePause = { firstMs: 200, maxMs: 5_000 };

/**
 * Queues in the database, by pg-boss, in a schema of its own. It is loaded, and its tables are made, when the first job
 * comes. Each replica takes jobs as it has room; a job whose replica is lost is given to another one.
 */
export class Jobs implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(Jobs.name);
  private readonly queues = new Map<string, Queue>();
  private readonly running = new Map<string, Running>();
  private readonly runs = new Set<Promise<void>>();
  private readonly starts = new SingleFlight<PgBoss>();
  private boss: PgBoss | undefined;
  private readonly waiting = new Map<string, number>();
  private beatAt = 0;
  private notifiedAt = 0;
  private readonly loop: IntervalLoop;
  /** To wait for the end of a job. */
  readonly ends: JobEnds;

  constructor(
    private readonly db: DataSource,
    private readonly database: Pick<DatabaseHealth, 'changes'>,
    private readonly lifecycle: Lifecycle,
    private readonly work: StartupWork,
  ) {
    const failed = (error: unknown, again: boolean): void => {
      if (!again) this.logger.warn(`Jobs are not taken for now: ${String(error)}`);
    };
    this.loop = new IntervalLoop(() => this.turn(), pollMs, failed);
    this.ends = new JobEnds((ids) => this.endedOf(ids), failed);
  }

  /** MUST be called before the server is started. */
  add(queue: Queue): void {
    this.queues.set(queue.name, queue);
  }

  /** @returns false if there is a job with this id. @throws the database's error */
  async send(queue: string, id: string, data: object): Promise<boolean> {
    const boss = await this.started();
    const sent = await boss.send(queue, data, { id });
    if (this.roomOf(queue) > 0) this.loop.hasten(0);
    else this.tellOthers();
    return sent !== null;
  }

  /** MUST come before the transaction of `sendIn`: the queue may have to make its tables. @throws the database's error */
  async prepare(): Promise<void> {
    await this.started();
  }

  /** Sends jobs in a transaction that is under way. @throws the database's error */
  async sendIn(
    { queryRunner }: EntityManager,
    queue: string,
    jobs: readonly { readonly id: string; readonly data: object }[],
  ): Promise<void> {
    const boss = await this.started();
    const db = { executeSql: (text: string, values?: unknown[]) => rowsOf(queryRunner, text, values) };
    await boss.insert(queue, [...jobs], { db });
  }

  hasten(): void {
    this.loop.hasten(0);
  }

  /** @throws the database's error */
  async find(queue: string, id: string): Promise<StoredJob | undefined> {
    const boss = await this.started();
    const [job] = await boss.findJobs<StoredJob['data']>(queue, { id });
    return job;
  }

  /** Cancels a job that has not ended. @throws the database's error */
  async cancel(queue: string, id: string): Promise<void> {
    const boss = await this.started();
    await boss.cancel(queue, id);
    this.running.get(id)?.cancellation.cancel();
    this.ends.ended(id);
  }

  /** Jobs that have not ended, of all replicas, as of the last time of asking. */
  waitingIn(queue: string): number {
    const sql = `SELECT count(*)::int AS n FROM ${schema}.job WHERE name = $1 AND state < 'completed'`;
    if (this.boss)
      void this.db.query<{ n: number }[]>(sql, [queue]).then(
        ([row]) => this.waiting.set(queue, row?.n ?? 0),
        () => undefined,
      );
    return this.waiting.get(queue) ?? 0;
  }

  onApplicationBootstrap(): void {
    this.database.changes.subscribe((changed) => {
      if (changed !== channel) return;
      if (this.boss) this.loop.hasten(0);
      else void this.started().catch((error: unknown) => this.logger.warn(String(error)));
    });
    void this.resume().catch((error: unknown) => this.logger.warn(String(error)));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.loop.stop(), this.ends.stop()]);
    await Promise.race([Promise.all(this.runs), delay(storeMs, undefined, { ref: false })]);
    await this.boss?.stop({ graceful: false }).catch(() => undefined);
  }

  /** Goes on with the jobs of before a restart. */
  private async resume(): Promise<void> {
    const [row] = await this.db.query<{ exists: boolean }[]>('SELECT to_regclass($1) IS NOT NULL AS exists', [
      `${schema}.job`,
    ]);
    if (row?.exists) await this.started();
  }

  private async started(): Promise<PgBoss> {
    return this.boss ?? (await this.starts.join('start', () => this.start()));
  }

  private async start(): Promise<PgBoss> {
    const { PgBoss: Boss } = await import('pg-boss');
    const boss = new Boss({
      db: { executeSql: (text, values) => this.query(text, values) },
      schema,
      schedule: false,
      registerInstance: false,
      reindex: false,
      monitorVacuum: false,
      openTelemetry: { enabled: false },
      superviseIntervalSeconds: superviseSeconds,
      monitorIntervalSeconds: superviseSeconds,
    });
    boss.on('error', (error) => this.logger.warn(`The queue reports: ${String(error)}`));
    await boss.start();
    for (const { name, options } of this.queues.values()) await boss.createQueue(name, options);
    this.boss = boss;
    this.loop.start(0);
    this.ends.start();
    this.tellOthers();
    return boss;
  }

  /**
   * In a connection of the server's pool. pg-boss sends whole transactions as one text: it needs the rows of each
   * statement, which TypeORM drops, and one that fails must not leave the connection in its transaction.
   */
  private async query(text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
    const runner = this.db.createQueryRunner();
    try {
      const client = (await runner.connect()) as DatabaseClient;
      try {
        return await client.query(text, values);
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw new QueryFailedError(text, values, error as Error);
      }
    } finally {
      await runner.release();
    }
  }

  private async turn(): Promise<void> {
    const { boss } = this;
    if (!boss) return;
    if (performance.now() - this.beatAt >= beatMs) await this.beat(boss);
    // Tools that are not loaded yet would be unknown to the jobs.
    const { state } = this.lifecycle;
    if (state === 'starting' || state === 'draining' || !this.work.isSettled()) return;
    for (const queue of this.queues.values()) {
      const room = this.roomOf(queue.name);
      if (room <= 0) continue;
      const jobs = await boss.fetch<StoredJob['data']>(queue.name, {
        batchSize: room,
        includeMetadata: true,
      });
      for (const job of jobs) this.take(boss, queue, job);
    }
  }

  private roomOf(name: string): number {
    const mine = [...this.running.values()].filter(({ queue }) => queue.name === name).length;
    return (this.queues.get(name)?.concurrency ?? 0) - mine;
  }

  private take(boss: PgBoss, queue: Queue, job: StoredJob): void {
    const run = this.run(boss, queue, job).finally(() => {
      this.runs.delete(run);
      this.loop.hasten(0);
    });
    this.runs.add(run);
  }

  private async run(boss: PgBoss, queue: Queue, job: StoredJob): Promise<void> {
    const cancellation = new Cancellation();
    this.running.set(job.id, { queue, job, cancellation });
    // A claim that lapsed meanwhile is left to its new owner.
    const attempt = { id: job.id, retryCount: job.retryCount };
    try {
      const output = await queue.run(job, cancellation);
      await this.store(() => boss.complete(queue.name, attempt, output));
      this.ends.ended(job.id);
    } catch (error) {
      this.logger.warn(`The job ${job.id} of ${queue.name} is given out again: ${String(error)}`);
      await this.store(() => boss.fail(queue.name, attempt, { message: String(error) }));
    } finally {
      this.running.delete(job.id);
    }
  }

  /** While the database is away what ended waits for it. */
  private async store(write: () => Promise<unknown>): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await write();
        return;
      } catch (error) {
        if (failures === 1) this.logger.warn(`The end of a job could not be stored yet: ${String(error)}`);
        // Another error would come again: the job is then given out once more, as if this replica were lost.
        if (!isDatabaseUnavailable(error)) return;
        await delay(backOff(failures, storePause), undefined, { ref: false });
      }
    }
  }

  /** Says of the jobs that run here that they do; those that are not this replica's any more are cancelled. */
  private async beat(boss: PgBoss): Promise<void> {
    for (const name of this.queues.keys()) {
      const mine = [...this.running.values()].filter(({ queue }) => queue.name === name);
      if (mine.length === 0) continue;
      const { settled } = (await boss.touch(
        name,
        mine.map(({ job: { id, retryCount } }) => ({ id, retryCount })),
      )) as { settled?: readonly string[] };
      for (const { job, cancellation } of mine)
        if (settled && !settled.includes(job.id)) cancellation.cancel();
    }
    this.beatAt = performance.now();
  }

  private async endedOf(ids: readonly string[]): Promise<string[]> {
    const sql = `SELECT id FROM ${schema}.job WHERE id = ANY ($1::uuid[]) AND state > 'active'`;
    return (await this.db.query<{ id: string }[]>(sql, [ids])).map(({ id }) => id);
  }

  private tellOthers(): void {
    if (performance.now() - this.notifiedAt < notifyMs) return;
    this.notifiedAt = performance.now();
    void this.db.query("SELECT pg_notify('toolkeeper', $1)", [channel]).catch(() => undefined);
  }
}

async function rowsOf(
  runner: QueryRunner | undefined,
  text: string,
  values: unknown[] = [],
): Promise<{ rows: unknown[] }> {
  const answer = await runner?.query(text, values, true);
  return { rows: (answer?.records ?? []) as unknown[] };
}
