/** One slice of the window. */
interface Bucket {
  calls: number;
  faults: number;
}

/**
 * Counts calls and faults of the last `windowMs` in a fixed number of buckets: adding and reading cost the same
 * however many calls there were. The window is exact to one bucket: it is never longer than `windowMs` and up to one
 * bucket shorter.
 */
export class SampleRing {
  private readonly buckets = new Map<number, Bucket>();
  private readonly total: Bucket = { calls: 0, faults: 0 };
  private readonly bucketMs: number;
  private newest = -Infinity;

  constructor(
    windowMs: number,
    private readonly size = 60,
  ) {
    this.bucketMs = windowMs / size;
  }

  /** @param at milliseconds since 1970; what is older than the window is not counted */
  add(at: number, fault: boolean): void {
    const slot = this.slotOf(at);
    this.advance(slot);
    if (slot <= this.newest - this.size) return;
    for (const bucket of [this.bucketOf(slot), this.total]) {
      bucket.calls++;
      if (fault) bucket.faults++;
    }
  }

  totals(now: number): Readonly<Bucket> {
    this.advance(this.slotOf(now));
    return this.total;
  }

  clear(): void {
    this.buckets.clear();
    this.total.calls = 0;
    this.total.faults = 0;
  }

  private slotOf(at: number): number {
    return Math.floor(at / this.bucketMs);
  }

  private bucketOf(slot: number): Bucket {
    const known = this.buckets.get(slot);
    if (known) return known;
    const bucket = { calls: 0, faults: 0 };
    this.buckets.set(slot, bucket);
    return bucket;
  }

  /** Forgets what has left the window; at most `size` buckets exist. A clock that steps back moves nothing. */
  private advance(slot: number): void {
    if (slot <= this.newest) return;
    this.newest = slot;
    for (const [old, { calls, faults }] of this.buckets) {
      if (old > slot - this.size) continue;
      this.total.calls -= calls;
      this.total.faults -= faults;
      this.buckets.delete(old);
    }
  }
}
