import { endsWithin } from '../../base/common/abortable.js';
import { Refusal } from '../../base/common/errors.js';
import { InFlight } from '../../base/common/lifecycle.js';
import type { Journal, JournalState } from '../journal/journal.js';
import { upToDate } from '../journal/journalled-table.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ResultBacklog, type ResultToRead } from './semantic/result-reader.js';
import type { PartHealth } from '../../base/observability/contributors.js';

export interface RecorderSettings {
  /** Bytes that the journal may take on the disk. */
  readonly maxBytes: number;
}

/** How the recorder keeps up. */
export interface RecorderState extends JournalState {
  /** No more can be promised: the journal is at its cap. */
  readonly full: boolean;
}

const retryAfterMs = 1_000;
const catchUpMs = 2_000;
/** How long closing waits for executions in flight, then for the database. */
const settleMs = 1_000;
const closeMs = 5_000;

/**
 * Promises each execution exactly one row: its start is in the journal before the tool gets it, its end before
 * the caller is answered. `begin` MUST be followed by exactly one `finish`, `discard` or `refuse`.
 */
export class ExecutionRecorder {
  private closed: Promise<void> | undefined;
  /** Executions between two rounds of their call, with the timer that ends each. */
  private readonly waiting = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly journal: Journal<ExecutionStart, ExecutionEnd>,
    private readonly settings: RecorderSettings,
    private readonly backlog = new ResultBacklog(),
    private readonly inFlight = new InFlight(),
  ) {}

  state(): RecorderState {
    return { ...this.journal.state, full: this.isFull() };
  }

  /** The same; where no record could be written just now it finds out whether one can be by now. */
  async stateNow(): Promise<RecorderState> {
    await this.journal.tryAgain();
    return this.state();
  }

  /** Resolves when the rows of an earlier gateway's journal are in the database. */
  get replayed(): Promise<void> {
    return this.journal.replayed;
  }

  /** @throws Refusal `recorder_full` if the record of one more call cannot be promised */
  assertRoom(): void {
    if (this.isFull()) throw this.full();
  }

  /** @returns whether the start is in the journal; else `refuse` MUST follow */
  begin(id: string, start: ExecutionStart): Promise<boolean> {
    this.inFlight.begin();
    return this.isFull() ? Promise.resolve(false) : this.journal.tryAppend({ id, start });
  }

  /** The start could not be written. @throws Refusal `recorder_full` */
  refuse(): never {
    this.inFlight.end();
    throw this.isFull() ? this.full() : unwritable();
  }

  /**
   * Resolves when the end is in the journal; where that cannot be written it waits in memory and is tried again.
   * @param result read by the drain before it writes the record
   */
  finish(id: string, end: ExecutionEnd, result?: ResultToRead): Promise<unknown> {
    const written = this.append(id, result && !this.isRead(result) ? unread(end) : end);
    // Closing the journal waited for it until here.
    this.inFlight.end();
    return written;
  }

  /** The caller is asked: the execution stays open, and ends as `end` says if it never goes on. */
  suspend(id: string, end: ExecutionEnd, withinMs: number): void {
    const late = (): void => {
      this.waiting.delete(id);
      this.append(id, end).catch(() => undefined);
    };
    this.waiting.set(id, setTimeout(late, withinMs).unref());
    this.inFlight.end();
  }

  waitsFor(id: string): boolean {
    return this.waiting.has(id);
  }

  /** Goes on with an execution whose start is here. @returns false if it is not */
  resume(id: string): boolean {
    clearTimeout(this.waiting.get(id));
    if (!this.waiting.delete(id)) return false;
    this.inFlight.begin();
    return true;
  }

  /** The call was refused after all: there is nothing to record. */
  discard(executionId: string): void {
    void this.journal.append({ id: executionId });
    this.inFlight.end();
  }

  /** @throws Error why what has been recorded until now is not in the database; it stays in the journal */
  flush(): Promise<void> {
    return this.journal.flush();
  }

  /**
   * Waits, before a read, until earlier calls are found; 2 s at most: records that cannot be written
   * now do not hide those that are there.
   */
  async catchUp(): Promise<void> {
    await endsWithin(catchUpMs, this.flush()).catch(() => undefined);
  }

  /** Waits a moment for executions in flight and for the database; what is left then stays in the journal. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    await this.inFlight.idle(settleMs);
    for (const [id, timer] of this.waiting) {
      clearTimeout(timer);
      void this.append(id, stoppedMeanwhile);
    }
    await this.journal.close(closeMs);
  }

  /** A tool's note may be no JSON: the row is worth more than the note. */
  private append(id: string, end: ExecutionEnd): Promise<boolean> {
    try {
      return this.journal.append({ id, end });
    } catch (error) {
      return this.journal.append({ id, end: { ...end, metadata: { unrecordable: String(error) } } });
    }
  }

  /** @returns false when results come faster than they are read */
  private isRead(result: ResultToRead): boolean {
    const { length } = result.text;
    if (!this.backlog.take(length)) return false;
    this.journal.tellDrain(result);
    return true;
  }

  private isFull(): boolean {
    return this.journal.bytes >= this.settings.maxBytes;
  }

  private full(): Refusal {
    const { depth, bytes } = this.state();
    return new Refusal(
      'recorder_full',
      `${depth} records wait for the database; their journal takes ${bytes} bytes, ` +
        `the cap is ${this.settings.maxBytes} (JOURNAL_MAX_BYTES)`,
      { retryAfterMs },
    );
  }
}

