import type { Logger } from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { messageOf } from '../common/message-of.js';

const batchSize = 500;
/** Beyond this the oldest are dropped: the database has been away for very long. */
const maxPending = 10_000;
const retryMs = 5_000;
const dayMs = 86_400_000;

/** Where what happened is kept. */
export interface Keeping<Row> {
  /** For the log, such as "circuit history". */
  readonly what: string;
  /** In the order in which they happened; a batch may come again. */
  write(rows: readonly Row[]): Promise<void>;
  /** Forgets what is too old, once a day. */
  clean(): Promise<void>;
}

/** Writes down what happens, in the background and in its order; while the database is away it waits. */
export class WriteBehind<Row> {
  private pending: Row[] = [];
  private writing: Promise<void> = Promise.resolve();
  private readonly writer: IntervalLoop;
  private readonly cleaner: IntervalLoop;

  constructor(
    private readonly keeping: Keeping<Row>,
    private readonly logger: Pick<Logger, 'warn' | 'error'>,
  ) {
    const failed = (error: unknown): void => this.logger.warn(messageOf(error), `${keeping.what} waits`);
    this.writer = new IntervalLoop(() => this.flush(), retryMs, failed);
    this.cleaner = new IntervalLoop(() => keeping.clean(), dayMs, failed);
  }

  start(): void {
    for (const loop of [this.writer, this.cleaner]) {
      loop.start();
      loop.hasten(0);
    }
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    await Promise.all([this.writer.stop(), this.cleaner.stop()]);
    await this.flush().catch((error: unknown) =>
      this.logger.error(error, `${this.keeping.what} is incomplete`),
    );
  }

  add(row: Row): void {
    this.pending.push(row);
    if (this.pending.length > maxPending) {
      const lost = this.pending.shift();
      this.logger.error(lost, `${this.keeping.what} loses its oldest entry`);
    }
    this.writer.hasten(0);
  }

  /** Writes what waits, after the write under way; what cannot be written waits on. @throws the database's error */
  flush(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
  }

  private async write(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = this.pending.slice(0, batchSize);
      await this.keeping.write(batch);
      const written = new Set(batch);
      this.pending = this.pending.filter((row) => !written.has(row));
    }
  }
}
