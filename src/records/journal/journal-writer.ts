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

export interface WriterReport {
  /** Called when a write or sync failed. Entries that must not be lost are retried. */
  failed(error: unknown): void;
  /** Called after each write: `markWritten` is due. */
  written?(): void;
  /** Called before a new segment exists. MUST call `markWritten`: the drain stops reading a segment that has a successor. */
  segmentEnds?(): void;
}

/** An entry as JSON; `completes` if it is the last one of a record. */
export interface Appended {
  readonly json: string;
  readonly completes: boolean;
}

/** The entries appended since the last write, which share one promise. */
interface Batch extends PromiseWithResolvers<boolean> {
  /** Entries that must not be lost. They are retried until they are written. */
  readonly required: Appended[];
  /** Entries that are rejected if the write fails. */
  readonly optional: Appended[];
}

const syncWithinMs = 50;
const retryMs = 100;
const roomCheckMs = 1_000;
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
  private syncing: Promise<void> | undefined;
  private dirty = false;
  /** Whether the last sync failed, so that entries may not survive a crash of the machine. */
  private unsynced = false;
  private closed = false;
  private failing = false;
  /** Whether the disk has no room except the reserve. */
  private tight = false;
  private checkedRoomAt = 0;
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
    private readonly reserve: Pick<DiskReserve, 'take' | 'giveUp'> = new DiskReserve(settings.folder),
  ) {
    const { folder } = settings;
    for (const segment of segmentsIn(folder)) {
      this.resize(segment, statSync(segmentPath(folder, segment)).size);
    }
    this.replayThrough = [...this.sizes.keys()].at(-1) ?? 0;
    [this.segment, this.fd] = this.openAfter(this.replayThrough);
    this.tight = !this.reserve.take();
    this.markWritten();
  }

  /** Lets the drain read everything written so far. */
  markWritten(): void {
    this.settings.mark?.set(this.segment - this.replayThrough, this.position);
  }

  /** Whether an entry would be accepted, according to the last write. */
  get takesMore(): boolean {
    return !this.closed && !this.tight && !(this.unsynced && this.settings.durability === 'power');
  }

  /** Appends an entry unless the journal is full. @returns false if it was not and will not be written */
  tryAppend(entry: Appended): Promise<boolean> {
    const batch = this.current();
    batch.optional.push(entry);
    return batch.promise;
  }

  /** Appends an entry that must not be lost. @returns false if it will be written later */
  append(entry: Appended): Promise<boolean> {
    const batch = this.current();
    batch.required.push(entry);
    return batch.promise;
  }

  /** Checks whether a full journal accepts entries again, by writing an empty one while all others are refused. */
  async tryAgain(): Promise<void> {
    if (!this.takesMore && !this.closed) await this.tryAppend({ json: '{"id":"-"}', completes: false });
  }

  /** Writes all entries so far. @returns whether all are written */
  flush(): Promise<boolean> {
    return this.current().promise;
  }

  /** Records that a segment was deleted. */
  removed(segment: number): void {
    this.resize(segment, 0);
    this.sizes.delete(segment);
  }

  /** Stops counting segments that were deleted by others. */
  forgetRemoved(): void {
    const existing = new Set(segmentsIn(this.settings.folder));
    for (const segment of this.sizes.keys()) if (!existing.has(segment)) this.removed(segment);
  }

  /** Writes the remaining entries, syncs and closes. @returns whether all entries are written */
  async close(): Promise<boolean> {
    const written = await this.flush();
    if (this.closed) return false;
    this.giveUp();
    await this.syncing;
    await closeFile(this.fd);
    this.reserve.giveUp();
    return written;
  }

  /** Stops all writes, because the folder belongs to another process now. */
  giveUp(): void {
    this.closed = true;
  }

  private current(): Batch {
    if (this.batch) return this.batch;
    this.batch = { required: this.leftover, optional: [], ...Promise.withResolvers<boolean>() };
    this.leftover = [];
    setImmediate(() => this.writeBatch());
    return this.batch;
  }

  private writeBatch(): void {
    const { batch } = this;
    if (!batch) return;
    this.batch = undefined;
    try {
      if (this.tight) this.makeRoom();
      this.write(this.tight ? batch.required : batch.required.concat(batch.optional));
    } catch (error) {
      this.leftover = batch.required;
      if (this.leftover.length > 0) setTimeout(() => this.closed || this.current(), retryMs).unref();
      this.report.failed(error);
      this.tight = true;
      batch.resolve(false);
      return;
    }
    if (this.tight && batch.optional.length > 0) batch.resolve(false);
    else if (this.settings.durability === 'process') batch.resolve(true);
    else this.awaitingSync.push(batch);
    this.dirty = true;
    this.syncing ??= this.syncWhileDirty();
  }

  /**
   * Checks once a second whether a full disk has room again. Until then only entries that must not be lost are written,
   * into the reserve: others would fill it, and the drain could not remove a segment.
   */
  private makeRoom(): void {
    const now = performance.now();
    if (now - this.checkedRoomAt < roomCheckMs) return;
    this.checkedRoomAt = now;
    this.tight = !this.reserve.take();
    if (this.tight) this.report.failed(new Error('The disk of the journal has no room'));
  }

  private write(entries: readonly Appended[]): void {
    if (entries.length === 0) return;
    // After closing, the file descriptor may belong to another file.
    if (this.closed) throw new Error('The journal is closed');
    // After a failed write a new segment begins, so that the drain can remove the old one and thereby make room.
    const hasFailed = this.failing && this.position > 0;
    if (hasFailed || this.position >= this.settings.segmentBytes) this.rotate();
    const [lines, records] = this.linesOf(entries);
    const bytes = Buffer.from(lines);
    const { length } = bytes;
    try {
      for (let at = 0; at < length;) {
        at += writeSync(this.fd, bytes, at, length - at, this.position + at);
      }
    } catch (error) {
      // The drain must not read a part of a batch that failed.
      ftruncateSync(this.fd, this.position);
      this.failing = true;
      this.reserve.giveUp();
      throw error;
    }
    this.failing = false;
    this.records = records;
    this.position += length;
    this.report.written?.();
    this.resize(this.segment, this.position);
  }

  private resize(segment: number, bytes: number): void {
    this.bytes += bytes - (this.sizes.get(segment) ?? 0);
    this.sizes.set(segment, bytes);
  }

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
  private async syncWhileDirty(): Promise<void> {
    while (this.dirty) {
      if (this.settings.durability === 'process') await delay(syncWithinMs);
      const { awaitingSync, finished } = this;
      this.dirty = false;
      this.awaitingSync = [];
      this.finished = [];
      const synced = await Promise.all([...finished, this.fd].map((fd) => this.sync(fd)));
      this.unsynced = !synced.every(Boolean);
      // After the sync, because another file may get the descriptor at once.
      await Promise.all(finished.map((fd) => closeFile(fd)));
      for (const batch of awaitingSync) batch.resolve(!this.unsynced);
    }
    this.syncing = undefined;
  }

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
