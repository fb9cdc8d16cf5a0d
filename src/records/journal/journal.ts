import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { endsWithin } from '../../base/common/abortable.js';
import { acquireLock, type Release, takeOverMs } from '../../base/common/lock.js';
import { messageOf } from '../../base/common/message-of.js';
import type { RunningDrain, StartDrain } from './drain-thread.js';
import type { DrainNews, Settled } from './journal-drain.js';
import type { JournalEntry } from './journal-entry.js';
import { type Durability, JournalWriter } from './journal-writer.js';
import { WrittenMark } from './segment-files.js';

/** Folder, limits and drain of a journal. */
export interface JournalSettings {
  /** Folder for this journal only, on a volume that outlives the process. */
  readonly journalDir: string;
  /** Cap of the journal on the disk. Its owner enforces it; the journal keeps segments well below it. */
  readonly maxBytes: number;
  readonly durability: Durability;
  /** Max records of one insert. */
  readonly batchSize: number;
  /** Pause between two reads of the drain, in milliseconds. */
  readonly flushIntervalMs: number;
  readonly drain: StartDrain;
}

/** Events of a journal for its owner. `error` is the reason. */
export type JournalNews =
  | Exclude<DrainNews, { event: 'settled' | 'removed' }>
  /** `records` newly committed to the database. */
  | { readonly event: 'committed'; readonly records: number }
  | { readonly event: 'write_failed'; readonly error: string }
  /** The journal was closed with records that are not in the database. */
  | { readonly event: 'left'; readonly error: string };

/** Handles the events of a journal. */
export type JournalListener = (news: JournalNews) => void;

/** Fill level and failures of the journal. */
export interface JournalState {
  /** Complete records that are not in the database yet. */
  readonly depth: number;
  /** Max time for which the oldest of these records has waited, in milliseconds. */
  readonly oldestMs: number;
  /** Bytes on the disk. */
  readonly bytes: number;
  /** Whether an entry would be accepted, according to the last write. */
  readonly takesMore: boolean;
  /** Lines that could not be read since the start. */
  readonly damagedLines: number;
  /** Time of the last failed write, in milliseconds since the epoch; 0: none since the start. */
  readonly lastWriteFailureAt: number;
  /** SQLSTATE with which the database refused the waiting records. Absent: it refused none. */
  readonly refusedBy?: string | undefined;
}

/** Max size of a segment, in bytes. */
const maxSegmentBytes = 16_777_216;
/** Min number of segments within the cap, so that committed ones can be removed while others are written. */
const minSegments = 8;

/** Max delay until the drain may read a written record. A flush does not wait for it. */
const publishMs = 100;

/** Timeout for the folder's lock: long enough to detect that its owner in another container is dead. */
const lockTimeoutMs = takeOverMs + 2_000;

/**
 * A write-ahead journal. An entry is in a file before `append` resolves, and gets into the owner's database even after a
 * crash. Each journal has its own folder, cap and drain, and may be opened on any thread.
 */
export class Journal<Start extends object, End extends object> {
  /** Resolves when all records of earlier processes are in the database. */
  readonly replayed: Promise<void>;
  private readonly writer: JournalWriter;
  private readonly drain: RunningDrain;
  /** Resolves `replayed`. */
  private onReplayed: () => void = () => undefined;
  /** Number of complete records that were written, or must be. */
  private completed = 0;
  /** Number of these records that are in the database. */
  private settled = 0;
  /** Time at which the oldest uncommitted record was completed, or an earlier time. */
  private waitingSince = 0;
  /** Messages for the sink that are not sent yet. */
  private messages: unknown[] = [];
  private publishing: NodeJS.Timeout | undefined;
  private damagedLines = 0;
  private lastWriteFailureAt = 0;
  private refusedBy: string | undefined;

