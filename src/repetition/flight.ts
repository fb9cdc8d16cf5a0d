import type { CancelSignal } from '../common/cancel-signal.js';
import type { Deadline } from '../common/deadline.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

export type FlightEnd =
  /** It succeeded. */
  | { readonly kind: 'landed'; readonly outcome: ToolOutcome }
  /** The one before failed, or was refused: the one who waits runs now, for all who wait. */
  | { readonly kind: 'turn' }
  /** The one who waits has no more time. */
  | { readonly kind: 'late' }
  /** The one who waits has gone. */
  | { readonly kind: 'left' };

/** One execution that several callers wait for, then another if it fails: one at a time, cancelled when nobody waits any more. */
export class Flight {
  private readonly waiting = new Set<(end: FlightEnd) => void>();
  private cancel = new AbortController();
  private leaderStays = false;
  /** Of the one that runs. */
  executionId = '';

  /** @param run goes on when the leader has left, as long as anybody waits */
  async lead<T>(
    executionId: string,
    leader: CancelSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    this.cancel = new AbortController();
    this.executionId = executionId;
    this.leaderStays = true;
    const onLeft = (): void => {
      this.leaderStays = false;
      this.cancelIfAlone();
    };
    if (leader?.aborted) onLeft();
    else leader?.addEventListener('abort', onLeft, { once: true });
    try {
      return await run(this.cancel.signal);
    } finally {
      leader?.removeEventListener('abort', onLeft);
    }
  }

  land(outcome: ToolOutcome): void {
    for (const tell of this.waiting) tell({ kind: 'landed', outcome });
  }

  /** It is the turn of whoever has waited longest. @returns false when nobody waits */
  handOver(): boolean {
    for (const tell of this.waiting) {
      tell({ kind: 'turn' });
      return true;
    }
    return false;
  }

  wait(deadline: Deadline, signal: CancelSignal | undefined): Promise<FlightEnd> {
    return new Promise((resolve) => {
      const tell = (end: FlightEnd): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onLeft);
        this.waiting.delete(tell);
        resolve(end);
      };
      const giveUp = (kind: 'late' | 'left'): void => {
        tell({ kind });
        this.cancelIfAlone();
      };
      const onLeft = (): void => giveUp('left');
      const timer = setTimeout(() => giveUp('late'), deadline.remainingMs());
      signal?.addEventListener('abort', onLeft, { once: true });
      this.waiting.add(tell);
      if (signal?.aborted) onLeft();
    });
  }

  private cancelIfAlone(): void {
    if (!this.leaderStays && this.waiting.size === 0) this.cancel.abort();
  }
}
