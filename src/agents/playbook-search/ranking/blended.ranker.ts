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
const extraNearest = 100;

interface Scored {
  readonly playbookId: string;
  /** Its result by words, if found by words. */
  readonly lexicalHit: RankedPlaybook | undefined;
  readonly cosine: number | undefined;
  /** The cosine as a confidence. */
  readonly semanticConfidence: number;
}

class BlendedRanking implements PlaybookRanking {
  constructor(
    private readonly words: PlaybookRanking,
    private readonly meaning: SemanticSearch,
  ) {}

  async rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const { query, signal, explain = false, limit } = request;
    // At the same time, because the endpoint takes much longer than the search by words.
    const [semantic, { playbooks: lexical }] = await Promise.all([
      this.meaning.scores(query, candidates, signal, explain ? undefined : extraNearest + limit),
      this.words.rank(request, candidates),
    ]);
    const { degraded } = semantic;
    if (semantic.cosines.size === 0) return { playbooks: lexical, degraded };
    const playbooks = this.score(request, lexical, semantic)
      .sort(byConfidence)
      .map((each) => rankedOf(each, { explain }));
    return { playbooks, degraded };
  }

  /** Scores of the playbooks that reach the threshold; with `explain`, of all with a confidence above 0. */
  private score(
    { threshold, explain = false }: RankRequest,
    lexical: readonly RankedPlaybook[],
    { cosines, calibration }: SemanticScores,
  ): Scored[] {
    const foundByWords = new Set(lexical.map(({ playbookId }) => playbookId));
    const scored = lexical.map((lexicalHit): Scored => {
      const { playbookId } = lexicalHit;
      const cosine = cosines.get(playbookId);
      return { playbookId, lexicalHit, cosine, semanticConfidence: calibrated(cosine ?? -1, calibration) };
    });
    // There may be thousands of cosines. Most are low, and cost one comparison.
    for (const [playbookId, cosine] of cosines) {
      const semanticConfidence = calibrated(cosine, calibration);
      if (semanticConfidence <= 0 || (!explain && shownConfidence(semanticConfidence) < threshold)) continue;
      if (!foundByWords.has(playbookId))
        scored.push({ playbookId, lexicalHit: undefined, cosine, semanticConfidence });
    }
    return scored;
  }
}

/** The higher one of the two confidences. */
const confidenceOf = ({ lexicalHit, semanticConfidence }: Scored): number =>
  Math.max(lexicalHit?.confidence ?? 0, semanticConfidence);
/** The lower one of the two confidences. */
const agreement = ({ lexicalHit, semanticConfidence }: Scored): number =>
  Math.min(lexicalHit?.confidence ?? 0, semanticConfidence);

/** Sorts by confidence, then by how much words and meaning agree, then by id. */
function byConfidence(a: Scored, b: Scored): number {
  return (
    confidenceOf(b) - confidenceOf(a) || agreement(b) - agreement(a) || (a.playbookId < b.playbookId ? -1 : 1)
  );
}

/** A result of the ranking; with `explain`, also the origin of its confidence. */
function rankedOf(scored: Scored, { explain }: { readonly explain: boolean }): RankedPlaybook {
  const { playbookId, lexicalHit, cosine = null } = scored;
  const ranked = { playbookId, confidence: confidenceOf(scored) };
  if (!explain) return ranked;
  const matchedTerms = lexicalHit?.explanation?.matchedTerms ?? [];
  return { ...ranked, explanation: { lexical: lexicalHit?.confidence ?? 0, cosine, matchedTerms } };
}
