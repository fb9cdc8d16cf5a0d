import { Inject, Injectable } from '@nestjs/common';
import type { SearchablePlaybook } from '../playbook.types.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type Ranked,
  type RankedPlaybook,
  type RankRequest,
  shownConfidence,
} from '../playbook-ranker.js';
import { SEMANTIC_SEARCH, type SemanticScores, type SemanticSearch } from '../semantic-search.js';
import { playbookKey } from '../vector-index.js';
import { calibrated } from './calibration.js';
import { LexicalRanker } from './lexical.ranker.js';

/**
 * Ranks by words and by meaning: each finds what the other cannot, and both are calibrated, so that the more
 * convincing of the two is the confidence (decision 011). Where meaning is not to be had, words decide alone.
 */
@Injectable()
export class BlendedRanker implements PlaybookRanker {
  constructor(
    private readonly words: LexicalRanker,
    @Inject(SEMANTIC_SEARCH) private readonly meaning: SemanticSearch,
  ) {}

  get revision(): string {
    return this.meaning.revision;
  }

  async prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking> {
    return new BlendedRanking(catalogue, await this.words.prepare(catalogue), this.meaning);
  }
}

class BlendedRanking implements PlaybookRanking {
  private readonly keys: ReadonlyMap<string, string>;
  /** Keys of a set of candidates: the same sets come again and again. */
  private readonly keysOf = new WeakMap<ReadonlySet<string>, readonly string[]>();

  constructor(
    catalogue: readonly SearchablePlaybook[],
    private readonly words: PlaybookRanking,
    private readonly meaning: SemanticSearch,
  ) {
    this.keys = new Map(catalogue.map((playbook) => [playbook.playbook_id, playbookKey(playbook)]));
  }

  async rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const { query, signal } = request;
    // The model works in a thread of its own while the words are looked up here.
    const [semantic, { playbooks: lexical }] = await Promise.all([
      this.meaning.scores(query, this.keysFor(candidates), signal),
      this.words.rank(request, candidates),
    ]);
    const { degraded } = semantic;
    if (semantic.cosines.size === 0) return { playbooks: lexical, degraded };
    return { playbooks: this.blended(request, candidates, lexical, semantic), degraded };
  }

  private blended(
    { threshold, explain = false }: RankRequest,
    candidates: ReadonlySet<string>,
    lexical: readonly RankedPlaybook[],
    { cosines, calibration }: SemanticScores,
  ): RankedPlaybook[] {
    const byWords = new Map(lexical.map((ranked) => [ranked.playbookId, ranked]));
    const playbooks: (RankedPlaybook & { readonly agreed: number })[] = [];
    for (const playbookId of candidates) {
      const cosine = cosines.get(this.keys.get(playbookId) ?? '');
      const words = byWords.get(playbookId);
      const inWords = words?.confidence ?? 0;
      const inMeaning = cosine === undefined ? 0 : calibrated(cosine, calibration);
      const confidence = Math.max(inWords, inMeaning);
      if (confidence <= 0 || (!explain && shownConfidence(confidence) < threshold)) continue;
      const agreed = Math.min(inWords, inMeaning);
      playbooks.push(
        explain
          ? {
              playbookId,
              confidence,
              agreed,
              explanation: {
                lexical: inWords,
                cosine: cosine ?? null,
                blended: confidence,
                calibrated: confidence,
                matchedTerms: words?.explanation?.matchedTerms ?? [],
              },
            }
          : { playbookId, confidence, agreed },
      );
    }
    return playbooks.sort(inOrder).map(({ agreed: _, ...ranked }) => ranked);
  }

  private keysFor(candidates: ReadonlySet<string>): readonly string[] {
    const known = this.keysOf.get(candidates);
    if (known) return known;
    const keys = [...candidates].flatMap((id) => this.keys.get(id) ?? []);
    this.keysOf.set(candidates, keys);
    return keys;
  }
}

/** By confidence; of equals the one on which words and meaning agree more; then by id. */
function inOrder(
  a: RankedPlaybook & { readonly agreed: number },
  b: RankedPlaybook & { readonly agreed: number },
): number {
  return b.confidence - a.confidence || b.agreed - a.agreed || (a.playbookId < b.playbookId ? -1 : 1);
}
