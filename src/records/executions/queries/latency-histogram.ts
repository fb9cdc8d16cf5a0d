/** Each bucket's upper bound is this many times its lower one: its middle is at most 2 % off. */
const growth = 1.04;
/** 0 ms has its own; the last one holds the largest 32-bit number. */
const bucketCount = 550;
/** An entry is 32 bits: 10 of bucket, 2 of place, 20 of digit. A count is the sum of its digits, each × 2^(20 × place). */
const bucketShift = 22;
const placeShift = 20;
const digitMask = 0xf_ffff;

/** The middle of the whole milliseconds that a bucket holds. */
const middles = Float64Array.from({ length: bucketCount }, (_, bucket) => {
  if (bucket === 0) return 0;
  const first = Math.ceil(growth ** (bucket - 1));
  const last = Math.ceil(growth ** bucket) - 1;
  return Math.max(first, (first + last) / 2);
});

/** How long executions took, in logarithmic buckets: any figure read from it is at most 2 % off. */
export class LatencyHistogram {
  private readonly counts = new Float64Array(bucketCount);
  private sum = 0;

  /** Executions counted. */
  get total(): number {
    return this.sum;
  }

  /** @param entries as the database writes them; a bucket may have several */
  add(entries: Buffer): this {
    const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
    for (let at = 0; at + 4 <= entries.byteLength; at += 4) {
      const entry = view.getInt32(at);
      const place = (entry >>> placeShift) & 3;
      this.count(entry >>> bucketShift, (entry & digitMask) * 2 ** (placeShift * place));
    }
    return this;
  }

  /** @returns milliseconds of the execution at this rank (0 < share <= 1); 0 without executions */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.sum));
    let below = 0;
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      below += this.counts[bucket] ?? 0;
      if (below >= rank) return middles[bucket] ?? 0;
    }
    return 0;
  }

  /** Number of executions that took at least `thresholdMs`. */
  countFrom(thresholdMs: number): number {
    let count = 0;
    for (let bucket = bucketCount - 1; bucket >= 0 && (middles[bucket] ?? 0) >= thresholdMs; bucket -= 1) {
      count += this.counts[bucket] ?? 0;
    }
    return count;
  }

  /** Milliseconds (the bucket's middle) and executions, shortest first; empty buckets are left out. */
  *buckets(): Generator<readonly [milliseconds: number, executions: number]> {
    for (const [bucket, count] of this.counts.entries()) if (count > 0) yield [middles[bucket] ?? 0, count];
  }

  private count(bucket: number, executions: number): void {
    this.counts[bucket] = (this.counts[bucket] ?? 0) + executions;
    this.sum += executions;
  }
}
