import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.js';

/** A point in time by which a call must have ended; queue wait and process start count against it. */
export class Deadline {
  /** Time left while the deadline is paused; undefined while it runs. */
  private pausedMs: number | undefined;

  private constructor(
    /** The point in time, by the clock. */
    private at: number,
    /** Total time of the call, in milliseconds. */
    readonly totalMs: number,
    private readonly clock: Clock,
  ) {}

  /**
   * The smallest of the given limits, counted from now; absent limits do not count.
   * @param clock monotonic by default, so that changes of the system's clock do not affect calls
   */
  static ofSmallest(limitsMs: readonly (number | undefined)[], clock: Clock = performance): Deadline {
    let totalMs = Infinity;
    for (const limit of limitsMs) if (limit !== undefined && limit < totalMs) totalMs = limit;
    return new Deadline(clock.now() + totalMs, totalMs, clock);
  }

  /** Whole milliseconds left, never negative; 0: it has passed. */
  remainingMs(): number {
    if (this.pausedMs !== undefined) return this.pausedMs;
    return Math.max(0, Math.ceil(this.at - this.clock.now()));
  }

  get isPaused(): boolean {
    return this.pausedMs !== undefined;
  }

  /** Pauses the deadline while a person is asked. */
  pause(): void {
    this.pausedMs = this.remainingMs();
  }

  /** Continues after a pause. @param leftMs new time left; less than before if a person took too long */
  resume(leftMs = this.remainingMs()): void {
    this.at = this.clock.now() + leftMs;
    this.pausedMs = undefined;
  }
}
