import { Refusal } from '../common/errors.js';
import { InFlight } from '../common/in-flight.js';
import { encodeEntry, type ExecutionEnd, type ExecutionStart } from './journal/journal-entry.js';
import type { Settled } from './journal/journal-drain.js';

/** Where the entries of executions go; see OpenJournal. */
export interface Journal {
  /** On the disk. */
  readonly bytes: number;
  readonly settled: Settled;
  readonly replayed: Promise<void>;
  onSettled(listener: (settled: Settled) => void): void;
  tryAppend(entry: string): Promise<boolean>;
  append(entry: string): Promise<boolean>;
  flush(): Promise<void>;
  close(withinMs: number): Promise<void>;
}

export interface RecorderSettings {
  /** Bytes that the journal may take on the disk. */
  readonly maxBytes: number;
  /** At that cap, or when the journal cannot be written: calls are refused, or run without a record. */
  readonly whenFull: 'refuse' | 'drop';
  /** How long closing waits for executions in flight, in milliseconds; default 1 s. */
  readonly settleMs?: number;
  /** How long closing waits for the database, in milliseconds; default 5 s. */
  readonly closeMs?: number;
}

/** How the recorder keeps up. */
export interface RecorderState {
  /** Ended executions whose rows are not in the database yet. */
  readonly depth: number;
  /** How long the oldest of them waits at most, in milliseconds. */
  readonly oldestMs: number;
  /** On the disk. */
  readonly bytes: number;
  /** Rows committed since the start. */
  readonly recorded: number;
  /** Executions that ran without a record since the start. */
  readonly dropped: number;
  /** No more can be promised: the journal is at its cap. */
  readonly full: boolean;
}

const retryAfterMs = 1_000;

/**
 * Promises each execution exactly one row: its start is in the journal before the tool hears of it, its end before
 * the caller is answered. `begin` MUST be followed by exactly one `finish` or `discard`, unless it said that there
 * is no record.
 */
export class ExecutionRecorder {
  private readonly inFlight = new InFlight();
  private ends = 0;
  private dropped = 0;
  /** When the oldest execution that is not committed ended, or earlier. */
  private waitingSince = 0;
  private closed: Promise<void> | undefined;

  constructor(
    private readonly journal: Journal,
    private readonly settings: RecorderSettings,
  ) {
    journal.onSettled(({ endedAt }) => (this.waitingSince = endedAt));
  }

  state(): RecorderState {
    const { settled, bytes } = this.journal;
    const depth = this.ends - settled.place;
    const oldestMs = depth > 0 ? Math.max(0, Date.now() - this.waitingSince) : 0;
    return { depth, oldestMs, bytes, recorded: settled.place, dropped: this.dropped, full: this.isFull() };
  }

  /** Resolves when the rows of an earlier gateway's journal are in the database. */
  get replayed(): Promise<void> {
    return this.journal.replayed;
  }

  /** @throws Refusal `recorder_full` when the record of one more call cannot be promised */
  assertRoom(): void {
    if (this.settings.whenFull === 'refuse' && this.isFull()) throw this.full();
  }

  /**
   * @returns whether there will be a record; without one nothing must follow
   * @throws Refusal `recorder_full`
   */
  async begin(start: ExecutionStart): Promise<boolean> {
    if (this.isFull()) return this.withoutRecord(() => this.full());
    this.inFlight.begin();
    if (await this.journal.tryAppend(encodeEntry({ start }))) return true;
    this.inFlight.end();
    return this.withoutRecord(
      () =>
        new Refusal('recorder_full', 'The journal of executions cannot be written (JOURNAL_DIR)', {
          retryAfterMs,
        }),
    );
  }

  /** Resolves when the end is in the journal; where that cannot be written it is kept and tried again. */
  finish(end: Omit<ExecutionEnd, 'place'>): Promise<unknown> {
    if (this.ends === this.journal.settled.place) this.waitingSince = end.endedAt;
    this.ends += 1;
    const written = this.journal.append(encodeEnd({ ...end, place: this.ends }));
    // From here on closing the journal waits for it.
    this.inFlight.end();
    return written;
  }

  /** The call was refused after all: there is nothing to record. */
  discard(executionId: string): void {
    void this.journal.append(encodeEntry({ discard: executionId }));
    this.inFlight.end();
  }

  /** @throws Error why what has been recorded until now is not in the database; it stays in the journal */
  flush(): Promise<void> {
    return this.journal.flush();
  }

  /** Waits a moment for executions in flight and for the database; what is left then stays in the journal. */
  close(): Promise<void> {
    this.closed ??= this.closeNow();
    return this.closed;
  }

  private async closeNow(): Promise<void> {
    const { settleMs = 1_000, closeMs = 5_000 } = this.settings;
    await this.inFlight.idle(settleMs);
    await this.journal.close(closeMs);
  }

  private isFull(): boolean {
    return this.journal.bytes >= this.settings.maxBytes;
  }

  private withoutRecord(refusal: () => Refusal): false {
    if (this.settings.whenFull === 'refuse') throw refusal();
    this.dropped += 1;
    return false;
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

/** What a tool noted may be no JSON: its row is worth more than the note. */
function encodeEnd(end: ExecutionEnd): string {
  try {
    return encodeEntry({ end });
  } catch (error) {
    return encodeEntry({ end: { ...end, metadata: { unrecordable: String(error) } } });
  }
}
