import type { SearchablePlaybook } from '../playbooks/playbook.types.js';

/** A search in a ranking. */
export interface RankRequest {
  readonly query: string;
  /**
   * Lowest confidence that will be shown, 0 to 1, compared with `shownConfidence`. A ranker may omit playbooks below it,
   * but with `explain` it returns all that it has scored.
   */
  readonly threshold: number;
  /** Max playbooks that will be shown. A ranker may omit the rest, but not with `explain`. */
  readonly limit: number;
  /** Whether each ranked playbook explains its confidence. */
  readonly explain?: boolean;
  /** Aborts when the caller no longer waits. */
  readonly signal?: AbortSignal | undefined;
}

/** The origin of a confidence, for authors of playbooks. It is not sent to an LLM. */
interface RankExplanation {
  /** Confidence by shared words, 0 to 1; null: not computed. */
  readonly lexical: number | null;
  /** Raw cosine of the embeddings, -1 to 1; null: there is no embedding. */
  readonly cosine: number | null;
  /** Terms of the query that the playbook contains, as they are compared (stemmed), in the query's order. */
  readonly matchedTerms: readonly string[];
}

export interface RankedPlaybook {
  readonly playbookId: string;
  /** 0 to 1, calibrated for every ranker: 0.70 separates relevant playbooks from noise. */
  readonly confidence: number;
  /** Present if the request has `explain`. */
  readonly explanation?: RankExplanation;
}

/** The result of a search in a ranking. */
export interface Ranked {
  /** Playbooks with a confidence above 0, by confidence descending, then id ascending. */
  readonly playbooks: readonly RankedPlaybook[];
  /** One word for the reason why playbooks may be missing or ranked worse than usual; undefined if all is well. */
  readonly degraded?: string | undefined;
}

/** One state of the catalogue, ready to be searched. */
export interface PlaybookRanking {
  /** Searches. @param candidates ids of the playbooks that passed the label filter */
  rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked>;
}

/**
 * A way to find playbooks. Prepares a ranking for a whole catalogue; a changed catalogue gets a new one, while searches
 * still use the one before.
 */
export interface PlaybookRanker {
  /** Changes whenever an equal search of an equal catalogue may have another result; absent: never. */
  readonly revision?: string;
  prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking>;
}

/** The confidence as it is shown: two decimals. Thresholds compare with it, so that no shown confidence is below them. */
export const shownConfidence = (confidence: number): number => Math.round(confidence * 100) / 100;
