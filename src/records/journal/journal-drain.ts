import { rmSync } from 'node:fs';
import { messageOf } from '../../base/common/message-of.js';
import type { JournalRecord, WrittenEntry } from './journal-entry.js';
import { type Damage, segmentPath, SegmentReader, segmentsIn, WrittenMark } from './segment-files.js';

/** Receives a journal's records. Only the sink knows their contents. */
export interface RecordSink {
  /** Stores records. Storing the same record twice must have no effect. */
  insert(records: readonly JournalRecord[]): Promise<void>;
  /** Stores a record that can never be inserted somewhere else. */
  quarantine(record: JournalRecord, reason: unknown): Promise<void>;
  /** Whether the values of a record caused the failure, not the database. */
  isRecordFault(error: unknown): boolean;
}

/** The files and batches of a drain. */
export interface DrainSettings {
  readonly folder: string;
  /** Max records of one insert. */
  readonly batchSize: number;
  /** The last segment of earlier processes. Starts up to there that have no end were interrupted. 0: there is none. */
  readonly replayThrough: number;
  /** Memory of the writer's WrittenMark. Absent: the files may be read to their end. */
  readonly written?: SharedArrayBuffer | undefined;
}

/** Number and time of the last committed record of this process (see WrittenEntry). */
export type Settled = Pick<WrittenEntry, 'place' | 'at'>;

/** A drain's messages to its journal. */
export type DrainNews =
  | (Settled & { readonly event: 'settled' })
  /** Records could not be stored, and are sent again. */
  | {
      readonly event: 'retrying';
      readonly error: string;
      /** SQLSTATE, if the database answered. */
      readonly state: string | undefined;
      readonly delayMs: number;
    }
  | (Damage & { readonly event: 'damaged'; readonly segment: number })
  | { readonly event: 'quarantined'; readonly id: string; readonly reason: string }
  | { readonly event: 'removed'; readonly segment: number }
  /** The drain died and is started again. */
  | { readonly event: 'drain_ended'; readonly error: string; readonly restartInMs: number }
  /** All records of earlier processes are committed. */
  | { readonly event: 'replayed'; readonly records: number; readonly interrupted: number };

/** Max chunks of a segment to read for one batch, because records may be large. */
const maxChunks = 8;

/** A segment that is being read, or whose records are not all committed. */
interface Segment {
  readonly number: number;
  readonly reader: SegmentReader;
  /** Number of reasons to keep the segment: its starts and ends that are not committed, and earlier segments that need it. */
  holds: number;
  /** Whether it is read to its end. */
  isRead: boolean;
  /** Later segments that say why starts in this segment have no record. They are kept as long as this one. */
  readonly explainedIn: Segment[];
}

/** A start whose end was not read yet. */
interface OpenStart {
  readonly start: object;
  readonly segment: Segment;
}

/** A record to insert, with the segments of its start and end. */
interface Pending {
  readonly record: JournalRecord;
  readonly segments: readonly Segment[];
  /** Absent for a record of an earlier process. */
  readonly settles?: Settled;
}

/**
 * Reads the journal behind its writer, joins starts and ends, and sends the records to the sink in batches. A segment is
 * removed when all its records are committed. After a crash the next drain reads it again, and the sink ignores records
 * that it has already.
 */
export class JournalDrain {
  private readonly segments = new Map<number, Segment>();
  private readonly openStarts = new Map<string, OpenStart>();
  /** Records that are read but not committed. */
  private readonly pending: Pending[] = [];
  /** The segment that is being read. */
  private current: Segment | undefined;
  private readonly mark: WrittenMark | undefined;
  /** Whether records of earlier processes may be left. */
  private isReplaying: boolean;
  private replayedRecords = 0;
  private interruptedRecords = 0;

  constructor(
    private readonly settings: DrainSettings,
    private readonly sink: RecordSink,
    private readonly report: (news: DrainNews) => void,
  ) {
    this.isReplaying = settings.replayThrough > 0;
    this.mark = settings.written && new WrittenMark(settings.written);
  }

  /** Reads and writes one batch. @returns whether there may be more @throws the sink's error; the next step sends it again */
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

  /** Removes committed segments after the writer has closed. @returns whether no segment is left */
  finish(): boolean {
    if (this.pending.length > 0 || this.openStarts.size > 0 || !this.current) return false;
    this.end(this.current);
    this.removeFinished();
    return this.segments.size === 0;
  }

  /** Reads records for the next batch. @returns whether all written records were read */
  private fill(): boolean {
    for (let chunks = 0; this.pending.length < this.settings.batchSize && chunks < maxChunks; chunks += 1) {
      // Listed before reading the segment to its end: a segment with a successor does not grow any more.
      const newest = segmentsIn(this.settings.folder);
      this.current ??= this.openAfter(0, newest);
      if (!this.current) return true;
      const entries = this.current.reader.next(this.limitOf(this.current));
      if (entries) for (const entry of entries) this.handle(entry, this.current);
      else if (!this.advance(this.current, newest)) return true;
    }
    return false;
  }

