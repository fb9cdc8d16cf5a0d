import type { SearchablePlaybook } from '../playbooks/playbook.types.js';

/** What identifies a playbook's vector: its version is part of it, since the text changes with it. */
export function playbookKey(playbook: { readonly playbook_id: string; readonly version: string }): string {
  return `${playbook.playbook_id}@${playbook.version}`;
}

/**
 * What a raw cosine of a model is worth, since every model has its own scale: at or below `floor` it says nothing (0),
 * at `cut` a playbook begins to be worth showing (0.70), and 1 is 1.
 */
export interface EmbeddingCalibration {
  readonly floor: number;
  readonly cut: number;
}

export interface SemanticScores {
  readonly calibration: EmbeddingCalibration;
  /** Cosine by `playbookKey`; a candidate without a vector yet is absent. */
  readonly cosines: ReadonlyMap<string, number>;
  /** Why vectors were not, or not all, asked (one word, for the answer and metrics); undefined: they were. */
  readonly degraded: string | undefined;
}

/** How near in meaning playbooks are to a query. A search in words goes on without it. */
export interface SemanticSearch {
  /** Another one whenever an equal query may get other scores. Costs nothing to read. */
  readonly revision: string;
  /** Takes the catalogue that search shows from now on; its vectors are made in the background. */
  follow(catalogue: readonly SearchablePlaybook[]): void;
  /**
   * Never fails for want of an endpoint or vectors: then `cosines` is empty and `degraded` says why.
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

export const SEMANTIC_SEARCH = Symbol('SemanticSearch');
