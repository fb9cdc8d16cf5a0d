import { endsWithin } from '../../base/common/abortable.js';
import { Refusal } from '../../base/common/errors.js';
import { InFlight } from '../../base/common/lifecycle.js';
import type { Journal, JournalState } from '../journal/journal.js';
import { upToDate } from '../journal/up-to-date.interceptor.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ResultBacklog, type ResultToRead } from './semantic/result-reader.js';
import type { PartHealth } from '../../base/observability/contributors.js';

/** Limits of the recorder. */
export interface RecorderSettings {
  /** Max bytes of the journal on the disk. */
  readonly maxBytes: number;
}

/** State of the recorder and its journal. */
export interface RecorderState extends JournalState {
  /** Whether the journal is at its cap, so that no call is accepted. */
  readonly full: boolean;
}

/** When the caller of a refused call should try again. */
const retryAfterMs = 1_000;
/** Max time for which a read waits for earlier calls. */
const catchUpMs = 2_000;
/** Max time for which a shutdown waits for running executions. */
const settleMs = 1_000;
/** Max time for which a shutdown then waits for the database. */
const closeMs = 5_000;

/**
 * Guarantees exactly one row for each execution. Its start is in the journal before the tool gets the call, its end before the
 * caller gets the answer. A `begin` that succeeds MUST be followed by exactly one `finish` or `discard`.
 */
export class ExecutionRecorder {
  private closed: Promise<void> | undefined;
  /** Executions whose callers are being asked, with the timer that ends each. */
  private readonly suspended = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly journal: Journal<ExecutionStart, ExecutionEnd>,
    private readonly settings: RecorderSettings,
    private readonly backlog = new ResultBacklog(),
    private readonly inFlight = new InFlight(),
  ) {}

  state(): RecorderState {
    return { ...this.journal.state, full: this.isFull() };
  }

  /** The state, after a check whether a journal that could not be written accepts records again. */
  async stateNow(): Promise<RecorderState> {
    await this.journal.tryAgain();
    return this.state();
  }

  /** Resolves when the records of an earlier process are in the database. */
  get replayed(): Promise<void> {
    return this.journal.replayed;
  }

  /** Records a start. Resolves when it is in the journal. @throws Refusal `recorder_full` if the journal cannot take it */
  async begin(id: string, start: ExecutionStart): Promise<void> {
    if (this.isFull()) throw this.fullRefusal();
    this.inFlight.begin();
    if (await this.journal.tryAppend({ id, start })) return;
    this.inFlight.end();
    throw this.isFull() ? this.fullRefusal() : unwritableRefusal();
  }

  /** Records an end. Resolves when it is in the journal, or waits in memory. @param result searched for errors by the drain */
  finish(id: string, end: ExecutionEnd, result?: ResultToRead): Promise<unknown> {
    const isQueued = result !== undefined && this.backlog.reserve(result.text.length);
    if (isQueued) this.journal.sendToDrain(result);
    // Without room, the result is not searched.
    const written = this.append(id, isQueued || !result ? end : withUnreadResult(end));
    // `close` may close the journal from now on.
    this.inFlight.end();
    return written;
  }

  /** Keeps an execution open while its caller is asked. It ends with `end` if it is not resumed in time. */
  suspend(id: string, end: ExecutionEnd, withinMs: number): void {
    const onTimeout = (): void => {
      this.suspended.delete(id);
      this.append(id, end).catch(() => undefined);
    };
    this.suspended.set(id, setTimeout(onTimeout, withinMs).unref());
    this.inFlight.end();
  }

  /** Whether an execution is suspended here. */
  isSuspended(id: string): boolean {
    return this.suspended.has(id);
  }

  /** Resumes a suspended execution. @returns false if it is not suspended here */
  resume(id: string): boolean {
    clearTimeout(this.suspended.get(id));
    if (!this.suspended.delete(id)) return false;
    this.inFlight.begin();
    return true;
  }

  /** Removes the start of a call that was refused later. */
  discard(executionId: string): void {
    void this.journal.append({ id: executionId });
    this.inFlight.end();
  }

  /** Waits until all records so far are in the database. @throws Error with the reason if not; they stay in the journal */
  flush(): Promise<void> {
    return this.journal.flush();
  }

  /** Waits until earlier calls are stored, at most `catchUpMs`: records that cannot be stored now must not hide the others. */
  async catchUp(): Promise<void> {
    await endsWithin(catchUpMs, this.flush()).catch(() => undefined);
  }

  /** Waits a moment for running executions and for the database. Other records stay in the journal. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    await this.inFlight.idle(settleMs);
    for (const [id, timer] of this.suspended) {
      clearTimeout(timer);
      void this.append(id, endAtShutdown);
    }
    await this.journal.close(closeMs);
  }

  /** Appends an end. Metadata of a tool that is no JSON is replaced, so that the record is not lost. */
  private append(id: string, end: ExecutionEnd): Promise<boolean> {
    try {
      return this.journal.append({ id, end });
    } catch (error) {
      return this.journal.append({ id, end: { ...end, metadata: { unrecordable: String(error) } } });
    }
  }

  private isFull(): boolean {
    return this.journal.bytes >= this.settings.maxBytes;
  }

  private fullRefusal(): Refusal {
    const { depth, bytes } = this.state();
    return new Refusal(
      'recorder_full',
      `${depth} records wait for the database; their journal takes ${bytes} bytes, ` +
        `the cap is ${this.settings.maxBytes} (JOURNAL_MAX_BYTES)`,
      { retryAfterMs },
    );
  }
}

