import { performance } from 'node:perf_hooks';
import { close, fdatasync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DiskReserve, segmentPath, segmentsIn, type WrittenMark } from './segment-files.js';
import { encodeLine } from './journal-entry.js';

/** `process`: what was acknowledged survives the death of the gateway. `power`: that of the machine, too. */
export type Durability = 'process' | 'power';

export interface WriterSettings {
  readonly folder: string;
  /** A segment that has reached this many bytes is followed by another. */
  readonly segmentBytes: number;
  readonly durability: Durability;
  /** Kept for the drain in another thread. */
  readonly mark?: WrittenMark;
}

export interface WriterReport {
  /** A write or a sync failed; what must be kept is tried again. */
  failed(error: unknown): void;
  /** Called after each write: `markWritten` is due. */
  written?(): void;
  /** Called before a further segment is there: `markWritten` MUST come now, since a segment with a successor is read no further. */
  segmentEnds?(): void;
}

/** An entry as JSON, and whether a record is complete with it. */
export interface Appended {
  readonly json: string;
  readonly completes: boolean;
}

/** The entries that were appended since the last write; all of them share one answer. */
interface Batch extends PromiseWithResolvers<boolean> {
  /** Kept until written, also while the disk is full. */
  readonly kept: Appended[];
  /** Appended entries, rejected if the write fails. */
  readonly tried: Appended[];
}

const syncWithinMs = 50;
const retryMs = 100;
const lookForRoomMs = 1_000;
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/**
 * Appends entries to the newest segment, on whichever thread it is made: one synchronous write for all that one turn of
 * the event loop brings, which costs less than any asynchronous one and is in the system's hands before the answer.
 * Syncing to the disk follows in the background, or is waited for (`power`): back to back, never on a timer.
 */
export class JournalWriter {
  private segment: number;
  private fd: number;
  private position = 0;
  private batch: Batch | undefined;
  /** The entries of a failed write that must not be lost. */
  private leftover: Appended[] = [];
  /** Finished segments that are not synced yet. */
  private full: number[] = [];
  private syncing: Promise<void> | undefined;
  private dirty = false;
  /** The last sync failed: nothing was promised that outlives the machine. */
  private unsynced = false;
  private closed = false;
  private failing = false;
  /** The disk has no room but what was reserved. */
  private tight = false;
  private lookedForRoomAt = 0;
  private awaitingSync: Batch[] = [];
  /** Records that are complete in what was written. */
  private records = 0;
  /** The bytes of each segment that is not known to be gone, earlier writers' among them. */
  private readonly sizes = new Map<number, number>();
  /** On the disk: the sum of `sizes`. */
  bytes = 0;
  /** The last segment of earlier writers; 0: there is none. */
  readonly replayThrough: number;

  constructor(
    private readonly settings: WriterSettings,
    private readonly report: WriterReport,
    private readonly reserve: Pick<DiskReserve, 'take' | 'giveUp'> = new DiskReserve(settings.folder),
  ) {
    const { folder } = settings;
    for (const found of segmentsIn(folder)) {
      this.resize(found, statSync(segmentPath(folder, found)).size);
    }
    this.replayThrough = [...this.sizes.keys()].at(-1) ?? 0;
    [this.segment, this.fd] = this.openAfter(this.replayThrough);
    this.tight = !this.reserve.take();
    this.markWritten();
  }

  /** Lets the drain read what is written by now. */
  markWritten(): void {
    this.settings.mark?.set(this.segment - this.replayThrough, this.position);
  }

  /** Whether an entry would be accepted, according to the last write. */
  get takesMore(): boolean {
    return !this.closed && !this.tight && !(this.unsynced && this.settings.durability === 'power');
  }

  /** @returns whether the entry is written; it never will be if not */
  tryAppend(entry: Appended): Promise<boolean> {
    const batch = this.current();
    batch.tried.push(entry);
    return batch.promise;
  }

