import { yieldingForEach } from '../../../base/lexical-search/yielding-for-each.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

/**
 * The scale of a model's cosines, which each model has of its own: at or below `floor` it says nothing (0),
 * at `cut` a playbook begins to be worth showing (0.70), and 1 is 1.
 */
export interface EmbeddingCalibration {
  readonly floor: number;
  readonly cut: number;
}

export interface SemanticScores {
  readonly calibration: EmbeddingCalibration;
  /** Cosine by playbook id; a candidate without a vector yet is absent. */
  readonly cosines: ReadonlyMap<string, number>;
  /** The reason why not all vectors were asked (one word, for the answer and metrics); undefined: they were. */
  readonly degraded: string | undefined;
}

export interface VectorEntry {
  readonly playbook_id: string;
  readonly version: string;
  /** Hash of the text that the vector was made from. */
  readonly hash: string;
  /** Its length is 1. */
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

  /** Whether the vector of this version and text is there. */
  has({ playbook_id, version, hash }: Omit<VectorEntry, 'vector'>): boolean {
    const known = this.entries.get(playbook_id);
    return known?.version === version && known.hash === hash;
  }

  /** Adds vectors, and replaces those of the same playbooks. */
  put(entries: readonly VectorEntry[]): void {
    for (const entry of entries) this.entries.set(entry.playbook_id, entry);
  }

  /** Removes all other vectors. */
  retain(isKept: (entry: VectorEntry) => boolean): void {
    for (const [id, entry] of this.entries) if (!isKept(entry)) this.entries.delete(id);
  }

  /**
   * @param query of length 1, from the model of the vectors
   * @param top only so many, the nearest, and their equals; absent: all
   * @returns the cosine of each candidate that has a vector of the query's dimensions
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
      cosines.push(product(query, vector));
    });
    const least = Float64Array.from(cosines).sort()[cosines.length - top] ?? -Infinity;
    const scores = new Map<string, number>();
    for (const [place, id] of ids.entries()) {
      const cosine = cosines[place] ?? 0;
      if (cosine >= least) scores.set(id, cosine);
    }
    return scores;
  }
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Characters of a passage: more than that some models refuse, and others cut it off by themselves. */
const maxPassage = 1_000;

/**
 * The texts by whose meaning a playbook is found: each signal and each alias by itself. A sentence about an incident
 * is nearer to a phrase about it than to a page about its remedy (decision 007). Of a playbook without such phrases
 * its name and its description are taken, the name twice: it says what goes wrong, the description what to do.
 */
export function passagesOf({
  signals,
  aliases,
  name,
  description,
}: Pick<SearchablePlaybook, 'signals' | 'aliases' | 'name' | 'description'>): string[] {
  const phrases = [...signals, ...aliases].filter((phrase) => phrase.trim() !== '');
  const passages = phrases.length > 0 ? phrases : [name, name, description];
  return passages.map((passage) => [...passage].slice(0, maxPassage).join(''));
}

/** @returns the vector in the middle of others, of length 1, so that one vector stands for all of a playbook's passages */
export function middleOf(vectors: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const middle = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) vector.forEach((each, at) => (middle[at] = (middle[at] ?? 0) + each));
  const length = Math.hypot(...middle);
  return length > 0 ? middle.map((each) => each / length) : middle;
}
