import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FileLock, LockHeld, silenceMs } from '../../common/file-lock.js';
import type { Journal } from '../execution-recorder.js';
import type { DrainNews } from './drain-messages.js';
import { DrainThread } from './drain-thread.js';
import type { Settled } from './journal-drain.js';
import { type Durability, JournalWriter } from './journal-writer.js';
import type { SinkSettings } from './row-sink.js';
import { segmentPath, segmentsIn } from './segment-files.js';
import { WrittenMark } from './written-mark.js';

export interface JournalSettings {
  /** One gateway at a time; on a volume that outlives it. */
  readonly folder: string;
  readonly segmentBytes: number;
  readonly durability: Durability;
  /** Rows of one insert at most. */
  readonly batchSize: number;
  /** Pause of the drain between two looks, in milliseconds. */
  readonly intervalMs: number;
  /** The thread's program, compiled. */
  readonly script: string;
  readonly sink: SinkSettings;
}

/** What the operator must hear of. */
export interface JournalReport {
  writeFailed(error: unknown): void;
  drainEnded(error: unknown, restartInMs: number): void;
  news(news: Exclude<DrainNews, { flushed: number } | { settled: Settled } | { removed: number }>): void;
  /** The gateway ends and the journal keeps executions that are not in the database. */
  left(reason: unknown): void;
}

/** Long enough to learn that the gateway of another container is gone. */
const lockTimeoutMs = silenceMs + 2_000;

/** A journal that is ours: its lock, its writer, and the thread that drains it. */
export class OpenJournal implements Journal {
  private readonly writer: JournalWriter;
  private readonly drain: DrainThread;
  /** Bytes of earlier gateways' segments. */
  private readonly inherited: Map<number, number>;
  private settledListener: (settled: Settled) => void = () => undefined;

  private constructor(
    private readonly lock: FileLock,
    settings: JournalSettings,
    private readonly report: JournalReport,
  ) {
    const { folder, segmentBytes, durability, batchSize, intervalMs, script, sink } = settings;
    const found = segmentsIn(folder);
    this.inherited = new Map(found.map((number) => [number, statSync(segmentPath(folder, number)).size]));
    const replayThrough = found.at(-1) ?? 0;
    const mark = new WrittenMark();
    this.writer = new JournalWriter(
      { folder, segmentBytes, durability, firstSegment: replayThrough + 1, mark },
      { failed: (error) => report.writeFailed(error) },
    );
    const orders = { drain: { folder, batchSize, replayThrough, written: mark.memory }, sink, intervalMs };
    this.drain = new DrainThread(script, orders, {
      news: (news) => this.hear(news),
      ended: (error, restartInMs) => {
        this.forgetRemoved(folder);
        report.drainEnded(error, restartInMs);
      },
    });
  }

  /** @throws Error naming the process that has the journal open */
  static async open(settings: JournalSettings, report: JournalReport): Promise<OpenJournal> {
    mkdirSync(settings.folder, { recursive: true, mode: 0o700 });
    const lock = await FileLock.acquire(join(settings.folder, 'lock'), lockTimeoutMs).catch(
      (error: unknown) => {
        if (!(error instanceof LockHeld)) throw error;
        throw new Error(
          'The journal of executions belongs to another gateway: give each its own JOURNAL_DIR',
          {
            cause: error,
          },
        );
      },
    );
    return new OpenJournal(lock, settings, report);
  }

  /** On the disk. */
  get bytes(): number {
    let bytes = this.writer.bytes;
    for (const size of this.inherited.values()) bytes += size;
    return bytes;
  }

  get settled(): Settled {
    return this.drain.settled;
  }

  get replayed(): Promise<void> {
    return this.drain.replayed;
  }

  onSettled(listener: (settled: Settled) => void): void {
    this.settledListener = listener;
  }

  /** @param entry as JSON. @returns whether it is written; it never will be if not */
  tryAppend(entry: string): Promise<boolean> {
    return this.writer.tryAppend(entry);
  }

  /** The entry, as JSON, is written as soon as it can be. @returns false when that is not yet */
  append(entry: string): Promise<boolean> {
    return this.writer.append(entry);
  }

  /** @throws Error why what was appended until now is not in the database */
  async flush(): Promise<void> {
    await this.writer.flush();
    await this.drain.flush();
  }

  /** Drains what it can within the time, and says loudly when something is left. */
  async close(withinMs: number): Promise<void> {
    const controller = new AbortController();
    const timeUp = pause(withinMs, undefined, { signal: controller.signal }).then(() => {
      throw new Error(`The database took no records within ${withinMs} ms`);
    });
    try {
      if (!(await this.writer.close())) throw new Error('The journal cannot be written');
      await Promise.race([this.drain.finish(), timeUp]);
    } catch (error) {
      this.report.left(error);
    } finally {
      controller.abort();
      await timeUp.catch(() => undefined);
      await this.drain.stop();
      this.lock.release();
    }
  }

  private hear(news: Exclude<DrainNews, { flushed: number }>): void {
    if ('settled' in news) return this.settledListener(news.settled);
    if (!('removed' in news)) return this.report.news(news);
    this.forget(news.removed);
  }

  private forget(segment: number): void {
    this.inherited.delete(segment);
    this.writer.removed(segment);
  }

  /** A thread that died may have removed segments without a word; they would count for ever. */
  private forgetRemoved(folder: string): void {
    const there = new Set(segmentsIn(folder));
    for (const segment of [...this.inherited.keys(), ...this.writer.segments()]) {
      if (!there.has(segment)) this.forget(segment);
    }
  }
}