  /** Position up to which a segment may be read; undefined: to its end. */
  private limitOf({ number }: Segment): number | undefined {
    return this.mark?.limitOf(number - this.settings.replayThrough);
  }

  /** Opens the first listed segment after a number. */
  private openAfter(number: number, listed: readonly number[]): Segment | undefined {
    const next = listed.find((segment) => segment > number);
    if (next === undefined) return undefined;
    const reader = new SegmentReader(segmentPath(this.settings.folder, next));
    const segment = { number: next, reader, holds: 0, isRead: false, explainedIn: [] };
    this.segments.set(next, segment);
    return segment;
  }

  /** Ends a segment and opens the next one. @returns false if there is no next one yet */
  private advance(segment: Segment, listed: readonly number[]): boolean {
    const next = this.openAfter(segment.number, listed);
    if (!next) return false;
    this.end(segment);
    this.current = next;
    const { replayThrough } = this.settings;
    // Only here: open starts in segments of this process belong to running calls.
    if (segment.number <= replayThrough && next.number > replayThrough) this.interruptOpen();
    return true;
  }

  /** Closes the file of a segment, and reports its damage. */
  private end(segment: Segment): void {
    segment.reader.end();
    segment.isRead = true;
    const { damage } = segment.reader;
    if (damage.lines > 0) this.report({ event: 'damaged', segment: segment.number, ...damage });
  }

  /** Joins an entry with its start. A whole record becomes pending; a cancelled start is dropped. */
  private handle({ place, at, entry: { id, start, end } }: WrittenEntry, segment: Segment): void {
    if (start && !end) {
      segment.holds += 1;
      this.openStarts.set(id, { start, segment });
      return;
    }
    // A whole record has its start in this entry, so that no other segment holds it.
    const opened = start ? { start, segment: undefined } : this.takeStart(id);
    // Without a start: it was committed and removed before, or its line is damaged.
    if (!opened) return;
    if (end) {
      segment.holds += 1;
      const segments = opened.segment ? [opened.segment, segment] : [segment];
      const isOwn = segment.number > this.settings.replayThrough;
      this.pending.push({
        record: { id, start: opened.start, end },
        segments,
        ...(isOwn && { settles: { place, at } }),
      });
    } else if (opened.segment) {
      opened.segment.holds -= 1;
      explain(opened.segment, segment);
    }
  }

  /** Removes and returns the open start of a record. */
  private takeStart(id: string): OpenStart | undefined {
    const opened = this.openStarts.get(id);
    this.openStarts.delete(id);
    return opened;
  }

  /** Makes records of starts without an end: the process that wrote them is dead. */
  private interruptOpen(): void {
    for (const [id, { start, segment }] of this.openStarts) {
      this.interruptedRecords += 1;
      this.pending.push({ record: { id, start, end: undefined }, segments: [segment] });
    }
    this.openStarts.clear();
  }

  /** Inserts a batch. A record that cannot be inserted is found by halving the batch and quarantined, so that it blocks no others. */
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
      this.report({ event: 'quarantined', id: first.record.id, reason: messageOf(error) });
      const [started, ended] = first.segments;
      if (started && ended) explain(started, ended);
    }
  }

  /** Releases the segments of a committed batch, and reports its last record. */
  private settle(batch: readonly Pending[]): void {
    let settled: Settled | undefined;
    for (const { segments, settles } of batch) {
      for (const segment of segments) segment.holds -= 1;
      if (settles) settled = settles;
      else this.replayedRecords += 1;
    }
    if (settled) this.report({ event: 'settled', ...settled });
  }

  /** Deletes segments that are read and whose records are committed. */
  private removeFinished(): void {
    for (const segment of this.segments.values()) {
      if (!segment.isRead || segment.holds > 0) continue;
      rmSync(segmentPath(this.settings.folder, segment.number), { force: true });
      this.segments.delete(segment.number);
      for (const later of segment.explainedIn) later.holds -= 1;
      this.report({ event: 'removed', segment: segment.number });
    }
  }

  /** Reports the end of the replay after the last segment of earlier processes is removed. */
  private endReplay(): void {
    if (!this.isReplaying || !this.current || this.current.number <= this.settings.replayThrough) return;
    if ([...this.segments.keys()].some((number) => number <= this.settings.replayThrough)) return;
    this.isReplaying = false;
    this.report({ event: 'replayed', records: this.replayedRecords, interrupted: this.interruptedRecords });
  }
}

/** Keeps the segment with a start's outcome as long as the start's. Otherwise a restart would record it as interrupted. */
function explain(started: Segment, explaining: Segment): void {
  if (started === explaining) return;
  explaining.holds += 1;
  started.explainedIn.push(explaining);
}
