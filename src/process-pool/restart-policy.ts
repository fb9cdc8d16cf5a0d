import { backOff } from '../common/back-off.js';

const pauses = { firstMs: 100, longestMs: 60_000 };
/** A process that lived this long and then died was no failed start. */
const sustainedMs = 10_000;

/** When a pool may start its next process. A pure state machine; all times in milliseconds of one clock. */
export class RestartPolicy {
  private failures = 0;
  private strikes = 0;
  private nextAt = 0;
  private lastFailureAt = -1;
  private lastError = '';

  constructor(private readonly maxFailedStarts: number) {}

  /** Failed starts in a row. */
  get failedStarts(): number {
    return this.failures;
  }

  /** Whether too many starts failed in a row: requests should not wait for another one. */
  get failed(): boolean {
    return this.failures >= this.maxFailedStarts;
  }

  get error(): string {
    return this.lastError;
  }

  /** A start for a waiting request is free unless the last one failed: then back-off and one at a time hold. */
  mayStart(now: number, starting: number): boolean {
    return this.failures === 0 || (starting === 0 && now >= this.nextAt);
  }

  /** A start that nobody waits for also backs off after processes that died unused. */
  mayStartAhead(now: number, starting: number): boolean {
    return now >= this.nextAt && this.mayStart(now, starting);
  }

  /** Until the next start, when one is held back. */
  delayMs(now: number): number {
    return Math.max(0, this.nextAt - now);
  }

  /** @returns false when it began before the last failure was known: starts side by side fail only once */
  startFailed(now: number, begunAt: number, error: string): boolean {
    this.lastError = error;
    if (begunAt <= this.lastFailureAt) return false;
    this.failures++;
    this.lastFailureAt = now;
    this.backOff(now);
    return true;
  }

  started(): void {
    this.failures = 0;
  }

  /** A ready process ended of itself before it had served anybody. */
  diedUnused(now: number, livedMs: number): void {
    if (livedMs >= sustainedMs) this.strikes = 0;
    this.backOff(now);
  }

  /** A process did what it is for. */
  answered(): void {
    if (this.strikes === 0 || this.failures > 0) return;
    this.strikes = 0;
    this.nextAt = 0;
  }

  private backOff(now: number): void {
    this.nextAt = now + backOff(++this.strikes, pauses);
  }
}