const stoppedMeanwhile: ExecutionEnd = {
  ...{ status: 'error', executionTimeMs: 0, errorType: 'interrupted' },
  errorMessage: 'The server stopped before the tool got an answer to its question',
};

/** An interceptor for routes that answer about executions. */
export const UpToDateInterceptor = upToDate(ExecutionRecorder);

const unwritable = (): Refusal =>
  new Refusal('recorder_full', 'The journal of executions cannot be written (JOURNAL_DIR)', { retryAfterMs });

const unread = (end: ExecutionEnd): ExecutionEnd => ({
  ...end,
  metadata: { ...end.metadata, resultUnread: true },
});

/** Time that a record may wait for the database before a warning, in milliseconds. */
const maxWaitMs = 30_000;
/** How long a failure counts that may be over, or hits what is synced later alone. */
const failureCountsMs = 30_000;

/** Reasons of a database that answers and stores nothing. */
const refusals: Readonly<Record<string, string>> = {
  '25006': 'it is read-only',
  '53100': 'its disk is full',
};

/** Grades the recorder: down while it takes no calls, degraded if records wait or were damaged. */
export function gradeRecorder(state: Omit<RecorderState, 'depth' | 'bytes'>, now = Date.now()): PartHealth {
  const { full, takesMore, oldestMs, damagedLines, lastWriteFailureAt, refusedBy } = state;
  const unable =
    (full && 'the journal is at its cap') || (!takesMore && 'the journal cannot be written (JOURNAL_DIR)');
  if (unable) return { status: 'down', message: `${unable}: calls are refused (recorder_full)` };
  const troubles = [
    now - lastWriteFailureAt < failureCountsMs && 'the journal could not be written a moment ago',
    refusedBy !== undefined &&
      `the database takes no records: ${refusals[refusedBy] ?? 'the log has the reason'} (SQLSTATE ${refusedBy})`,
    oldestMs > maxWaitMs && `records wait for the database for ${Math.round(oldestMs / 1_000)} s`,
    damagedLines > 0 && `${damagedLines} lines of the journal could not be read`,
  ].filter((trouble) => trouble !== false);
  return troubles.length > 0 ? { status: 'degraded', message: troubles.join('; ') } : { status: 'up' };
}
