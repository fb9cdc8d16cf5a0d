import {
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { dayMs } from './clock.js';
import { IntervalLoop } from './interval-loop.js';
import { messageOf } from './message-of.js';
import type { TypedEvents } from './typed-events.js';

/** Max rows of one insert. */
const batchSize = 500;
/** Max rows that wait. Further ones drop the oldest. */
const maxPending = 10_000;
/** Pause after a failed write. */
const retryMs = 5_000;

/** The storage of the rows. */
export interface RowStore<Row> {
  /** Inserts rows in their order. A batch may be repeated. */
  insert(rows: readonly Row[]): Promise<void>;
  /** Deletes rows from before a time. */
  deleteOlder(before: Date): Promise<unknown>;
}

/** Stores events in the background, in order, and deletes old ones. Without the database they wait in memory. */
export abstract class WriteBehind<Row>
  implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  private readonly logger = new Logger(this.constructor.name);
  /** Rows that wait, oldest first. */
  private pending = new Set<Row>();
  /** Ends with the last write. */
  private writing: Promise<void> = Promise.resolve();
  /** Whether rows were dropped since the last write that succeeded. */
  private isLosing = false;
  private readonly writer: IntervalLoop;
  private readonly cleaner: IntervalLoop;
  private unsubscribe: (() => void) | undefined;

  /**
   * @param what name for the log, such as "circuit history"
   * @param delayMs delay of a write; a row that is emitted again in this time is written once
   */
  constructor(
    private readonly what: string,
    private readonly events: TypedEvents<Row>,
    private readonly store: RowStore<Row>,
    retentionDays: number,
    private readonly delayMs = 0,
  ) {
    const warn = (error: unknown): void => this.logger.warn(messageOf(error), `${what} waits`);
    this.writer = new IntervalLoop(() => this.flush(), retryMs, warn);
    this.cleaner = new IntervalLoop(() => this.clean(retentionDays), dayMs, warn);
  }

  onModuleInit(): Promise<void> | void {
    this.unsubscribe = this.events.subscribe((row) => this.add(row));
  }

  onApplicationBootstrap(): void {
    this.writer.start(0);
    this.cleaner.start(0);
  }

  /** Writes the remaining rows. */
  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all([this.writer.stop(), this.cleaner.stop()]);
    await this.flush().catch((error: unknown) => this.logger.error(error, `${this.what} is incomplete`));
  }

  /** Writes all waiting rows after the running write. If that fails, they wait on. @throws the database's error */
  protected flush(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
  }

  private add(row: Row): void {
    if (this.pending.size === 0) this.writer.hasten(this.delayMs);
    this.pending.add(row);
    if (this.pending.size > maxPending) {
      const [lost] = this.pending;
      this.pending.delete(lost as Row);
      // Logged once, because without the database each further row drops another.
      if (!this.isLosing) this.logger.error(lost, `${this.what} loses its oldest entries`);
      this.isLosing = true;
    }
  }

  private async write(): Promise<void> {
    while (this.pending.size > 0) {
      const batch = [...this.pending].slice(0, batchSize);
      // A row that changes during the write is pending again.
      for (const row of batch) this.pending.delete(row);
      try {
        await this.store.insert(batch);
        this.isLosing = false;
      } catch (error) {
        this.pending = new Set([...batch, ...this.pending]);
        throw error;
      }
    }
  }

  private async clean(days: number): Promise<void> {
    await this.store.deleteOlder(new Date(Date.now() - days * dayMs));
  }
}