/** The end of a suspended execution at shutdown. */
const endAtShutdown: ExecutionEnd = {
  status: 'error',
  executionTimeMs: 0,
  errorType: 'interrupted',
  errorMessage: 'The server stopped before the tool got an answer to its question',
};

/** An interceptor for routes that read executions: they find all calls that ended before the request. */
export const UpToDateInterceptor = upToDate(ExecutionRecorder);

const unwritableRefusal = (): Refusal =>
  new Refusal('recorder_full', 'The journal of executions cannot be written (JOURNAL_DIR)', { retryAfterMs });

/** An end whose result was not searched for errors. */
const withUnreadResult = (end: ExecutionEnd): ExecutionEnd => ({
  ...end,
  metadata: { ...end.metadata, resultUnread: true },
});

/** Time after which a record that waits for the database degrades the health. */
const maxWaitMs = 30_000;
/** Time for which a failed write of the journal degrades the health. */
const writeFailureMs = 30_000;

/** Reasons why a database answers but stores nothing, by SQLSTATE. */
const databaseReasons: Readonly<Record<string, string>> = {
  '25006': 'it is read-only',
  '53100': 'its disk is full',
};

/** The recorder's health: down while calls are refused, degraded if records wait or were damaged. */
export function healthOfRecorder(
  state: Omit<RecorderState, 'depth' | 'bytes'>,
  now = Date.now(),
): PartHealth {
  const { full, takesMore, oldestMs, damagedLines, lastWriteFailureAt, refusedBy } = state;
  const down = (reason: string): PartHealth => ({
    status: 'down',
    message: `${reason}: calls are refused (recorder_full)`,
  });
  if (full) return down('the journal is at its cap');
  if (!takesMore) return down('the journal cannot be written (JOURNAL_DIR)');
  const troubles = [
    now - lastWriteFailureAt < writeFailureMs && 'the journal could not be written a moment ago',
    refusedBy !== undefined &&
      `the database takes no records: ${databaseReasons[refusedBy] ?? 'the log has the reason'} (SQLSTATE ${refusedBy})`,
    oldestMs > maxWaitMs && `records wait for the database for ${Math.round(oldestMs / 1_000)} s`,
    damagedLines > 0 && `${damagedLines} lines of the journal could not be read`,
  ].filter((trouble) => trouble !== false);
  return troubles.length > 0 ? { status: 'degraded', message: troubles.join('; ') } : { status: 'up' };
}
