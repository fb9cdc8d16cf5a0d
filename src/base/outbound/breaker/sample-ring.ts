/** Number of calls in a window, and of faults among them. */
export interface WindowCounts {
  readonly calls: number;
  readonly faults: number;
}

/**
 * Counts calls and faults of the last `windowMs` in a ring of counters, at constant cost and without allocations. The window
 * is never longer than `windowMs` and up to one slice shorter.
 */
export class SampleRing {
  private readonly calls: Float64Array;
  private readonly faults: Float64Array;
  private readonly total = { calls: 0, faults: 0 };
  private readonly sliceMs: number;
  /** Number of the newest slice, counted since 1970. */
  private newest = -Infinity;

  constructor(
    readonly windowMs: number,
    /** Number of slices. */
    private readonly size = 60,
  ) {
    this.sliceMs = windowMs / size;
    this.calls = new Float64Array(size);
    this.faults = new Float64Array(size);
  }

  /** Counts a call, unless it is older than the window. @param at milliseconds since the epoch */
  add(at: number, fault: boolean): void {
    this.count(at, 1, fault ? 1 : 0);
  }

  /** Counts of the window that ends now. The same object each time: copy it to keep it. */
  totals(now: number): WindowCounts {
    this.advance(this.sliceOf(now));
    return this.total;
  }

  clear(): void {
    this.calls.fill(0);
    this.faults.fill(0);
    this.total.calls = 0;
    this.total.faults = 0;
  }

  /** A ring for another window with the counts of this one. A slice's samples count at its beginning. */
  resized(windowMs: number): SampleRing {
    const ring = new SampleRing(windowMs, this.size);
    for (let slice = Math.max(0, this.newest - this.size + 1); slice <= this.newest; slice++) {
      const calls = this.calls[slice % this.size] ?? 0;
      if (calls > 0) ring.count(slice * this.sliceMs, calls, this.faults[slice % this.size] ?? 0);
    }
    return ring;
  }

  private count(at: number, calls: number, faults: number): void {
    const slice = this.sliceOf(at);
    this.advance(slice);
    if (slice <= this.newest - this.size) return;
    const index = slice % this.size;
    this.calls[index] = (this.calls[index] ?? 0) + calls;
    this.faults[index] = (this.faults[index] ?? 0) + faults;
    this.total.calls += calls;
    this.total.faults += faults;
  }

  private sliceOf(at: number): number {
    return Math.floor(at / this.sliceMs);
  }

  /** Clears slices that have left the window, at most `size`. A clock that goes back has no effect. */
  private advance(slice: number): void {
    if (slice <= this.newest) return;
    for (let next = Math.max(0, this.newest + 1, slice - this.size + 1); next <= slice; next++) {
      const index = next % this.size;
      this.total.calls -= this.calls[index] ?? 0;
      this.total.faults -= this.faults[index] ?? 0;
      this.calls[index] = 0;
      this.faults[index] = 0;
    }
    this.newest = slice;
  }
}
