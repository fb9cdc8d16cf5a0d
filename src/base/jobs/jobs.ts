import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { PgBoss } from 'pg-boss';
import { type DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { CallerSlots } from '../common/caller-slots.js';
import { Cancellation } from '../common/cancellation.js';
import { Problem } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { KeyedMutex } from '../common/keyed-mutex.js';
import { Lifecycle } from '../common/lifecycle.js';
import { SingleFlight } from '../common/single-flight.js';
import { StartupWork } from '../common/startup-work.js';
import { type DatabaseClient, DatabaseHealth } from '../database/database-health.js';
import { jobsSchema as schema, type Queue, type StoredJob } from './queue.js';

/** A queue and its workers. Each worker runs one job at a time. */
interface StaffedQueue {
  readonly queue: Queue;
  /** Ids of the workers that have no job. */
  readonly idle: Set<string>;
  /** Ids of workers that only take jobs of callers without a running job, so that no caller occupies all workers. */
  readonly reserve: Set<string>;
  workers: number;
}

/** A job to add. */
interface NewJob {
  readonly id: string;
  readonly data: object;
  /** Absent for the server's own jobs. */
  readonly caller?: string | undefined;
  readonly priority?: number;
}

/** Counts of waiting jobs, the priority of the caller's next one, and whether the job itself is stored already. */
type Waiting = Record<'own' | 'bytes' | 'all' | 'priority', number> & { readonly exists: boolean };

/** Payload of the database's notification that a replica has made the tables, or has more jobs than it can run. */
const jobsNotice = 'jobs';

/** Interval of polling for jobs without a notification, such as retries. */
const pollMs = 2_000;
/** Polling interval of a worker: a day, because workers are woken for jobs. */
const workerPollSeconds = 86_400;
/** Interval of heartbeats of the jobs that run here. A heartbeat also detects that a job was cancelled. */
const beatSeconds = 3;
/** Interval of the search for jobs whose replica was lost. */
const superviseSeconds = 10;
/** Share of a queue's workers that are its reserve. */
const reserveShare = 0.25;
/** Min pause between two notifications. */
const notifyMs = 50;
/** Max wait at shutdown for running jobs. */
const stopMs = 3_000;
/** Max waiting jobs of a caller and of all callers; `bytes` of a caller's jobs as the database stores them. */
const max = { own: 100, bytes: 16_777_216, all: 10_000 };

/**
 * Selects `Waiting`. Callers take turns: the first job of a caller has the priority of the other callers' first jobs, and each
 * further one a lower priority.
 */
const selectWaiting = `
  SELECT count(*)::int AS all, count(*) FILTER (WHERE group_id = $2)::int AS own,
    coalesce(sum(pg_column_size(data)) FILTER (WHERE group_id = $2), 0)::float8 AS bytes,
    coalesce(least(min(priority) FILTER (WHERE group_id = $2) - 1,
      max(priority) FILTER (WHERE state = 'created')), 0) AS priority,
    EXISTS (SELECT FROM ${schema}.job WHERE name = $1 AND id = $3) AS exists
  FROM ${schema}.job WHERE name = $1 AND state < 'active'`;

/**
 * Job queues in the database, by pg-boss, in its own schema. The first job loads pg-boss and creates the tables. Each
 * replica takes jobs while it has free workers. The jobs of a lost replica are taken over by another one.
 */
@Injectable()
export class Jobs implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(Jobs.name);
  private readonly queues = new Map<string, StaffedQueue>();
  private readonly starts = new SingleFlight<PgBoss>();
  private boss: PgBoss | undefined;
  private notifiedAt = 0;
  /** Calls of `submit` in progress, limited per caller and run one after another. */
  private readonly submits = new CallerSlots(max.own);
  private readonly submitsInOrder = new KeyedMutex();
  private readonly loop: IntervalLoop;
  private readonly warn = (error: unknown): void => this.logger.warn(String(error));

  constructor(
    @InjectDataSource() private readonly db: DataSource,
    private readonly database: DatabaseHealth,
    private readonly lifecycle: Lifecycle,
    private readonly startupWork: StartupWork,
  ) {
    this.loop = new IntervalLoop(async () => this.wakeAll(), pollMs, this.warn);
    lifecycle.drainSignal.addEventListener('abort', () => {
      for (const name of this.queues.keys()) void this.boss?.offWork(name, { wait: false });
    });
  }

  /** Adds a queue. MUST be called before the server starts. */
  add(queue: Queue): void {
    this.queues.set(queue.name, { queue, idle: new Set(), reserve: new Set(), workers: 0 });
  }

  /** Adds a job, unless one with its id exists. @throws the database's error */
  async send(queue: string, { id, data, caller, priority = 0 }: NewJob): Promise<void> {
    const boss = await this.started();
    await boss.send(queue, data, { id, priority, ...(caller !== undefined && { group: { id: caller } }) });
    this.wakeHereOrElsewhere(boss, queue);
  }

  /**
   * Puts a running or waiting job back into the queue with other data. The end of a running attempt then has no effect.
   * @param job the job as it was read
   * @returns false if it has changed since then
   * @throws the database's error
   */
  async put(queue: string, job: StoredJob, data: object, at: Date): Promise<boolean> {
    const boss = await this.started();
    const { id, retryCount, data: before } = job;
    // The number of retries distinguishes the next attempt from this one.
    const sql = `UPDATE ${schema}.job SET state = 'created', data = $4::jsonb, start_after = $5,
      retry_limit = retry_limit + (state = 'active')::int
      WHERE name = $1 AND id = $2 AND state IN ('created', 'active') AND retry_count = $3 AND data = $6::jsonb RETURNING 1`;
    const values = [queue, id, retryCount, JSON.stringify(data), at, JSON.stringify(before)];
    const { rows } = await this.query(sql, values);
    this.wakeHereOrElsewhere(boss, queue);
    return rows.length > 0;
  }

  /** Sends a caller's job, in turn with those of other callers. @throws Problem `queue_full` beyond the limits */
  async submit(queue: string, id: string, data: object, caller: string): Promise<void> {
    const release = this.submits.take(caller);
    if (!release) throw queueFull();
    // One after another, so that two submits do not see the same count.
    const submit = async (): Promise<void> => {
      await this.started();
      const [waiting] = await this.db.query<[Waiting]>(selectWaiting, [queue, caller, id]);
      const { own, bytes, all, priority, exists } = waiting;
      if (exists) return;
      if (own >= max.own || bytes >= max.bytes || all >= max.all) throw queueFull();
      await this.send(queue, { id, data, caller, priority });
    };
    return this.submitsInOrder.run(caller, submit).finally(release);
  }

  /** Runs a transaction and sends the jobs that it returns, all or nothing. @throws the database's error */
  async sendWith(
    queue: string,
    store: (manager: EntityManager) => Promise<Pick<NewJob, 'id' | 'data'>[]>,
  ): Promise<void> {
    // Before the transaction, because the queue may have to make its tables.
    const boss = await this.started();
    await this.db.transaction(async (manager) => {
      const jobs = await store(manager);
      const client = (await manager.queryRunner?.connect()) as DatabaseClient;
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
      if (jobs.length > 0) await boss.insert(queue, jobs, { db });
    });
    this.wakeAll();
  }

  /** The job with this id, in any state. @throws the database's error */
  async find(queue: string, id: string): Promise<StoredJob | undefined> {
    const boss = await this.started();
    const [job] = await boss.findJobs<StoredJob['data']>(queue, { id });
    return job;
  }

  /** Cancels a job that has not ended. @throws the database's error */
  async cancel(queue: string, id: string): Promise<void> {
    const boss = await this.started();
    await boss.cancel(queue, id);
  }

  /** Deletes a waiting job without a trace. @throws the database's error */
  async remove(queue: string, id: string): Promise<void> {
    const boss = await this.started();
    await boss.deleteJob(queue, id);
  }

  /** Number of jobs of all replicas that have not ended. @throws the database's error */
  async countUnfinished(queue: string): Promise<number> {
    if (!this.boss) return 0;
    const sql = `SELECT count(*)::int AS n FROM ${schema}.job WHERE name = $1 AND state < 'completed'`;
    const [row] = await this.db.query<{ n: number }[]>(sql, [queue]);
    return row?.n ?? 0;
  }

  onApplicationBootstrap(): void {
    this.database.changes.subscribe((changed) => {
      if (changed === jobsNotice) this.started().then(() => this.wakeAll(), this.warn);
    });
    this.resume().catch(this.warn);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.boss?.stop({ timeout: stopMs }).catch(() => undefined);
  }

  /** Resumes the jobs from before a restart. */
  private async resume(): Promise<void> {
    const [row] = await this.db.query<{ exists: boolean }[]>('SELECT to_regclass($1) IS NOT NULL AS exists', [
      `${schema}.job`,
    ]);
    if (row?.exists) await this.started();
  }

  /** pg-boss; the first call starts it. */
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
    boss.on('error', ({ message }) => {
      // An unavailable database is logged elsewhere.
      if (this.database.check().status !== 'down') this.logger.warn(`The queue reports: ${message}`);
    });
    await boss.start();
    for (const { queue } of this.queues.values()) await boss.createQueue(queue.name, queue.options);
    this.boss = boss;
    this.loop.start(0);
    this.notifyOthers();
    return boss;
  }

  /**
   * Runs statements of pg-boss in a connection of the server's pool. pg-boss sends whole transactions as one text. It needs
   * the rows of each statement, which TypeORM drops. A failed transaction is rolled back before the connection is released.
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

  /** Wakes one worker of each queue; each worker that finds a job wakes the next. */
  private wakeAll(): void {
    for (const staffed of this.queues.values()) if (this.boss) this.wake(this.boss, staffed);
  }

  /** Wakes a worker of the queue. If none is free here, notifies the other replicas. */
  private wakeHereOrElsewhere(boss: PgBoss, queue: string): void {
    const staffed = this.queues.get(queue);
    if (!staffed || !this.wake(boss, staffed)) this.notifyOthers();
  }

  /** Wakes or starts a worker. @returns false if all workers are busy, or the server does not take jobs now */
  private wake(boss: PgBoss, staffed: StaffedQueue): boolean {
    const { state } = this.lifecycle;
    // Jobs need the tools, which are loaded at the start.
    if (state === 'starting' || state === 'draining' || !this.startupWork.isSettled()) return false;
    const { queue, idle, reserve, workers } = staffed;
    // The reserve last, because it does not take all jobs.
    const [id] = [...idle].sort((a, b) => Number(reserve.has(a)) - Number(reserve.has(b)));
    if (id === undefined && workers >= queue.concurrency) return false;
    if (id === undefined) void this.startWorker(boss, staffed).catch(this.warn);
    else boss.notifyWorker(id);
    return true;
  }

  /** Starts a worker, which runs until the server stops. */
  private async startWorker(boss: PgBoss, staffed: StaffedQueue): Promise<void> {
    const { queue, idle, reserve } = staffed;
    const isReserve = staffed.workers++ >= Math.ceil(queue.concurrency * (1 - reserveShare));
    const options = {
      ...(isReserve && { groupConcurrency: 1 }),
      includeMetadata: true,
      heartbeatRefreshSeconds: beatSeconds,
      pollingIntervalSeconds: workerPollSeconds,
    } as const;
    const id = await boss.work<StoredJob['data'], object | undefined, typeof options>(
      queue.name,
      options,
      async ([job]) => {
        if (!job) return undefined;
        idle.delete(id);
        this.wake(boss, staffed);
        const cancellation = new Cancellation();
        // The job was cancelled, or another replica has it. A stopping server lets its calls end by themselves.
        job.signal.addEventListener('abort', () => {
          if (this.lifecycle.state !== 'draining') cancellation.cancel();
        });
        try {
          return await queue.run(job, cancellation);
        } finally {
          idle.add(id);
          boss.notifyWorker(id);
        }
      },
    );
    if (isReserve) reserve.add(id);
    idle.add(id);
  }

  /** Notifies the other replicas that there are jobs, at most once per `notifyMs`. */
  private notifyOthers(): void {
    if (performance.now() - this.notifiedAt < notifyMs) return;
    this.notifiedAt = performance.now();
    void this.db.query("SELECT pg_notify('toolkeeper', $1)", [jobsNotice]).catch(() => undefined);
  }
}

function queueFull(): Problem {
  const detail = `A caller may have ${max.own} asynchronous calls with ${max.bytes} bytes of inputs waiting, and all callers ${max.all}: wait until some have begun`;
  return new Problem('queue_full', detail, { retryAfterMs: 1_000 });
}
