import { yieldingForEach } from '../../../base/lexical-search/yielding-for-each.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

/** Max characters of a passage; some models refuse longer ones, others truncate them. */
const maxPassageLength = 1_000;

/** The scale of a model's cosines: up to `floor` the confidence is 0, at `cut` it is 0.70 (relevant), at 1 it is 1. */
export interface EmbeddingCalibration {
  readonly floor: number;
  readonly cut: number;
}

/** Cosines of playbooks for a query, with the scale of their model. */
export interface SemanticScores {
  readonly calibration: EmbeddingCalibration;
  /** Cosine by playbook id; a candidate without a vector yet is absent. */
  readonly cosines: ReadonlyMap<string, number>;
  /** One word for the reason why cosines are missing, for the answer and metrics; undefined if none are. */
  readonly degraded: string | undefined;
}

export interface VectorEntry {
  readonly playbook_id: string;
  readonly version: string;
  /** Hash of the text that the vector was made from. */
  readonly hash: string;
  /** Normalised to length 1. */
  readonly vector: Float32Array;
}

/**
 * Playbooks' vectors of one model, in memory. A query computes the cosines of all candidates and yields to the event loop
 * every few milliseconds; 10,000 playbooks of 768 dimensions take a handful of such slices.
 */
export class VectorStore {
  private readonly entries = new Map<string, VectorEntry>();

  /** Number of playbooks with a vector. */
  get size(): number {
    return this.entries.size;
  }

  /** Whether there is a vector of this version and text. */
  has({ playbook_id, version, hash }: Omit<VectorEntry, 'vector'>): boolean {
    const known = this.entries.get(playbook_id);
    return known?.version === version && known.hash === hash;
  }

  /** Adds vectors, and replaces those of the same playbooks. */
  put(entries: readonly VectorEntry[]): void {
    for (const entry of entries) this.entries.set(entry.playbook_id, entry);
  }

  /** Removes all vectors except those that `isKept` accepts. */
  retain(isKept: (entry: VectorEntry) => boolean): void {
    for (const [id, entry] of this.entries) if (!isKept(entry)) this.entries.delete(id);
  }

  /**
   * The cosine of each candidate that has a vector of the query's dimensions.
   * @param query vector of length 1, of the same model
   * @param top max number of nearest candidates, plus equal ones; default: all
   */
  async scores(
    query: Float32Array,
    candidates: ReadonlySet<string>,
    top = candidates.size,
  ): Promise<ReadonlyMap<string, number>> {
    const ids: string[] = [];
    const cosines: number[] = [];
    await yieldingForEach(candidates, (id) => {
      const vector = this.entries.get(id)?.vector;
      if (vector?.length !== query.length) return;
      ids.push(id);
      cosines.push(dotProduct(query, vector));
    });
    // The cosine of the last candidate among the nearest `top`.
    const lowest = Float64Array.from(cosines).sort()[cosines.length - top] ?? -Infinity;
    const scores = new Map<string, number>();
    for (const [index, id] of ids.entries()) {
      const cosine = cosines[index] ?? 0;
      if (cosine >= lowest) scores.set(id, cosine);
    }
    return scores;
  }
}

/** The cosine of two vectors of length 1. */
function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}

/**
 * The texts that are embedded for a playbook: its signals and aliases, because a sentence about an incident is nearer to
 * a phrase about it than to a page about its remedy (decision 007). Without these, its name, twice because it names the
 * incident, and its description.
 */
export function passagesOf({
  signals,
  aliases,
  name,
  description,
}: Pick<SearchablePlaybook, 'signals' | 'aliases' | 'name' | 'description'>): string[] {
  const phrases = [...signals, ...aliases].filter((phrase) => phrase.trim() !== '');
  const passages = phrases.length > 0 ? phrases : [name, name, description];
  return passages.map((passage) => [...passage].slice(0, maxPassageLength).join(''));
}

/** The normalised mean of vectors, so that one vector represents all passages of a playbook. */
export function middleOf(vectors: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (const [index, value] of vector.entries()) sum[index] = (sum[index] ?? 0) + value;
  const length = Math.hypot(...sum);
  return length > 0 ? sum.map((value) => value / length) : sum;
}
