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

const batchSize = 500;
/** Maximum rows that wait; then the oldest are dropped. */
const maxPending = 10_000;
const retryMs = 5_000;

/** The storage of the rows. */
export interface Keeping<Row> {
  /** Inserts rows in their order; a batch may come again. */
  insert(rows: readonly Row[]): Promise<void>;
  deleteOlder(before: Date): Promise<unknown>;
}

/**
 * Writes down what happens, in the background and in its order, and forgets it when it is old; while the database is away
 * it waits.
 */
export abstract class WriteBehind<Row>
  implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  private readonly logger = new Logger(this.constructor.name);
  private pending = new Set<Row>();
  private writing: Promise<void> = Promise.resolve();
  private isLosing = false;
  private readonly writer: IntervalLoop;
  private readonly cleaner: IntervalLoop;
  private unsubscribe: (() => void) | undefined;

  /**
   * @param what it is, for the log, such as "circuit history"
   * @param delayMs from an event to its writing: a row that is emitted again meanwhile is written once
   */
  constructor(
    private readonly what: string,
    private readonly events: TypedEvents<Row>,
    private readonly keeping: Keeping<Row>,
    retentionDays: number,
    private readonly delayMs = 0,
  ) {
    const failed = (error: unknown): void => this.logger.warn(messageOf(error), `${what} waits`);
    this.writer = new IntervalLoop(() => this.flush(), retryMs, failed);
    this.cleaner = new IntervalLoop(() => this.clean(retentionDays), dayMs, failed);
  }

  onModuleInit(): Promise<void> | void {
    this.unsubscribe = this.events.subscribe((row) => this.add(row));
  }

  onApplicationBootstrap(): void {
    this.writer.start(0);
    this.cleaner.start(0);
  }

  /** Writes what is left. */
  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all([this.writer.stop(), this.cleaner.stop()]);
    await this.flush().catch((error: unknown) => this.logger.error(error, `${this.what} is incomplete`));
  }

  /** Writes what waits, after the write under way; what cannot be written waits on. @throws the database's error */
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
      // Once: while the database is away each further row loses another.
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
        await this.keeping.insert(batch);
        this.isLosing = false;
      } catch (error) {
        this.pending = new Set([...batch, ...this.pending]);
        throw error;
      }
    }
  }

  private async clean(days: number): Promise<void> {
    await this.keeping.deleteOlder(new Date(Date.now() - days * dayMs));
  }
}
