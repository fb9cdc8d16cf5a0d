import { performance } from 'node:perf_hooks';
import { close, fdatasync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DiskReserve, segmentPath, segmentsIn, type WrittenMark } from './segment-files.js';
import { encodeLine } from './journal-entry.js';

/** Acknowledged entries survive a crash of the gateway (`process`), or of the machine (`power`). */
export type Durability = 'process' | 'power';

/** The folder, limits and durability of a writer. */
export interface WriterSettings {
  readonly folder: string;
  /** Size in bytes from which a new segment begins. */
  readonly segmentBytes: number;
  readonly durability: Durability;
  /** Position up to which the drain in another thread may read. */
  readonly mark?: WrittenMark;
}

/** Callbacks of a writer to its journal. */
export interface WriterReport {
  /** Called when a write or sync failed. Entries that must not be lost are retried. */
  failed(error: unknown): void;
  /** Called after each write: `markWritten` is due. */
  written?(): void;
  /** Called before a new segment exists. MUST call `markWritten`: the drain stops reading a segment that has a successor. */
  segmentEnds?(): void;
}

/** An entry to append. */
export interface Appended {
  readonly json: string;
  /** Whether it is the last entry of a record. */
  readonly completes: boolean;
}

/** The entries appended since the last write, which share one promise. */
interface Batch extends PromiseWithResolvers<boolean> {
  /** Entries that must not be lost. They are retried until they are written. */
  readonly required: Appended[];
  /** Entries that are rejected if the write fails. */
  readonly optional: Appended[];
}

/** Max delay of a sync after a write, if nothing waits for it. */
const syncDelayMs = 50;
/** Delay before a failed write is repeated. */
const retryMs = 100;
/** Interval at which a full disk is checked for room. */
const roomCheckMs = 1_000;
/** An entry without an effect, which shows whether the disk has room. */
const emptyEntry: Appended = { json: '{"id":"-"}', completes: false };
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/**
 * Appends entries to the newest segment. All entries of one turn of the event loop are one synchronous write, which costs
 * less than an asynchronous one and reaches the system before the answer. Syncs to the disk follow in the background, or
 * are awaited (`power`): then back to back, without a timer.
 */
export class JournalWriter {
  private segment: number;
  private fd: number;
  private position = 0;
  private batch: Batch | undefined;
  /** The entries of a failed write that must not be lost. */
  private leftover: Appended[] = [];
  /** File descriptors of finished segments that are not synced yet. */
  private finished: number[] = [];
  /** The running loop of syncs. */
  private syncing: Promise<void> | undefined;
  /** Whether entries were written after the start of the last sync. */
  private needsSync = false;
  /** Whether the last sync failed, so that entries may not survive a crash of the machine. */
  private hasSyncFailed = false;
  private isClosed = false;
  private hasWriteFailed = false;
  /** Whether only entries that must not be lost are written, into the released reserve: a write failed, or the disk is full. */
  private takesOnlyRequired = false;
  private checkedRoomAt = 0;
  /** Written batches that resolve after the next sync (`power`). */
  private awaitingSync: Batch[] = [];
  /** Number of complete records written. */
  private records = 0;
  /** Bytes of each segment, including those of earlier writers, until its removal is known. */
  private readonly sizes = new Map<number, number>();
  /** Bytes on the disk: the sum of `sizes`. */
  bytes = 0;
  /** The last segment of earlier writers; 0 if there is none. */
  readonly replayThrough: number;

  constructor(
    private readonly settings: WriterSettings,
    private readonly report: WriterReport,
    private readonly reserve: Pick<DiskReserve, 'take' | 'release'> = new DiskReserve(settings.folder),
  ) {
    const { folder } = settings;
    for (const segment of segmentsIn(folder)) {
      this.resize(segment, statSync(segmentPath(folder, segment)).size);
    }
    this.replayThrough = [...this.sizes.keys()].at(-1) ?? 0;
    [this.segment, this.fd] = this.openAfter(this.replayThrough);
    this.takesOnlyRequired = !this.reserve.take();
    this.markWritten();
  }

  /** Lets the drain read everything written so far. */
  markWritten(): void {
    // The mark counts segments from the first one of this writer.
    this.settings.mark?.set(this.segment - this.replayThrough, this.position);
  }

  /** Whether an entry would be accepted, according to the last write. */
  get takesMore(): boolean {
    return (
      !this.isClosed &&
      !this.takesOnlyRequired &&
      !(this.hasSyncFailed && this.settings.durability === 'power')
    );
  }

  /**
   * Appends an entry.
   * @param as `required`: it must not be lost; `optional`: it is refused while the journal is full
   * @returns false if it is not safe: a required one will be written later, an optional one must count as refused
   */
  append(entry: Appended, as: 'required' | 'optional' = 'required'): Promise<boolean> {
    const batch = this.currentBatch();
    batch[as].push(entry);
    return batch.promise;
  }

  /** Checks whether a full journal accepts entries again, by writing an empty one while all others are refused. */
  async tryAgain(): Promise<void> {
    if (!this.takesMore && !this.isClosed) await this.append(emptyEntry, 'optional');
  }

  /** Writes all entries so far. @returns whether all are written */
  flush(): Promise<boolean> {
    return this.currentBatch().promise;
  }

  /** Stops counting a segment that was deleted. */
  onRemoved(segment: number): void {
    this.resize(segment, 0);
    this.sizes.delete(segment);
  }

  /** Stops counting all segments that do not exist any more: a drain that died may not have reported their removal. */
  forgetRemoved(): void {
    const existing = new Set(segmentsIn(this.settings.folder));
    for (const segment of this.sizes.keys()) if (!existing.has(segment)) this.onRemoved(segment);
  }

