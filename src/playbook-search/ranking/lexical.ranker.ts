import { Injectable } from '@nestjs/common';
import MiniSearch from 'minisearch';
import { lexicalConfidence } from './lexical-confidence.js';
import type { SearchablePlaybook } from '../playbook.types.js';
import type {
  PlaybookRanker,
  PlaybookRanking,
  Ranked,
  RankExplanation,
  RankRequest,
} from '../playbook-ranker.js';
import { rememberingToTerm, splitWords, termsOf } from './search-terms.js';

/** Labels are not here on purpose: they filter, they do not rank. Nor is `when_not_to_use`. */
const boost = { name: 2, signals: 3, aliases: 2, description: 1, when_to_use: 0.7, playbook_id: 0.5 };
type Field = keyof typeof boost;
const fields = Object.keys(boost) as Field[];

/** In a small catalogue every word looks rare or common by chance: it is weighed as if it had this many playbooks. */
const leastCatalogue = 50;

/** BM25+ over stemmed words, calibrated by the share of the query that a playbook explains. Knows no synonyms. */
@Injectable()
export class LexicalRanker implements PlaybookRanker {
  async prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking> {
    return new LexicalRanking(catalogue);
  }
}

class LexicalRanking implements PlaybookRanking {
  private readonly index: MiniSearch<SearchablePlaybook>;
  /** In how many playbooks a term occurs. */
  private readonly occurrences = new Map<string, number>();
  /** The terms of each signal and alias, by playbook id. */
  private readonly signals = new Map<string, readonly (readonly string[])[]>();
  private readonly rareWeight: number;
  private readonly rareScore: number;

  constructor(catalogue: readonly SearchablePlaybook[]) {
    const termOf = rememberingToTerm();
    this.index = new MiniSearch<SearchablePlaybook>({
      idField: 'playbook_id',
      fields: [...fields],
      extractField: (playbook, field) => fieldText(playbook, field as Field),
      tokenize: splitWords,
      processTerm: termOf,
    });
    this.index.addAll(catalogue);
    for (const playbook of catalogue) {
      const text = fields.map((field) => fieldText(playbook, field)).join('\n');
      for (const term of termsOf(text, termOf))
        this.occurrences.set(term, (this.occurrences.get(term) ?? 0) + 1);
      this.signals.set(
        playbook.playbook_id,
        [...playbook.signals, ...playbook.aliases].map((phrase) => termsOf(phrase, termOf)),
      );
    }
    this.rareWeight = inverseFrequency(1, Math.max(leastCatalogue, catalogue.length));
    this.rareScore = inverseFrequency(1, Math.max(1, catalogue.length));
  }

  async rank({ query, explain }: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const terms = termsOf(query);
    const asked = this.weightOf(terms);
    const inQuery = new Set(terms);
    const found = this.index.search(terms.join(' '), {
      boost,
      tokenize: (text) => text.split(' '),
      processTerm: (term) => term,
      filter: ({ id }) => candidates.has(String(id)),
    });
    const playbooks = found
      .map(({ id, score, queryTerms }) => {
        const playbookId = String(id);
        // MiniSearch multiplies a score by the number of terms that matched; coverage accounts for them here.
        const strength = score / Math.max(1, queryTerms.length) / this.rareScore;
        const matched = this.weightOf(queryTerms);
        const showsSignal = this.showsSignal(playbookId, inQuery);
        const confidence = lexicalConfidence({ strength, matched, asked, showsSignal });
        return explain
          ? { playbookId, confidence, explanation: explained(confidence, queryTerms) }
          : { playbookId, confidence };
      })
      .sort((a, b) => b.confidence - a.confidence || (a.playbookId < b.playbookId ? -1 : 1));
    return { playbooks };
  }

  private showsSignal(playbookId: string, inQuery: ReadonlySet<string>): boolean {
    const signals = this.signals.get(playbookId) ?? [];
    return signals.some((terms) => terms.length > 0 && terms.every((term) => inQuery.has(term)));
  }

  private weightOf(terms: readonly string[]): number {
    const playbooks = Math.max(leastCatalogue, this.index.documentCount);
    let weight = 0;
    for (const term of terms) weight += inverseFrequency(this.occurrences.get(term) ?? 0, playbooks);
    return weight / this.rareWeight;
  }
}

/** Words are all that this ranker knows: the other scores follow from them. */
function explained(confidence: number, matchedTerms: readonly string[]): RankExplanation {
  return { lexical: confidence, cosine: null, blended: confidence, calibrated: confidence, matchedTerms };
}

function fieldText(playbook: SearchablePlaybook, field: Field): string {
  const value = playbook[field];
  return typeof value === 'string' ? value : (value ?? []).join('\n');
}

/** BM25's inverse document frequency. */
function inverseFrequency(occurrences: number, playbooks: number): number {
  return Math.log(1 + (playbooks - occurrences + 0.5) / (occurrences + 0.5));
}
