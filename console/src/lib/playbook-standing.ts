/** Filters that leave a playbook out of an answer, in the order of their evaluation. */
const removals = ['status', 'label', 'no_match', 'threshold', 'limit'] as const;
export type Removal = (typeof removals)[number];

/** One playbook of a search's explanation. */
interface Candidate {
  readonly playbook_id: string;
  readonly confidence: number | null;
  readonly removed_by: Removal | null;
}

/** A playbook's place in the answer to a search. */
export interface Standing extends Omit<Candidate, 'playbook_id'> {
  /** Rank among all candidates, from 1; null if it was not ranked. */
  readonly rank: number | null;
}

/** @returns undefined for a playbook that is not among the candidates */
export function standingOf(candidates: readonly Candidate[], id: string): Standing | undefined {
  const index = candidates.findIndex(({ playbook_id }) => playbook_id === id);
  const found = candidates[index];
  if (!found) return undefined;
  const { confidence, removed_by } = found;
  return { rank: confidence === null ? null : index + 1, confidence, removed_by };
}

/** A standing for an address, such as `7,0.41,threshold`; absent parts are empty. */
export const textOfStanding = ({ rank, confidence, removed_by }: Standing): string =>
  [rank, confidence, removed_by].map((part) => part ?? '').join(',');

const standingFormat = /^(\d*),(1|0|0\.\d+|),(status|label|no_match|threshold|limit|)$/;

/** @returns undefined for an invalid text */
export function standingOfText(text: string): Standing | undefined {
  const [, rank, confidence, by] = standingFormat.exec(text) ?? [];
  if (rank === undefined) return undefined;
  return {
    rank: rank === '' ? null : Number(rank),
    confidence: confidence ? Number(confidence) : null,
    removed_by: removals.find((each) => each === by) ?? null,
  };
}

/** "Shown at rank 3, confidence 0.72", "Left out by a label". */
export function standingText({ rank, confidence, removed_by }: Standing): string {
  const ranked = rank === null ? '' : ` at rank ${rank}, confidence ${confidence}`;
  return (removed_by === null ? 'Shown' : `Left out by ${removalNames[removed_by]}`) + ranked;
}

export const removalNames = {
  status: 'its status',
  label: 'a label',
  no_match: 'its words',
  threshold: 'the threshold',
  limit: 'better ones',
} as const;

const minLetters = 3;

interface Compared {
  readonly removed_by: Removal | null;
  readonly matched_terms: readonly string[];
}

/**
 * The words of a query that a left-out playbook lacks. Shared terms are stems, so a word that begins like one of them counts
 * as shared.
 */
export function missingWords(query: string, { removed_by, matched_terms }: Compared): string[] {
  if (removed_by !== 'threshold' && removed_by !== 'no_match') return [];
  const words = wordsOf(query).filter((word) => word.length > minLetters || /[\dA-Z]/.test(word));
  return [...new Set(words)].filter((word) => !matched_terms.some((term) => isOfTerm(word, term)));
}

/** The words of a query that a playbook has, instead of their stems. */
export const sharedWords = (query: string, terms: readonly string[]): string[] => [
  ...new Set(
    terms.map(
      (term) =>
        wordsOf(query)
          .find((word) => isOfTerm(word, term))
          ?.toLowerCase() ?? term,
    ),
  ),
];

const wordsOf = (query: string): string[] => query.split(/[^\p{L}\p{N}_.-]+/u);

const isOfTerm = (word: string, term: string): boolean =>
  word.toLowerCase().startsWith(term.slice(0, Math.max(minLetters, term.length - 1)));
