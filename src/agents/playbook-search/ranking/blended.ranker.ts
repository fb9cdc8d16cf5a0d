import { Inject, Injectable } from '@nestjs/common';
import { calibrated } from '../../../base/lexical-search/lexical-search.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type Ranked,
  type RankedPlaybook,
  type RankRequest,
  shownConfidence,
} from '../playbook-ranker.js';
import { PlaybookEmbeddings } from '../embeddings/playbook-embeddings.js';
import type { SemanticScores } from '../embeddings/vector-store.js';
import { LexicalRanker } from './lexical.ranker.js';

/** The part of PlaybookEmbeddings that ranking needs. */
export type SemanticSearch = Pick<PlaybookEmbeddings, 'revision' | 'follow' | 'scores'>;

/**
 * Ranks by words and by meaning. Both scores are calibrated, so that the higher one is the confidence (decision 007).
 * Without embeddings the words decide alone.
 */
@Injectable()
export class BlendedRanker implements PlaybookRanker {
  constructor(
    private readonly words: LexicalRanker,
    @Inject(PlaybookEmbeddings) private readonly meaning: SemanticSearch,
  ) {}

  get revision(): string {
    return this.meaning.revision;
  }

  async prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking> {
    this.meaning.follow(catalogue);
    return new BlendedRanking(await this.words.prepare(catalogue), this.meaning);
  }
}

/**
 * Number of nearest vectors that are fetched beyond the limit. Passing on thousands of cosines would take longer than
 * computing them, and farther ones cannot enter the answer.
 */
const nearest = 100;

/** The scores of one playbook. */
interface Scored {
  readonly playbookId: string;
  readonly inWords: RankedPlaybook | undefined;
  readonly cosine: number | undefined;
  /** The cosine as a confidence. */
  readonly inMeaning: number;
}

class BlendedRanking implements PlaybookRanking {
  constructor(
    private readonly words: PlaybookRanking,
    private readonly meaning: SemanticSearch,
  ) {}

  async rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const { query, signal, explain = false, limit } = request;
    // Concurrent: the endpoint works while the words are looked up.
    const [semantic, { playbooks: lexical }] = await Promise.all([
      this.meaning.scores(query, candidates, signal, explain ? undefined : nearest + limit),
      this.words.rank(request, candidates),
    ]);
    const { degraded } = semantic;
    if (semantic.cosines.size === 0) return { playbooks: lexical, degraded };
    const playbooks = this.score(request, lexical, semantic)
      .sort(byConfidence)
      .map((each) => (explain ? withExplanation(each) : plain(each)));
    return { playbooks, degraded };
  }

  /** Playbooks with a confidence above 0 that reach the threshold, or regardless of the threshold if explained. */
  private score(
    { threshold, explain = false }: RankRequest,
    lexical: readonly RankedPlaybook[],
    { cosines, calibration }: SemanticScores,
  ): Scored[] {
    const byWords = new Set(lexical.map(({ playbookId }) => playbookId));
    const scored = lexical.map((inWords): Scored => {
      const { playbookId } = inWords;
      const cosine = cosines.get(playbookId);
      return { playbookId, inWords, cosine, inMeaning: calibrated(cosine ?? -1, calibration) };
    });
    // Most of thousands of playbooks are not near and cost one comparison.
    for (const [playbookId, cosine] of cosines) {
      const inMeaning = calibrated(cosine, calibration);
      if (inMeaning <= 0 || (!explain && shownConfidence(inMeaning) < threshold)) continue;
      if (!byWords.has(playbookId)) scored.push({ playbookId, inWords: undefined, cosine, inMeaning });
    }
    return scored;
  }
}

const confidenceOf = ({ inWords, inMeaning }: Scored): number =>
  Math.max(inWords?.confidence ?? 0, inMeaning);
const agreement = ({ inWords, inMeaning }: Scored): number => Math.min(inWords?.confidence ?? 0, inMeaning);

/** Sorts by confidence, then by how much words and meaning agree, then by id. */
function byConfidence(a: Scored, b: Scored): number {
  return (
    confidenceOf(b) - confidenceOf(a) || agreement(b) - agreement(a) || (a.playbookId < b.playbookId ? -1 : 1)
  );
}

const plain = (scored: Scored): RankedPlaybook => ({
  playbookId: scored.playbookId,
  confidence: confidenceOf(scored),
});

function withExplanation(scored: Scored): RankedPlaybook {
  const { inWords, cosine = null } = scored;
  const matchedTerms = inWords?.explanation?.matchedTerms ?? [];
  return { ...plain(scored), explanation: { lexical: inWords?.confidence ?? 0, cosine, matchedTerms } };
}
