import type { PoolMembers } from './pool-members.js';

/** Longer timers would fire at once. */
const longestTimerMs = 2_147_483_647;

/**
 * Ends running requests whose deadline passes. One timer for all of a pool, due at the earliest deadline it was told of:
 * nearly every request is answered long before, and a timer of its own is a good part of what a warm call costs.
 */
export class DeadlineWatch {
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Infinity;

  constructor(private readonly members: PoolMembers) {}

  /** A request runs that has so many milliseconds left. */
  watch(remainingMs: number): void {
    const dueAt = performance.now() + remainingMs;
    if (dueAt >= this.dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = setTimeout(() => this.look(), Math.min(remainingMs, longestTimerMs)).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private look(): void {
    this.dueAt = Infinity;
    for (const request of this.members.running()) {
      const remainingMs = request.remainingMs();
      if (remainingMs > 0) this.watch(remainingMs);
      else request.giveUp('timeout');
    }
  }
}
