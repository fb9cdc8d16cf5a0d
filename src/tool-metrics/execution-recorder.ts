import { setTimeout as pause } from 'node:timers/promises';
import { Refusal } from '../common/errors.js';
import type { ToolMetric } from './tool-metric.entity.js';

/** Where records go. Writing the same record twice must be harmless. */
export interface MetricWriter {
  recordMany(metrics: readonly ToolMetric[]): Promise<void>;
  /** The values of a row are to blame for the failed write, not the database. */
  isRowFault(error: unknown): boolean;
}

export interface RecorderSettings {
  /** Records and executions in flight together. */
  readonly maxBuffered: number;
  /** Rows of one write. */
  readonly batchSize: number;
  readonly flushIntervalMs: number;
  /** How long closing waits for executions in flight; default 1 s. */
  readonly settleMs?: number;
  /** How long closing tries to write what is left; default 5 s. */
  readonly closeMs?: number;
}

/** What the operator must hear of. */
export interface RecorderReport {
  retrying(error: unknown, depth: number, delayMs: number): void;
  /** Never to be seen again. */
  lost(metrics: readonly ToolMetric[], error: unknown): void;
}

const minRetryMs = 100;
const maxRetryMs = 5_000;

/**
 * Takes one record an execution and writes them in batches. Each call has its place promised before it starts:
 * `begin` takes it, `finish` fills it, `discard` gives it back. A record leaves the buffer only when it is
 * written, so a database that is away costs nothing but room.
 */
export class ExecutionRecorder {
  /** Oldest first. The rows being written stay in front until they are. */
  private readonly waiting: ToolMetric[] = [];
  private inFlight = 0;
  private recorded = 0;
  private lost = 0;
  private failures = 0;
  private size: number;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pumping = false;
  private closed: Promise<void> | undefined;
  private ended = false;
  private idle: (() => void) | undefined;

  constructor(
    private readonly writer: MetricWriter,
    private readonly settings: RecorderSettings,
    private readonly report: RecorderReport,
  ) {
    this.size = settings.batchSize;
  }

  /** Records that the database does not have yet. */
  depth(): number {
    return this.waiting.length;
  }

  /** Records written since the start. */
  get recordedTotal(): number {
    return this.recorded;
  }

  /** Records given up since the start. */
  get lostTotal(): number {
    return this.lost;
  }

  /** @throws Refusal `recorder_full` when the record of one more call cannot be promised */
  assertRoom(): void {
    const { maxBuffered } = this.settings;
    if (this.waiting.length + this.inFlight < maxBuffered) return;
    throw new Refusal(
      'recorder_full',
      `${this.waiting.length} records wait for the database and ${this.inFlight} executions run: ` +
        `the recorder holds ${maxBuffered} (RECORDER_MAX_BUFFERED)`,
      { retryAfterMs: this.failures > 0 ? this.retryMs() : 1_000 },
    );
  }

  /** Takes a place; exactly one `finish` or `discard` MUST follow. @throws Refusal `recorder_full` */
  begin(): void {
    this.assertRoom();
    this.inFlight += 1;
  }

  finish(metric: ToolMetric): void {
    this.waiting.push(metric);
    this.leave();
    if (this.ended) return this.giveUp(1, new Error('The recorder is closed'));
    // Once, at the row that fills the batch: a timer that every further row set anew would never come.
    if (this.waiting.length === this.settings.batchSize && this.failures === 0) this.cancelTimer();
    this.schedule();
  }

  /** The call was refused after all: there is nothing to record. */
  discard(): void {
    this.leave();
  }

  /**
   * Writes what has been recorded until now.
   * @throws what the writer threw; nothing is lost by that, and writing goes on in the background
   */
  async flush(): Promise<void> {
    const target = this.settled() + this.waiting.length;
    while (this.settled() < target) await this.write();
  }

  /** Waits a moment for executions in flight, then writes everything or says loudly what is lost. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    const { settleMs = 1_000, closeMs = 5_000 } = this.settings;
    this.cancelTimer();
    if (this.inFlight > 0) {
      await within(settleMs, new Promise<void>((resolve) => (this.idle = resolve)));
    }
    const until = performance.now() + closeMs;
    let failure: unknown = new Error(`The database took no records within ${closeMs} ms`);
    while (this.waiting.length > 0 && performance.now() < until) {
      const flushed = this.flush().catch(async (error: unknown) => {
        failure = error;
        await pause(minRetryMs);
      });
      await within(until - performance.now(), flushed);
    }
    this.ended = true;
    if (this.waiting.length > 0) this.giveUp(this.waiting.length, failure);
  }

  private leave(): void {
    this.inFlight -= 1;
    if (this.inFlight === 0) this.idle?.();
  }

  private settled(): number {
    return this.recorded + this.lost;
  }

  private schedule(): void {
    if (this.timer || this.pumping || this.closed || this.waiting.length === 0) return;
    this.timer = setTimeout(() => void this.pump(), this.delayMs());
    this.timer.unref();
  }

  private cancelTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private delayMs(): number {
    if (this.failures > 0) return this.retryMs();
    return this.waiting.length >= this.settings.batchSize ? 0 : this.settings.flushIntervalMs;
  }

  private retryMs(): number {
    return Math.min(maxRetryMs, minRetryMs * 2 ** Math.min(this.failures - 1, 10));
  }

  private async pump(): Promise<void> {
    this.timer = undefined;
    this.pumping = true;
    try {
      await this.flush();
    } catch (error) {
      this.report.retrying(error, this.waiting.length, this.retryMs());
    } finally {
      this.pumping = false;
      this.schedule();
    }
  }

  /** One write at a time: whoever asks meanwhile waits for the one under way. */
  private write(): Promise<void> {
    this.writing ??= this.writeFront().finally(() => (this.writing = undefined));
    return this.writing;
  }

  /** Writes the oldest rows. A row that cannot be written is found by halving the batch, and given up. */
  private async writeFront(): Promise<void> {
    const batch = this.waiting.slice(0, this.size);
    try {
      await this.writer.recordMany(batch);
    } catch (error) {
      if (!this.writer.isRowFault(error)) {
        this.failures += 1;
        throw error;
      }
      if (batch.length === 1) this.giveUp(1, error);
      else this.size = Math.ceil(batch.length / 2);
      return;
    }
    this.failures = 0;
    this.waiting.splice(0, batch.length);
    this.recorded += batch.length;
    this.size = Math.min(this.size * 2, this.settings.batchSize);
  }

  private giveUp(count: number, error: unknown): void {
    const metrics = this.waiting.splice(0, count);
    this.lost += metrics.length;
    this.report.lost(metrics, error);
  }
}

/** Resolves when the promise has settled or the time is up. */
async function within(ms: number, promise: Promise<void>): Promise<void> {
  const controller = new AbortController();
  const timeUp = pause(Math.max(0, ms), undefined, { signal: controller.signal }).catch(() => undefined);
  try {
    await Promise.race([promise, timeUp]);
  } finally {
    controller.abort();
  }
}
