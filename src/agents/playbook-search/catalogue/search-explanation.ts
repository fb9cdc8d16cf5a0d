import type { HiddenPlaybook, SearchablePlaybook } from '../../playbooks/playbook.types.js';
import { type CallerLabels, clashOf } from '../label-filter.js';
import { type RankedPlaybook, shownConfidence } from '../playbook-ranker.js';
import type { ExplainedPlaybookView, SearchFilter } from '../rest/playbook-search.dto.js';

/** A search with the data that its explanation needs. */
export interface SearchTrail {
  /** All searchable playbooks of the catalogue, by id. */
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
  readonly hidden: readonly HiddenPlaybook[];
  readonly callerLabels: CallerLabels;
  /** All scored playbooks, best first. */
  readonly ranked: readonly RankedPlaybook[];
  readonly similarityThreshold: number;
  readonly limit: number;
}

/** The scores of a playbook that was not ranked. */
const noScores = {
  confidence: null,
  lexical: null,
  cosine: null,
  blended: null,
  calibrated: null,
  matched_terms: [],
} as const;

/** Explains each playbook once: ranked ones, best first, then the others by id. */
export function explainSearch(trail: SearchTrail): ExplainedPlaybookView[] {
  const unranked = new Map(trail.playbooks);
  const explained: ExplainedPlaybookView[] = [];
  let betterShown = 0;
  for (const each of trail.ranked) {
    const playbook = unranked.get(each.playbookId);
    if (!playbook) continue;
    unranked.delete(each.playbookId);
    const verdict = rankedVerdict(each, trail, betterShown);
    if (verdict.shown) betterShown += 1;
    explained.push({ ...identity(playbook), ...verdict, ...scores(each) });
  }
  const rest = [
    ...[...unranked.values()].map((playbook) => unrankedPlaybook(playbook, trail.callerLabels)),
    ...trail.hidden.map(hiddenPlaybook),
  ];
  return [...explained, ...rest.sort((a, b) => (a.playbook_id < b.playbook_id ? -1 : 1))];
}

/** Whether a playbook is in the answer, and why. */
type Verdict = Pick<ExplainedPlaybookView, 'shown' | 'removed_by' | 'reason'>;

const removed = (by: SearchFilter, reason: string): Verdict => ({ shown: false, removed_by: by, reason });

/** The verdict on a ranked playbook. @param betterShown number of better playbooks in the answer */
function rankedVerdict(
  { confidence }: RankedPlaybook,
  { similarityThreshold, limit }: SearchTrail,
  betterShown: number,
): Verdict {
  const rounded = shownConfidence(confidence);
  if (rounded < similarityThreshold)
    return removed('threshold', `Its confidence ${rounded} is below min_confidence ${similarityThreshold}`);
  if (betterShown >= limit) return removed('limit', `max_results ${limit} was reached by better ones`);
  return { shown: true, removed_by: null, reason: `Shown at rank ${betterShown + 1}` };
}

/** Explains an active playbook that was not ranked. */
function unrankedPlaybook(playbook: SearchablePlaybook, callerLabels: CallerLabels): ExplainedPlaybookView {
  const clash = clashOf(playbook.labels, callerLabels);
  const verdict = clash
    ? removed(
        'label',
        `Its label ${clash.label} allows ${clash.allowed.join(', ')}; ${clash.wanted} was asked for`,
      )
    : removed('no_match', 'It has nothing in common with the query');
  return { ...identity(playbook), ...verdict, ...noScores };
}

/** Explains a playbook that is not active. */
function hiddenPlaybook(playbook: HiddenPlaybook): ExplainedPlaybookView {
  const verdict = removed('status', `Its latest version, ${playbook.version}, is ${playbook.status}`);
  return { ...identity(playbook), ...verdict, ...noScores };
}

const identity = ({ playbook_id, version }: Pick<HiddenPlaybook, 'playbook_id' | 'version'>) => ({
  playbook_id,
  version,
});

/** `blended` and `calibrated` equal the confidence, because words and meaning are calibrated before blending. */
const scores = ({ confidence, explanation }: RankedPlaybook) => ({
  confidence: shownConfidence(confidence),
  lexical: roundScore(explanation?.lexical),
  cosine: roundScore(explanation?.cosine),
  blended: roundScore(confidence),
  calibrated: roundScore(confidence),
  matched_terms: explanation?.matchedTerms ?? [],
});

/** Four decimals, to distinguish playbooks with similar scores. */
const roundScore = (score: number | null | undefined): number | null =>
  score === null || score === undefined ? null : Math.round(score * 10_000) / 10_000;