  /** Opens the journal of a folder. @throws LockHeld while another one has the folder */
  static async open<Start extends object, End extends object>(
    settings: JournalSettings,
    listener: JournalListener,
  ): Promise<Journal<Start, End>> {
    mkdirSync(settings.journalDir, { recursive: true, mode: 0o700 });
    let onLost: (error: Error) => void = () => undefined;
    const lock = join(settings.journalDir, 'owner.lock');
    const release = await acquireLock(lock, lockTimeoutMs, (error) => onLost(error));
    try {
      const journal = new Journal<Start, End>(settings, listener, release);
      onLost = (error) => journal.giveUp(error);
      return journal;
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** @param release releases the folder's lock. Use `open` instead of this constructor. */
  protected constructor(
    settings: JournalSettings,
    private readonly emit: JournalListener,
    private readonly release: Release,
  ) {
    const { journalDir: folder, maxBytes, durability, batchSize, flushIntervalMs: intervalMs } = settings;
    const segmentBytes = Math.max(1, Math.min(maxSegmentBytes, Math.floor(maxBytes / minSegments)));
    const mark = new WrittenMark();
    this.writer = new JournalWriter(
      { folder, segmentBytes, durability, mark },
      {
        failed: (error) => this.onWriteFailure(error),
        written: this.publishSoon,
        segmentEnds: () => this.publish(),
      },
    );
    const { replayThrough } = this.writer;
    this.replayed =
      replayThrough === 0 ? Promise.resolve() : new Promise((resolve) => (this.onReplayed = resolve));
    this.drain = settings.drain(
      { folder, batchSize, replayThrough, written: mark.memory, intervalMs },
      (news) => this.onDrainNews(news),
    );
  }

  /** The state as of now. */
  get state(): JournalState {
    const { damagedLines, lastWriteFailureAt, refusedBy } = this;
    const depth = this.completed - this.settled;
    const oldestMs = depth > 0 ? Math.max(0, Date.now() - this.waitingSince) : 0;
    const { bytes, takesMore } = this.writer;
    return { depth, oldestMs, bytes, takesMore, damagedLines, lastWriteFailureAt, refusedBy };
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.writer.bytes;
  }

  /** Checks whether a full journal accepts entries again. */
  tryAgain(): Promise<void> {
    return this.writer.tryAgain();
  }

  /** Appends an entry unless the journal is full. @returns false if it never will be written @throws TypeError for no JSON */
  tryAppend(entry: JournalEntry<Start, End>): Promise<boolean> {
    const completes = entry.end !== undefined;
    const appending = this.writer.append({ json: JSON.stringify(entry), completes }, 'optional');
    if (completes)
      void appending.then((isWritten) => {
        if (isWritten) this.countCompleted();
      });
    return appending;
  }

  /** Appends an entry that must not be lost. @returns false if it will be written later @throws TypeError if it is no JSON */
  append(entry: JournalEntry<Start, End>): Promise<boolean> {
    const completes = entry.end !== undefined;
    const json = JSON.stringify(entry);
    if (completes) this.countCompleted();
    return this.writer.append({ json, completes });
  }

  /** Sends the sink a message that is no record, before later records. The message is lost if the drain dies. */
  sendToDrain(message: unknown): void {
    this.messages.push(message);
  }

  /** Waits until all entries so far are in the database. @throws Error with the reason if they cannot be */
  async flush(): Promise<void> {
    await this.writer.flush();
    this.publish();
    await this.drain.call('flush');
  }

  /** Closes the journal after it has drained as much as possible within a time. Emits `left` if records remain. */
  async close(withinMs: number): Promise<void> {
    try {
      const isWritten = await this.writer.close();
      this.publish();
      if (!isWritten) throw new Error('The journal cannot be written');
      if (!(await endsWithin(withinMs, this.drain.call('finish'))))
        throw new Error(`The database took no records within ${withinMs} ms`);
    } catch (error) {
      this.emit({ event: 'left', error: messageOf(error) });
    } finally {
      await this.drain.stop();
      await this.release();
    }
  }

  private readonly publishSoon = (): void => {
    this.publishing ??= setTimeout(() => this.publish(), publishMs).unref();
  };

  /** Passes messages and written records to the drain. They are collected, because each wake-up costs both threads time. */
  private publish(): void {
    clearTimeout(this.publishing);
    this.publishing = undefined;
    if (this.messages.length > 0) this.drain.tell(this.messages);
    this.messages = [];
    this.writer.markWritten();
  }

  /** Stops writing after another process took over the folder, because it had taken this one for dead. */
  private giveUp(error: Error): void {
    this.writer.giveUp();
    void this.drain.stop();
    this.onWriteFailure(error);
  }

  private countCompleted(): void {
    if (this.completed === this.settled) this.waitingSince = Date.now();
    this.completed += 1;
  }

  /** Handles a message of the drain, and passes it to the owner unless it concerns only the journal. */
  private onDrainNews(news: DrainNews): void {
    this.refusedBy = news.event === 'retrying' ? news.state : undefined;
    if (news.event === 'settled') return this.onSettled(news);
    if (news.event === 'removed') return this.writer.onRemoved(news.segment);
    if (news.event === 'damaged') this.damagedLines += news.lines;
    if (news.event === 'replayed') this.onReplayed();
    if (news.event === 'drain_ended') this.writer.forgetRemoved();
    this.emit(news);
  }

  /** Counts records that are in the database. */
  private onSettled({ place, at }: Settled): void {
    // A restarted drain reports again what its predecessor committed.
    if (place <= this.settled) return;
    this.emit({ event: 'committed', records: place - this.settled });
    this.settled = place;
    this.waitingSince = at;
  }

  private onWriteFailure(error: unknown): void {
    this.lastWriteFailureAt = Date.now();
    this.emit({ event: 'write_failed', error: messageOf(error) });
  }
}
