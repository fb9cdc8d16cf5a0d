import { rmSync } from 'node:fs';
import { messageOf } from '../../base/common/message-of.js';
import type { JournalRecord, WrittenEntry } from './journal-entry.js';
import { type Damage, segmentPath, SegmentReader, segmentsIn, WrittenMark } from './segment-files.js';

/** The receiver of a journal's records; it alone knows their contents. */
export interface RecordSink {
  /** Inserting the same record twice must be harmless. */
  insert(records: readonly JournalRecord[]): Promise<void>;
  /** Sets a record aside that can never be inserted. */
  quarantine(record: JournalRecord, reason: unknown): Promise<void>;
  /** The values of a record are to blame for the failure, not the database. */
  isRecordFault(error: unknown): boolean;
}

export interface DrainSettings {
  readonly folder: string;
  readonly batchSize: number;
  /** The last segment of earlier gateways: a start there without an end was interrupted. 0: there is none. */
  readonly replayThrough: number;
  /** The memory of the writer's WrittenMark; absent: all that is in the files may be read. */
  readonly written?: SharedArrayBuffer | undefined;
}

/** The last record of this gateway that is committed (see WrittenEntry). */
export type Settled = Pick<WrittenEntry, 'place' | 'at'>;

/** A drain's messages to its journal. */
export type DrainNews =
  | (Settled & { readonly event: 'settled' })
  /** `state`: SQLSTATE, if the database answered. */
  | {
      readonly event: 'retrying';
      readonly error: string;
      readonly state: string | undefined;
      readonly delayMs: number;
    }
  | (Damage & { readonly event: 'damaged'; readonly segment: number })
  | { readonly event: 'quarantined'; readonly id: string; readonly reason: string }
  | { readonly event: 'removed'; readonly segment: number }
  /** It died and is started again. */
  | { readonly event: 'drain_ended'; readonly error: string; readonly restartInMs: number }
  /** Everything of earlier gateways is committed. */
  | { readonly event: 'replayed'; readonly records: number; readonly interrupted: number };

/** Chunks of a segment that are read for one batch at most: records may be large. */
const maxChunks = 8;

interface Segment {
  readonly number: number;
  readonly reader: SegmentReader;
  /** Starts and ends read here that are not committed yet: the segment must stay until they are. */
  held: number;
  finished: boolean;
  /** Segments with the outcomes of starts in this segment that have no record. Without them these would be guessed. */
  readonly explainedIn: Segment[];
}

interface OpenStart {
  readonly start: object;
  readonly segment: Segment;
}

/** A pending record and the positions of its parts. */
interface Pending {
  readonly record: JournalRecord;
  readonly segments: readonly Segment[];
  readonly settles?: Settled;
}

/**
 * Reads the journal behind its writer, puts starts and ends together and sends the records on in batches. A segment is
 * removed when all it holds is committed: whatever dies in between, the next drain reads it again, and its sink adds
 * nothing twice.
 */
export class JournalDrain {
  private readonly segments = new Map<number, Segment>();
  private readonly open = new Map<string, OpenStart>();
  private readonly pending: Pending[] = [];
  private current: Segment | undefined;
  private readonly mark: WrittenMark | undefined;
  private replaying: boolean;
  private replayedRecords = 0;
  private interruptedRecords = 0;

  constructor(
    private readonly settings: DrainSettings,
    private readonly sink: RecordSink,
    private readonly tell: (news: DrainNews) => void,
  ) {
    this.replaying = settings.replayThrough > 0;
    this.mark = settings.written && new WrittenMark(settings.written);
  }

  /**
   * Reads and writes one batch.
   * @returns whether there may be more to do at once
   * @throws what the sink threw; nothing is lost by that, the same records are sent again
   */
  async step(): Promise<boolean> {
    const atEnd = this.fill();
    const batch = this.pending.slice(0, this.settings.batchSize);
    await this.send(batch);
    this.pending.splice(0, batch.length);
    this.settle(batch);
    this.removeFinished();
    this.endReplay();
    return !atEnd || this.pending.length > 0;
  }

  /** The writer has closed: what is committed wholly is not needed any more. @returns whether nothing is left */
  finish(): boolean {
    if (this.pending.length > 0 || this.open.size > 0 || !this.current) return false;
    this.end(this.current);
    this.removeFinished();
    return this.segments.size === 0;
  }

