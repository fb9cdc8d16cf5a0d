import { backOff } from '../../base/common/back-off.js';

/** Back-off between starts. */
const pauses = { firstMs: 100, maxMs: 60_000 };
/** Lifetime after which the death of a process does not count as a failed start. */
const sustainedMs = 10_000;

/** Decides when a pool may start its next process. A pure state machine; all times are milliseconds of one clock. */
export class RestartPolicy {
  /** Failed starts in a row. */
  failedStarts = 0;
  /** Whether too many starts failed in a row, so that requests should not wait for the next one. */
  failed = false;
  /** Error of the last failed start. */
  error = '';
  /** Failed starts, and processes that died unused, since the last answer. */
  strikes = 0;
  /** End of the back-off. */
  private nextAt = 0;
  private lastFailureAt = -1;

  constructor(private readonly maxFailedStarts: number) {}

  /** Allows starts for waiting requests. After a failed start, only one at a time and after the back-off. */
  mayStart(now: number, starting: number): boolean {
    return this.failedStarts === 0 || (starting === 0 && now >= this.nextAt);
  }

  /** Allows starts in advance, which also back off after processes that died unused. */
  mayStartAhead(now: number, starting: number): boolean {
    return now >= this.nextAt && this.mayStart(now, starting);
  }

  /** Time until the next start is allowed; 0 if it is allowed now. */
  delayMs(now: number): number {
    return Math.max(0, this.nextAt - now);
  }

  /** Records a failed start. @returns false if it began before the last failure: parallel starts count as one failure */
  startFailed(now: number, begunAt: number, error: string): boolean {
    this.error = error;
    if (begunAt <= this.lastFailureAt) return false;
    this.failedStarts++;
    this.failed = this.failedStarts >= this.maxFailedStarts;
    this.lastFailureAt = now;
    this.backOff(now);
    return true;
  }

  /** Records a successful start. */
  started(): void {
    this.failedStarts = 0;
    this.failed = false;
  }

  /** Records that a ready process exited before serving a request. */
  diedUnused(now: number, livedMs: number): void {
    if (livedMs >= sustainedMs) this.strikes = 0;
    this.backOff(now);
  }

  /** Records a successful answer, which ends the back-off unless starts are failing. */
  answered(): void {
    if (this.failedStarts > 0) return;
    this.strikes = 0;
    this.nextAt = 0;
  }

  private backOff(now: number): void {
    this.nextAt = now + backOff(++this.strikes, pauses);
  }
}
