import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.js';

/** Steps of the system's clock (an operator's, NTP's) neither end a call nor keep it alive. */
const steadyClock: Clock = { now: () => performance.now() };

/** A point in time by which a call must have ended; queue wait and process start count against it. */
export class Deadline {
  private constructor(
    private readonly at: number,
    /** The time that was granted at the beginning, in milliseconds. */
    readonly totalMs: number,
    private readonly clock: Clock,
  ) {}

  /** The smallest of the given limits, counted from now; absent limits do not count. */
  static ofSmallest(limitsMs: readonly (number | undefined)[], clock: Clock = steadyClock): Deadline {
    let totalMs = Infinity;
    for (const limit of limitsMs) if (limit !== undefined && limit < totalMs) totalMs = limit;
    return new Deadline(clock.now() + totalMs, totalMs, clock);
  }

  /** Whole milliseconds left, never negative; 0: it has passed. */
  remainingMs(): number {
    return Math.max(0, Math.ceil(this.at - this.clock.now()));
  }
}
