import type { SearchablePlaybook } from './playbook.types.js';

export interface ScoredPlaybook {
  readonly playbookId: string;
  /** 0 to 1, calibrated: 0.70 separates what is worth showing from noise, whatever the ranker. */
  readonly score: number;
}

/** One state of the catalogue, ready to be searched. */
export interface PlaybookRanking {
  /**
   * Ranks the candidates (playbook ids that passed the label filter) for a query.
   * @returns those with a score above 0, by score descending, then id ascending
   */
  rank(query: string, candidates: ReadonlySet<string>): Promise<ScoredPlaybook[]>;
}

/**
 * How playbooks are found. A ranking is prepared for a whole catalogue and replaced as a whole, so that a ranker
 * that embeds texts can take its time while the ranking before it still serves.
 */
export interface PlaybookRanker {
  prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking>;
}

export const PLAYBOOK_RANKER = Symbol('PlaybookRanker');