  /** The entry is written as soon as it can be. @returns false if that is not yet */
  append(entry: Appended): Promise<boolean> {
    const batch = this.current();
    batch.kept.push(entry);
    return batch.promise;
  }

  /**
   * Checks whether a full journal accepts entries again, by writing an empty one while all others are refused.
   */
  async tryAgain(): Promise<void> {
    if (!this.takesMore && !this.closed) await this.tryAppend({ json: '{"id":"-"}', completes: false });
  }

  /** @returns whether what was appended until now is written */
  flush(): Promise<boolean> {
    return this.current().promise;
  }

  /** A segment is gone from the disk. */
  removed(segment: number): void {
    this.resize(segment, 0);
    this.sizes.delete(segment);
  }

  /** Segments may be gone without a word; they would count for ever. */
  forgetRemoved(): void {
    const there = new Set(segmentsIn(this.settings.folder));
    for (const segment of this.sizes.keys()) if (!there.has(segment)) this.removed(segment);
  }

  /** Writes what is left, syncs and closes. @returns whether everything is written */
  async close(): Promise<boolean> {
    const written = await this.flush();
    if (this.closed) return false;
    this.giveUp();
    await this.syncing;
    await closeFile(this.fd);
    this.reserve.giveUp();
    return written;
  }

  /** Writes nothing more: the folder is another's. */
  giveUp(): void {
    this.closed = true;
  }

  private current(): Batch {
    if (this.batch) return this.batch;
    this.batch = { kept: this.leftover, tried: [], ...Promise.withResolvers<boolean>() };
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
      this.write(this.tight ? batch.kept : batch.kept.concat(batch.tried));
    } catch (error) {
      this.leftover = batch.kept;
      if (this.leftover.length > 0) setTimeout(() => this.closed || this.current(), retryMs).unref();
      this.report.failed(error);
      this.tight = true;
      batch.resolve(false);
      return;
    }
    if (this.tight && batch.tried.length > 0) batch.resolve(false);
    else if (this.settings.durability === 'process') batch.resolve(true);
    else this.awaitingSync.push(batch);
    this.dirty = true;
    this.syncing ??= this.syncWhileDirty();
  }

  /**
   * While the disk is full only what must be kept is written, into the room that was reserved for it: what was only
   * tried would fill that as well, and the drain could never remove a segment.
   */
  private makeRoom(): void {
    const now = performance.now();
    if (now - this.lookedForRoomAt < lookForRoomMs) return;
    this.lookedForRoomAt = now;
    this.tight = !this.reserve.take();
    if (this.tight) this.report.failed(new Error('The disk of the journal has no room'));
  }

  private write(entries: readonly Appended[]): void {
    if (entries.length === 0) return;
    // Its number may belong to another file by now.
    if (this.closed) throw new Error('The journal is closed');
    // A segment that could not be written is left to the drain: removing it may be all that makes room.
    const spoilt = this.failing && this.position > 0;
    if (spoilt || this.position >= this.settings.segmentBytes) this.rotate();
    const [lines, records] = this.linesOf(entries);
    const bytes = Buffer.from(lines);
    const { length } = bytes;
    try {
      for (let at = 0; at < length;) {
        at += writeSync(this.fd, bytes, at, length - at, this.position + at);
      }
    } catch (error) {
      // Half a batch must not be read as if it had been promised.
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
    this.full.push(this.fd);
    [this.segment, this.fd] = next;
    this.position = 0;
  }

  /** A name that something else has is left to it. */
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

  /** One at a time, until all that is written is synced. */
  private async syncWhileDirty(): Promise<void> {
    while (this.dirty) {
      if (this.settings.durability === 'process') await delay(syncWithinMs);
      const { awaitingSync, full } = this;
      [this.dirty, this.awaitingSync, this.full] = [false, [], []];
      const synced = await Promise.all([...full, this.fd].map((fd) => this.sync(fd)));
      this.unsynced = !synced.every(Boolean);
      // Not before: the number may be given to another file at once.
      await Promise.all(full.map((fd) => closeFile(fd)));
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
