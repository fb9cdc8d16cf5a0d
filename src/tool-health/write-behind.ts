import {
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { dayMs } from '../common/clock.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { messageOf } from '../common/message-of.js';
import type { TypedEvents } from '../common/typed-events.js';

const batchSize = 500;
/** Beyond this the oldest are dropped: the database has been away for very long. */
const maxPending = 10_000;
const retryMs = 5_000;

/** Where what happened is kept. */
export interface Keeping<Row> {
  /** In the order in which they happened; a batch may come again. */
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
  private pending: Row[] = [];
  private writing: Promise<void> = Promise.resolve();
  private readonly writer: IntervalLoop;
  private readonly cleaner: IntervalLoop;
  private unsubscribe: (() => void) | undefined;

  /** @param what it is, for the log, such as "circuit history" */
  constructor(
    private readonly what: string,
    private readonly events: TypedEvents<Row>,
    private readonly keeping: Keeping<Row>,
    retentionDays: number,
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
    this.pending.push(row);
    if (this.pending.length > maxPending) {
      const lost = this.pending.shift();
      this.logger.error(lost, `${this.what} loses its oldest entry`);
    }
    this.writer.hasten(0);
  }

  private async write(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = this.pending.slice(0, batchSize);
      await this.keeping.insert(batch);
      const written = new Set(batch);
      this.pending = this.pending.filter((row) => !written.has(row));
    }
  }

  private async clean(days: number): Promise<void> {
    await this.keeping.deleteOlder(new Date(Date.now() - days * dayMs));
  }
}
