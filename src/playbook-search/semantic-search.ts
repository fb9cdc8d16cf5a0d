import type { EmbeddingCalibration } from './embedding-provider.js';

export interface SemanticScores {
  /** Of the provider whose vectors were searched, which may still be the one before a change. */
  readonly calibration: EmbeddingCalibration;
  /** Cosine by `playbookKey`; a candidate without a vector yet is absent. */
  readonly cosines: ReadonlyMap<string, number>;
  /** Why vectors were not, or not all, asked (one word, for the answer and metrics); undefined: they were. */
  readonly degraded: string | undefined;
}

/**
 * How near in meaning playbooks are to a query: embeds the query with the provider whose vectors the index holds, and
 * asks the index. A search in words goes on without it.
 */
export interface SemanticSearch {
  /** Another one whenever an equal query may get other scores. Costs nothing to read. */
  readonly revision: string;
  /**
   * Equal candidates are best given as the very same array: what was made of it is remembered.
   * Never fails for want of a model, an endpoint or vectors: then `cosines` is empty and `degraded` says why.
   * @param query not blank
   * @param candidates keys (`playbookKey`) that passed the label filter
   * @param top only so many, the nearest; absent: all
   * @throws the signal's reason when it aborts
   */
  scores(
    query: string,
    candidates: readonly string[],
    signal?: AbortSignal,
    top?: number,
  ): Promise<SemanticScores>;
}

/** Search in words only: the provider `lexical`. */
export const noSemantics: SemanticSearch = {
  revision: '',
  scores: async () => ({ calibration: { floor: 0, cut: 0.7 }, cosines: new Map(), degraded: undefined }),
};

export const SEMANTIC_SEARCH = Symbol('SemanticSearch');
