import { rmSync } from 'node:fs';
import type { ToolMetric } from '../tool-metric.entity.js';
import { interruptedRow, rowOf } from './execution-row.js';
import type { ExecutionStart, JournalEntry } from './journal-entry.js';
import { segmentPath, segmentsIn } from './segment-files.js';
import { type Damage, SegmentReader } from './segment-reader.js';

/** Where the rows go. Writing the same row twice must be harmless. */
export interface RowSink {
  insert(rows: readonly ToolMetric[]): Promise<void>;
  /** Sets a row aside that can never be inserted. */
  quarantine(row: ToolMetric, reason: unknown): Promise<void>;
  /** The values of a row are to blame for the failure, not the database. */
  isRowFault(error: unknown): boolean;
}

export interface DrainSettings {
  readonly folder: string;
  readonly batchSize: number;
  /** The last segment of earlier gateways: a start there without an end was interrupted. 0: there is none. */
  readonly replayThrough: number;
}

export interface DrainReport {
  damaged(segment: number, damage: Damage): void;
  quarantined(row: ToolMetric, reason: unknown): void;
  removed(segment: number): void;
  /** Everything of earlier gateways is in the database. */
  replayed(rows: number, interrupted: number): void;
}

/** What is in the database by now. */
export interface Settled {
  /** The place of the last end (see ExecutionEnd) of this gateway. */
  readonly place: number;
  /** When it ended, milliseconds since 1970. */
  readonly endedAt: number;
}

interface Segment {
  readonly number: number;
  readonly reader: SegmentReader;
  /** Starts and ends read here that are not in the database yet: it must stay until they are. */
  held: number;
  finished: boolean;
}

interface OpenStart {
  readonly start: ExecutionStart;
  readonly segment: Segment;
}

interface Row {
  readonly metric: ToolMetric;
  readonly segments: readonly Segment[];
  readonly settles?: Settled;
}

/**
 * Reads the journal behind its writer, puts starts and ends together and sends the rows on in batches. A segment is
 * removed when all it holds is committed: whatever dies in between, the next drain reads it again and adds nothing
 * twice.
 */
export class JournalDrain {
  private readonly segments = new Map<number, Segment>();
  private readonly open = new Map<string, OpenStart>();
  private readonly rows: Row[] = [];
  private current: Segment | undefined;
  private replaying: boolean;
  private replayedRows = 0;
  private interruptedRows = 0;
  private last: Settled = { place: 0, endedAt: 0 };

  constructor(
    private readonly settings: DrainSettings,
    private readonly sink: RowSink,
    private readonly report: DrainReport,
  ) {
    this.replaying = settings.replayThrough > 0;
  }

  get settled(): Settled {
    return this.last;
  }

  /**
   * Reads and writes one batch.
   * @returns whether there may be more to do at once
   * @throws what the sink threw; nothing is lost by that, the same rows are sent again
   */
  async step(): Promise<boolean> {
    const atEnd = this.fill();
    const batch = this.rows.slice(0, this.settings.batchSize);
    await this.send(batch);
    this.rows.splice(0, batch.length);
    for (const row of batch) this.settle(row);
    this.removeFinished();
    this.endReplay();
    return !atEnd || this.rows.length > 0;
  }

  /** The writer has closed: what is committed wholly is not needed any more. @returns whether nothing is left */
  finish(): boolean {
    if (this.rows.length > 0 || this.open.size > 0 || !this.current) return false;
    this.current.reader.end();
    this.current.finished = true;
    this.removeFinished();
    return this.segments.size === 0;
  }

  /** @returns whether the end of what is written has been reached */
  private fill(): boolean {
    while (this.rows.length < this.settings.batchSize) {
      // Listed before the segment is read to its end: what is followed by another grows no more.
      const newest = segmentsIn(this.settings.folder);
      this.current ??= this.openAfter(0, newest);
      if (!this.current) return true;
      const entries = this.current.reader.next();
      if (entries) for (const entry of entries) this.take(entry, this.current);
      else if (!this.advance(this.current, newest)) return true;
    }
    return false;
  }

  private openAfter(number: number, listed: readonly number[]): Segment | undefined {
    const next = listed.find((each) => each > number);
    if (next === undefined) return undefined;
    const reader = new SegmentReader(segmentPath(this.settings.folder, next));
    const segment = { number: next, reader, held: 0, finished: false };
    this.segments.set(next, segment);
    return segment;
  }

  private advance(segment: Segment, listed: readonly number[]): boolean {
    const next = this.openAfter(segment.number, listed);
    if (!next) return false;
    segment.reader.end();
    segment.finished = true;
    const { damage } = segment.reader;
    if (damage.lines > 0) this.report.damaged(segment.number, damage);
    this.current = next;
    if (this.replaying && next.number > this.settings.replayThrough) this.interruptOpen();
    return true;
  }

  private take(entry: JournalEntry, segment: Segment): void {
    if ('start' in entry) {
      segment.held += 1;
      this.open.set(entry.start.metricId, { start: entry.start, segment });
    } else if ('end' in entry) {
      const { place, endedAt, metricId } = entry.end;
      const opened = this.close(metricId);
      // Its start was committed and removed before, or damaged.
      if (!opened) return;
      segment.held += 1;
      const ours = segment.number > this.settings.replayThrough;
      const metric = rowOf(opened.start, entry.end);
      this.rows.push({
        metric,
        segments: [opened.segment, segment],
        ...(ours && { settles: { place, endedAt } }),
      });
    } else {
      const opened = this.close(entry.discard);
      if (opened) opened.segment.held -= 1;
    }
  }

  private close(id: string): OpenStart | undefined {
    const opened = this.open.get(id);
    this.open.delete(id);
    return opened;
  }

  /** Whoever started these is dead. */
  private interruptOpen(): void {
    for (const { start, segment } of this.open.values()) {
      this.interruptedRows += 1;
      this.rows.push({ metric: interruptedRow(start), segments: [segment] });
    }
    this.open.clear();
  }

  /** A row that cannot be inserted is found by halving and set aside: it never holds the others up. */
  private async send(rows: readonly Row[]): Promise<void> {
    const [first] = rows;
    if (!first) return;
    try {
      await this.sink.insert(rows.map(({ metric }) => metric));
    } catch (error) {
      if (!this.sink.isRowFault(error)) throw error;
      if (rows.length === 1) {
        await this.sink.quarantine(first.metric, error);
        this.report.quarantined(first.metric, error);
        return;
      }
      const half = Math.ceil(rows.length / 2);
      await this.send(rows.slice(0, half));
      await this.send(rows.slice(half));
    }
  }

  private settle({ segments, settles }: Row): void {
    for (const segment of segments) segment.held -= 1;
    if (settles) this.last = settles;
    else this.replayedRows += 1;
  }

  private removeFinished(): void {
    for (const segment of this.segments.values()) {
      if (!segment.finished || segment.held > 0) continue;
      rmSync(segmentPath(this.settings.folder, segment.number), { force: true });
      this.segments.delete(segment.number);
      this.report.removed(segment.number);
    }
  }

  private endReplay(): void {
    if (!this.replaying || !this.current || this.current.number <= this.settings.replayThrough) return;
    if ([...this.segments.keys()].some((number) => number <= this.settings.replayThrough)) return;
    this.replaying = false;
    this.report.replayed(this.replayedRows, this.interruptedRows);
  }
}
