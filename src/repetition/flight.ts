import type { CancelSignal } from '../common/cancel-signal.js';
import type { Deadline } from '../common/deadline.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';

export type FlightEnd =
  /** Without an outcome: it was refused, or failed on our side. */
  | { readonly kind: 'landed'; readonly outcome: ToolOutcome | undefined }
  /** The one who waits has no more time. */
  | { readonly kind: 'late' }
  /** The one who waits has gone. */
  | { readonly kind: 'left' };

/** One execution that several callers wait for. It is cancelled when the last of them has left. */
export class Flight {
  private readonly cancel = new AbortController();
  private readonly landing = Promise.withResolvers<FlightEnd>();
  private aboard = 1;

  constructor(
    readonly executionId: string,
    leader: CancelSignal | undefined,
  ) {
    if (leader?.aborted) this.leave();
    else leader?.addEventListener('abort', () => this.leave(), { once: true });
  }

  /** Aborts when nobody waits any more. */
  get signal(): AbortSignal {
    return this.cancel.signal;
  }

  land(outcome: ToolOutcome | undefined): void {
    this.landing.resolve({ kind: 'landed', outcome });
  }

  async wait(deadline: Deadline, signal: CancelSignal | undefined): Promise<FlightEnd> {
    this.aboard += 1;
    const over = Promise.withResolvers<FlightEnd>();
    const onLeft = (): void => over.resolve({ kind: 'left' });
    const timer = setTimeout(() => over.resolve({ kind: 'late' }), deadline.remainingMs());
    signal?.addEventListener('abort', onLeft, { once: true });
    if (signal?.aborted) onLeft();
    try {
      return await Promise.race([this.landing.promise, over.promise]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onLeft);
      this.leave();
    }
  }

  private leave(): void {
    this.aboard -= 1;
    if (this.aboard === 0) this.cancel.abort();
  }
}
