import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '../../src/tool-metrics/execution-recorder.js';
import type { DrainNews } from '../../src/tool-metrics/journal/drain-messages.js';
import { DrainLoop } from '../../src/tool-metrics/journal/drain-loop.js';
import type { RowSink, Settled } from '../../src/tool-metrics/journal/journal-drain.js';
import { JournalWriter } from '../../src/tool-metrics/journal/journal-writer.js';
import type { ToolMetric } from '../../src/tool-metrics/tool-metric.entity.js';

/** real: the journal's files, writer and drain; in memory: the table. In this thread, and drained only when flushed. */
export class TestJournal implements Journal {
  readonly rows: ToolMetric[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'journal-'));
  readonly replayed = Promise.resolve();
  private readonly writer = new JournalWriter(
    { folder: this.folder, segmentBytes: 1, durability: 'process', firstSegment: 1 },
    { failed: () => undefined },
  );
  private readonly loop: DrainLoop;
  private readonly running: Promise<void>;
  private last: Settled = { place: 0, endedAt: 0 };
  private listener: (settled: Settled) => void = () => undefined;
  private nextId = 1;
  private readonly answers = new Map<number, () => void>();

  constructor() {
    const sink: RowSink = {
      insert: async (rows) => void this.rows.push(...rows),
      quarantine: () => Promise.reject(new Error('nothing is poison here')),
      isRowFault: () => false,
    };
    const drain = { folder: this.folder, batchSize: 100, replayThrough: 0 };
    this.loop = new DrainLoop({ drain, intervalMs: 2_000_000_000 }, sink, (news) => this.hear(news));
    this.running = this.loop.run();
  }

  get bytes(): number {
    return this.writer.bytes;
  }

  get settled(): Settled {
    return this.last;
  }

  onSettled(listener: (settled: Settled) => void): void {
    this.listener = listener;
  }

  tryAppend(entry: string): Promise<boolean> {
    return this.writer.tryAppend(entry);
  }

  append(entry: string): Promise<boolean> {
    return this.writer.append(entry);
  }

  async flush(): Promise<void> {
    await this.writer.flush();
    await this.ask((flush) => ({ flush }));
  }

  async close(): Promise<void> {
    await this.writer.close();
    await this.ask((finish) => ({ finish }));
    await this.running;
  }

  private ask(requestOf: (id: number) => { flush: number } | { finish: number }): Promise<void> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.answers.set(id, resolve);
      this.loop.ask(requestOf(id));
    });
  }

  private hear(news: DrainNews): void {
    if ('flushed' in news) this.answers.get(news.flushed)?.();
    if ('removed' in news) this.writer.removed(news.removed);
    if (!('settled' in news)) return;
    this.last = news.settled;
    this.listener(news.settled);
  }
}
