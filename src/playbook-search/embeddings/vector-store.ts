import type { VectorIndex } from '../vector-index.js';

export interface VectorEntry {
  /** `playbookKey`. */
  readonly key: string;
  /** Of the text that the vector was made from. */
  readonly hash: string;
  readonly vector: Float32Array;
}

/** A vector index and how it is kept: what one provider made of the playbooks that search may show. */
export interface VectorStore extends Pick<VectorIndex, 'scores'> {
  readonly size: number;
  /** What it holds, in bytes of this process's memory. */
  readonly bytes: number;
  /** @returns whether the vector of this text is there */
  has(key: string, hash: string): boolean;
  /** Adds, and replaces what has the same key. */
  put(entries: readonly VectorEntry[]): Promise<void>;
  /** Removes what is not kept. @returns how many those were */
  retain(isKept: (key: string) => boolean): Promise<number>;
  close(): Promise<void>;
}
