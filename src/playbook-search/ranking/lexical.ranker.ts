import { Injectable } from '@nestjs/common';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type Ranked,
  type RankedPlaybook,
  type RankExplanation,
  type RankRequest,
  shownConfidence,
} from '../playbook-ranker.js';
import { lexicalConfidence } from './lexical-confidence.js';
import { inverseFrequency, LexicalIndex } from './lexical-index.js';
import { rememberingTerms, termsOf } from './search-terms.js';
import { SignalIndex } from './signal-index.js';

/** In a small catalogue every word looks rare or common by chance: it is weighed as if it had this many playbooks. */
const leastCatalogue = 50;

/** What a query and each playbook have in common, by the playbooks' places in the catalogue. */
interface Evidence {
  readonly terms: readonly string[];
  readonly asked: number;
  readonly strength: Float64Array;
  readonly matched: Float64Array;
  readonly shown: ReadonlySet<number>;
}

/** BM25+ over stemmed words, calibrated by the share of the query that a playbook explains. Knows no synonyms. */
@Injectable()
export class LexicalRanker implements PlaybookRanker {
  async prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking> {
    const index = await LexicalIndex.of(catalogue);
    const read = rememberingTerms();
    const signals = await SignalIndex.of(
      catalogue,
      (playbook) => [...playbook.signals, ...playbook.aliases].map((phrase) => termsOf(phrase, read)),
      (term) => index.find(term)?.places.length ?? 0,
    );
    const ids = catalogue.map((playbook) => playbook.playbook_id);
    return new LexicalRanking(ids, index, signals);
  }
}

class LexicalRanking implements PlaybookRanking {
  /** Of a term that occurs in one playbook alone: the unit in which weights and scores are counted. */
  private readonly rareWeight: number;
  private readonly rareScore: number;

  constructor(
    private readonly ids: readonly string[],
    private readonly index: LexicalIndex,
    private readonly signals: SignalIndex,
  ) {
    this.rareWeight = inverseFrequency(1, Math.max(leastCatalogue, ids.length));
    this.rareScore = inverseFrequency(1, Math.max(1, ids.length));
  }

  async rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const { threshold, explain = false } = request;
    const evidence = this.evidenceOf(request.query);
    const playbooks: RankedPlaybook[] = [];
    for (let place = 0; place < this.ids.length; place++) {
      const confidence = confidenceAt(evidence, this.index.written[place] ?? 1, place);
      if (confidence <= 0 || (!explain && shownConfidence(confidence) < threshold)) continue;
      const playbookId = this.ids[place] ?? '';
      if (!candidates.has(playbookId)) continue;
      playbooks.push(
        explain
          ? { playbookId, confidence, explanation: this.explained(confidence, evidence.terms, place) }
          : { playbookId, confidence },
      );
    }
    playbooks.sort((a, b) => b.confidence - a.confidence || (a.playbookId < b.playbookId ? -1 : 1));
    return { playbooks };
  }

  private evidenceOf(query: string): Evidence {
    const terms = termsOf(query);
    const strength = new Float64Array(this.ids.length);
    const matched = new Float64Array(this.ids.length);
    let asked = 0;
    for (const term of terms) {
      const weight = this.weightOf(term);
      asked += weight;
      const postings = this.index.find(term);
      if (!postings) continue;
      const { places, scores } = postings;
      for (let at = 0; at < places.length; at++) {
        const place = places[at] ?? 0;
        strength[place] = (strength[place] ?? 0) + (scores[at] ?? 0) / this.rareScore;
        matched[place] = (matched[place] ?? 0) + weight;
      }
    }
    return { terms, asked, strength, matched, shown: this.signals.shownIn(new Set(terms)) };
  }

  private weightOf(term: string): number {
    const playbooks = Math.max(leastCatalogue, this.ids.length);
    return inverseFrequency(this.occurrences(term), playbooks) / this.rareWeight;
  }

  private occurrences(term: string): number {
    return this.index.find(term)?.places.length ?? 0;
  }

  /** Words are all that this ranker knows: the other scores follow from them. */
  private explained(confidence: number, terms: readonly string[], place: number): RankExplanation {
    const matchedTerms = terms.filter((term) => this.index.find(term)?.places.includes(place));
    return { lexical: confidence, cosine: null, blended: confidence, calibrated: confidence, matchedTerms };
  }
}

function confidenceAt({ asked, strength, matched, shown }: Evidence, written: number, place: number): number {
  const common = matched[place] ?? 0;
  if (common <= 0) return 0;
  return lexicalConfidence({
    strength: strength[place] ?? 0,
    matched: common,
    asked,
    written,
    showsSignal: shown.has(place),
  });
}
