import type { Clock } from './clock.js';
import { systemClock } from './clock.js';

/** A point in time by which a call must have ended; queue wait and process start count against it. */
export class Deadline {
  private constructor(
    /** Milliseconds since 1970. */
    readonly at: number,
    /** What was granted at the beginning, in milliseconds. */
    readonly totalMs: number,
    private readonly clock: Clock,
  ) {}

  /** The smallest of the given limits, counted from now; absent limits do not count. */
  static ofSmallest(limitsMs: readonly (number | undefined)[], clock: Clock = systemClock): Deadline {
    let totalMs = Infinity;
    for (const limit of limitsMs) if (limit !== undefined && limit < totalMs) totalMs = limit;
    return new Deadline(clock.now() + totalMs, totalMs, clock);
  }

  /** Milliseconds left, never negative. */
  remainingMs(): number {
    return Math.max(0, this.at - this.clock.now());
  }
}