  /** Writes the remaining entries, syncs and closes. @returns whether all entries are written */
  async close(): Promise<boolean> {
    const isWritten = await this.flush();
    if (this.isClosed) return false;
    this.giveUp();
    await this.syncing;
    await closeFile(this.fd);
    this.reserve.release();
    return isWritten;
  }

  /** Stops all writes: the journal is closed, or its folder belongs to another process now. */
  giveUp(): void {
    this.isClosed = true;
  }

  /** The batch that is written at the end of this turn of the event loop. */
  private currentBatch(): Batch {
    if (this.batch) return this.batch;
    this.batch = { required: this.leftover, optional: [], ...Promise.withResolvers<boolean>() };
    this.leftover = [];
    setImmediate(() => this.writeBatch());
    return this.batch;
  }

  /** Writes the batch. If that fails, entries that must not be lost are written with a later batch. */
  private writeBatch(): void {
    const { batch } = this;
    if (!batch) return;
    this.batch = undefined;
    try {
      if (this.takesOnlyRequired) this.makeRoom();
      this.write(this.takesOnlyRequired ? batch.required : batch.required.concat(batch.optional));
    } catch (error) {
      this.leftover = batch.required;
      if (this.leftover.length > 0) setTimeout(() => this.retry(), retryMs).unref();
      this.report.failed(error);
      this.takesOnlyRequired = true;
      batch.resolve(false);
      return;
    }
    if (this.takesOnlyRequired && batch.optional.length > 0) batch.resolve(false);
    else if (this.settings.durability === 'process') batch.resolve(true);
    else this.awaitingSync.push(batch);
    this.needsSync = true;
    this.syncing ??= this.syncWhileNeeded();
  }

  /** Starts a batch, which contains the entries of the failed one. */
  private retry(): void {
    if (!this.isClosed) this.currentBatch();
  }

  /**
   * Checks once a second whether a full disk has room again. Until then only entries that must not be lost are written,
   * into the space of the released reserve. Others would fill it, and the drain could not remove a segment.
   */
  private makeRoom(): void {
    const now = performance.now();
    if (now - this.checkedRoomAt < roomCheckMs) return;
    this.checkedRoomAt = now;
    this.takesOnlyRequired = !this.reserve.take();
    if (this.takesOnlyRequired) this.report.failed(new Error('The disk of the journal has no room'));
  }

  /** Writes entries to the newest segment. @throws Error if not all are written; then none is */
  private write(entries: readonly Appended[]): void {
    if (entries.length === 0) return;
    // After closing, the file descriptor may belong to another file.
    if (this.isClosed) throw new Error('The journal is closed');
    // After a failed write a new segment begins, so that the drain can remove the old one and thereby make room.
    const needsNewSegment = this.hasWriteFailed && this.position > 0;
    if (needsNewSegment || this.position >= this.settings.segmentBytes) this.rotate();
    const [lines, records] = this.linesOf(entries);
    const bytes = Buffer.from(lines);
    const { length } = bytes;
    try {
      for (let written = 0; written < length;) {
        written += writeSync(this.fd, bytes, written, length - written, this.position + written);
      }
    } catch (error) {
      this.hasWriteFailed = true;
      this.reserve.release();
      // The drain must not read a part of a batch that failed.
      ftruncateSync(this.fd, this.position);
      throw error;
    }
    this.hasWriteFailed = false;
    this.records = records;
    this.position += length;
    this.report.written?.();
    this.resize(this.segment, this.position);
  }

  /** Sets the known size of a segment. */
  private resize(segment: number, bytes: number): void {
    this.bytes += bytes - (this.sizes.get(segment) ?? 0);
    this.sizes.set(segment, bytes);
  }

  /** The lines of entries, and the number of complete records after them. */
  private linesOf(entries: readonly Appended[]): [lines: string, records: number] {
    const now = Date.now();
    let { records } = this;
    let lines = '';
    for (const { json, completes } of entries) {
      if (completes) records += 1;
      lines += encodeLine(records, now, json);
    }
    return [lines, records];
  }

  /** Begins a new segment. */
  private rotate(): void {
    this.report.segmentEnds?.();
    const next = this.openAfter(this.segment);
    this.finished.push(this.fd);
    [this.segment, this.fd] = next;
    this.position = 0;
  }

  /** Creates the next segment; skips names of existing files. */
  private openAfter(last: number): [segment: number, fd: number] {
    for (let segment = last + 1; Number.isSafeInteger(segment); segment++) {
      try {
        return [segment, openSync(segmentPath(this.settings.folder, segment), 'wx', 0o600)];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
    throw new Error(`No segment can follow ${segmentPath(this.settings.folder, last)}: move that file away`);
  }

  /** Syncs until all entries are on the disk. One loop at a time. */
  private async syncWhileNeeded(): Promise<void> {
    while (this.needsSync) {
      if (this.settings.durability === 'process') await delay(syncDelayMs);
      const { awaitingSync, finished } = this;
      this.needsSync = false;
      this.awaitingSync = [];
      this.finished = [];
      const results = await Promise.all([...finished, this.fd].map((fd) => this.sync(fd)));
      this.hasSyncFailed = !results.every(Boolean);
      // After the sync, because another file may get the descriptor at once.
      await Promise.all(finished.map((fd) => closeFile(fd)));
      for (const batch of awaitingSync) batch.resolve(!this.hasSyncFailed);
    }
    this.syncing = undefined;
  }

  /** @returns whether the file is on the disk */
  private async sync(fd: number): Promise<boolean> {
    try {
      await syncFile(fd);
      return true;
    } catch (error) {
      this.report.failed(error);
      return false;
    }
  }
}
