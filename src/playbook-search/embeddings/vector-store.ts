import { yieldingForEach } from '../../common/yielding-for-each.js';

export interface VectorEntry {
  /** `playbookKey`. */
  readonly key: string;
  /** Of the text that the vector was made from. */
  readonly hash: string;
  /** Of length 1. */
  readonly vector: Float32Array;
}

/**
 * Playbooks' vectors of one model, in memory. Every candidate's cosine is reckoned, in slices of a few milliseconds
 * between which the calls go on: 10,000 playbooks of 768 dimensions take a handful of them.
 */
export class VectorStore {
  private readonly entries = new Map<string, VectorEntry>();

  get size(): number {
    return this.entries.size;
  }

  /** @returns whether the vector of this text is there */
  has(key: string, hash: string): boolean {
    return this.entries.get(key)?.hash === hash;
  }

  /** Adds, and replaces what has the same key. */
  put(entries: readonly VectorEntry[]): void {
    for (const entry of entries) this.entries.set(entry.key, entry);
  }

  /** Removes what is not kept. */
  retain(isKept: (key: string) => boolean): void {
    for (const key of this.entries.keys()) if (!isKept(key)) this.entries.delete(key);
  }

  /**
   * @param query of length 1, from the model of the vectors
   * @param top only so many, the nearest, and their equals; absent: all
   * @returns the cosine of each candidate that has a vector of the query's dimensions
   */
  async scores(
    query: Float32Array,
    candidates: readonly string[],
    top = candidates.length,
  ): Promise<ReadonlyMap<string, number>> {
    // Those without a vector stay NaN, which is never at least anything.
    const cosines = new Float64Array(candidates.length).fill(NaN);
    await yieldingForEach(candidates, (key, place) => {
      const vector = this.entries.get(key)?.vector;
      if (vector?.length === query.length) cosines[place] = product(query, vector);
    });
    const known = cosines.filter((cosine) => !Number.isNaN(cosine)).sort();
    const least = known[known.length - top] ?? -Infinity;
    const scores = new Map<string, number>();
    for (const [place, key] of candidates.entries()) {
      const cosine = cosines[place] ?? NaN;
      if (cosine >= least) scores.set(key, cosine);
    }
    return scores;
  }
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