  /** @returns whether the end of what is written has been reached */
  private fill(): boolean {
    for (let chunks = 0; this.pending.length < this.settings.batchSize && chunks < maxChunks; chunks += 1) {
      // Listed before reading the segment to its end: a segment with a successor does not grow any more.
      const newest = segmentsIn(this.settings.folder);
      this.current ??= this.openAfter(0, newest);
      if (!this.current) return true;
      const entries = this.current.reader.next(this.limitOf(this.current));
      if (entries) for (const entry of entries) this.take(entry, this.current);
      else if (!this.advance(this.current, newest)) return true;
    }
    return false;
  }

  private limitOf({ number }: Segment): number | undefined {
    return this.mark?.limitOf(number - this.settings.replayThrough);
  }

  private openAfter(number: number, listed: readonly number[]): Segment | undefined {
    const next = listed.find((each) => each > number);
    if (next === undefined) return undefined;
    const reader = new SegmentReader(segmentPath(this.settings.folder, next));
    const segment = { number: next, reader, held: 0, finished: false, explainedIn: [] };
    this.segments.set(next, segment);
    return segment;
  }

  private advance(segment: Segment, listed: readonly number[]): boolean {
    const next = this.openAfter(segment.number, listed);
    if (!next) return false;
    this.end(segment);
    this.current = next;
    const { replayThrough } = this.settings;
    // Here alone: what is open in our own segments is in flight.
    if (segment.number <= replayThrough && next.number > replayThrough) this.interruptOpen();
    return true;
  }

  private end(segment: Segment): void {
    segment.reader.end();
    segment.finished = true;
    const { damage } = segment.reader;
    if (damage.lines > 0) this.tell({ event: 'damaged', segment: segment.number, ...damage });
  }

  private take({ place, at, entry: { id, start, end } }: WrittenEntry, segment: Segment): void {
    if (start && !end) {
      segment.held += 1;
      this.open.set(id, { start, segment });
      return;
    }
    const opened = start ? { start, segment: undefined } : this.close(id);
    // The start was committed and removed before, or damaged.
    if (!opened) return;
    if (end) {
      segment.held += 1;
      const segments = opened.segment ? [opened.segment, segment] : [segment];
      const ours = segment.number > this.settings.replayThrough;
      this.pending.push({
        record: { id, start: opened.start, end },
        segments,
        ...(ours && { settles: { place, at } }),
      });
    } else if (opened.segment) {
      opened.segment.held -= 1;
      explain(opened.segment, segment);
    }
  }

  private close(id: string): OpenStart | undefined {
    const opened = this.open.get(id);
    this.open.delete(id);
    return opened;
  }

  /** The gateway that wrote these starts is dead. */
  private interruptOpen(): void {
    for (const [id, { start, segment }] of this.open) {
      this.interruptedRecords += 1;
      this.pending.push({ record: { id, start, end: undefined }, segments: [segment] });
    }
    this.open.clear();
  }

  /** A record that cannot be inserted is found by halving and set aside: it never holds the others up. */
  private async send(batch: readonly Pending[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    try {
      await this.sink.insert(batch.map(({ record }) => record));
    } catch (error) {
      if (!this.sink.isRecordFault(error)) throw error;
      if (batch.length > 1) {
        const half = Math.ceil(batch.length / 2);
        await this.send(batch.slice(0, half));
        await this.send(batch.slice(half));
        return;
      }
      await this.sink.quarantine(first.record, error);
      this.tell({ event: 'quarantined', id: first.record.id, reason: messageOf(error) });
      const [started, ended] = first.segments;
      if (started && ended) explain(started, ended);
    }
  }

  private settle(batch: readonly Pending[]): void {
    let settled: Settled | undefined;
    for (const { segments, settles } of batch) {
      for (const segment of segments) segment.held -= 1;
      if (settles) settled = settles;
      else this.replayedRecords += 1;
    }
    if (settled) this.tell({ event: 'settled', ...settled });
  }

  private removeFinished(): void {
    for (const segment of this.segments.values()) {
      if (!segment.finished || segment.held > 0) continue;
      rmSync(segmentPath(this.settings.folder, segment.number), { force: true });
      this.segments.delete(segment.number);
      for (const later of segment.explainedIn) later.held -= 1;
      this.tell({ event: 'removed', segment: segment.number });
    }
  }

  private endReplay(): void {
    if (!this.replaying || !this.current || this.current.number <= this.settings.replayThrough) return;
    if ([...this.segments.keys()].some((number) => number <= this.settings.replayThrough)) return;
    this.replaying = false;
    this.tell({ event: 'replayed', records: this.replayedRecords, interrupted: this.interruptedRecords });
  }
}

/** A start that is read again without the segment of its outcome would be recorded as interrupted. */
function explain(started: Segment, explaining: Segment): void {
  if (started === explaining) return;
  explaining.held += 1;
  started.explainedIn.push(explaining);
}
