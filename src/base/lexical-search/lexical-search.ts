import { type Field, inverseFrequency, LexicalIndex, PhraseIndex } from './lexical-index.js';
import { rememberingTerms, termsOf, type Vocabulary } from './vocabulary.js';

/**
 * The words that a query and one item share. Weights are counted in "rare words": a term that occurs in
 * a single item weighs 1, so that the figures mean the same among few and among many.
 */
interface LexicalEvidence {
  /** BM25 score, fields boosted. */
  readonly strength: number;
  /** Weight of the query's terms that the item contains. */
  readonly matchedWeight: number;
  /** Weight of all terms of the query, unknown ones included. */
  readonly queryWeight: number;
  /** Share of the searched fields that the author filled in, by their boosts, 0 to 1. */
  readonly written: number;
  /** Whether the query contains a whole phrase of the item. */
  readonly showsPhrase: boolean;
}

/** Strength at which a match has half of the max score, for an item with all fields. */
const halfStrength = 9;
/** Weight of shared terms, in rare words, from which a long query counts as covered. */
const enoughWords = 6;
/** Weight of shared terms below which a match counts for less: common words such as "pod" prove nothing. */
const enoughWeight = 0.85;
/** Scores that separate right answers from noise, set with the tuning halves of test/eval. */
const scale = { floor: 0, cut: 0.44 };

/** The confidence of a match, 0 to 1; 0.70 and above is worth showing. */
export function lexicalConfidence(evidence: LexicalEvidence): number {
  const { strength, matchedWeight, queryWeight, written, showsPhrase } = evidence;
  if (matchedWeight <= 0) return 0;
  // A long query need not match whole.
  const neededWeight = Math.min(queryWeight, enoughWords);
  const coverage = Math.min(1, matchedWeight / neededWeight);
  // Items with few fields repeat words less often, so less strength is needed.
  const saturation = strength / (strength + halfStrength * Math.sqrt(written));
  const significance = Math.min(1, matchedWeight / enoughWeight);
  const raw = Math.sqrt(coverage * saturation * significance);
  // A whole phrase makes the match worth showing, unless its words are common.
  const hasProof = showsPhrase && significance === 1;
  return calibrated(hasProof ? Math.max(raw, scale.cut) : raw, scale);
}

/** The parts of an item that a search reads. */
export interface Searched<T> {
  readonly fields: readonly Field<T>[];
  /** Texts that are a match by themselves if a query contains all their words. */
  readonly phrases: (item: T) => readonly string[];
  readonly vocabulary: Vocabulary;
}

/** The results of a query. Items are identified by their places in the list that was indexed. */
interface Matches {
  /** @returns 0 to 1; 0.70 and above is worth showing */
  readonly confidenceAt: (place: number) => number;
  /** Terms of the query that the item contains, as they are compared (stemmed), in the query's order. */
  readonly matchedAt: (place: number) => string[];
}

/** Number of items that weights assume at least: among fewer, words look rare or common by chance. */
const leastItems = 50;

/** BM25+ over stemmed words, calibrated by the share of the query that an item covers. It knows no synonyms. */
export class LexicalSearch {
  /** Unit of weights: that of a term in a single item, among at least `leastItems` items. */
  private readonly weightUnit: number;
  /** Unit of scores: the same among the real number of items, as `LexicalIndex` computes scores. */
  private readonly scoreUnit: number;

  private constructor(
    private readonly size: number,
    private readonly index: LexicalIndex,
    private readonly phrases: PhraseIndex,
    private readonly vocabulary: Vocabulary,
  ) {
    this.weightUnit = inverseFrequency(1, Math.max(leastItems, size));
    this.scoreUnit = inverseFrequency(1, Math.max(1, size));
  }

  /** Indexes the items. */
  static async of<T>(items: readonly T[], searched: Searched<T>): Promise<LexicalSearch> {
    const { fields, phrases, vocabulary } = searched;
    const readTerms = rememberingTerms(vocabulary);
    const index = await LexicalIndex.of(items, fields, readTerms);
    const phraseIndex = await PhraseIndex.of(
      items,
      (item) => phrases(item).map((phrase) => [...new Set(readTerms(phrase))]),
      (term) => index.find(term)?.places.length ?? 0,
    );
    return new LexicalSearch(items.length, index, phraseIndex, vocabulary);
  }

  /** Searches the items. */
  find(query: string): Matches {
    const terms = termsOf(query, this.vocabulary);
    const strength = new Float64Array(this.size);
    const matchedWeights = new Float64Array(this.size);
    let queryWeight = 0;
    for (const term of terms) {
      const weight = this.weightOf(term);
      queryWeight += weight;
      const postings = this.index.find(term);
      if (!postings) continue;
      const { places, scores } = postings;
      for (let at = 0; at < places.length; at++) {
        const place = places[at] ?? 0;
        strength[place] = (strength[place] ?? 0) + (scores[at] ?? 0) / this.scoreUnit;
        matchedWeights[place] = (matchedWeights[place] ?? 0) + weight;
      }
    }
    const withPhrase = this.phrases.placesIn(new Set(terms));
    return {
      confidenceAt: (place) =>
        lexicalConfidence({
          strength: strength[place] ?? 0,
          matchedWeight: matchedWeights[place] ?? 0,
          queryWeight,
          written: this.index.written[place] ?? 1,
          showsPhrase: withPhrase.has(place),
        }),
      matchedAt: (place) => terms.filter((term) => this.index.find(term)?.places.includes(place)),
    };
  }

  /** Weight of a term, in rare words. */
  private weightOf(term: string): number {
    const occurrences = this.index.find(term)?.places.length ?? 0;
    return inverseFrequency(occurrences, Math.max(leastItems, this.size)) / this.weightUnit;
  }
}

/** Min confidence of a result that is worth showing; the default threshold of callers. */
const worthShowing = 0.7;

/** Maps a raw score linearly to the common scale: floor → 0, cut → 0.70, 1 → 1. The cut separates right answers from noise. */
export function calibrated(
  raw: number,
  { floor, cut }: { readonly floor: number; readonly cut: number },
): number {
  if (raw <= floor) return 0;
  if (raw < cut) return (worthShowing * (raw - floor)) / (cut - floor);
  return Math.min(1, worthShowing + ((1 - worthShowing) * (raw - cut)) / (1 - cut));
}
