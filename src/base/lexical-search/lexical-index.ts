import { yieldingForEach } from './yielding-for-each.js';
import type { ReadTerms } from './vocabulary.js';

/** A searched text of an item. */
export interface Field<T> {
  /** Weight of a word in this field. */
  readonly boost: number;
  readonly text: (item: T) => string;
}

/** Parameters of BM25+: `k` term saturation, `b` length normalisation, `d` minimum score of a term that occurs. */
const bm25 = { k: 1.2, b: 0.7, d: 0.5 };

/** The items that contain a term, with its score in each over all fields. */
interface Postings {
  /** Places of the items in the list of all items, ascending. */
  readonly places: Int32Array;
  /** BM25+ of the term in the item at the same position, fields boosted. */
  readonly scores: Float32Array;
}

/** Occurrences of one term while the index is built: a flat list of place, field, count, place, field, count, … */
type Occurrences = number[];

/**
 * BM25+ scores of all terms in all items, computed once; a query only adds them up. A general search library needed 33 ms
 * for a query among 10,000 playbooks; this takes less than 1 ms (decision 007).
 */
export class LexicalIndex {
  private constructor(
    private readonly postings: ReadonlyMap<string, Postings>,
    /** Per item: the boosts of its non-empty fields, divided by those of all fields. */
    readonly written: Float64Array,
  ) {}

  /** Builds an index. Takes a second of CPU for 10,000 playbooks, and yields to the event loop. */
  static async of<T>(
    items: readonly T[],
    fields: readonly Field<T>[],
    readTerms: ReadTerms,
  ): Promise<LexicalIndex> {
    const occurrencesOf = new Map<string, Occurrences>();
    /** The fields, with the number of terms in each item. */
    const read = fields.map((field) => ({ ...field, lengths: new Uint32Array(items.length) }));
    await yieldingForEach(items, (item, place) => {
      for (const [field, { text, lengths }] of read.entries()) {
        const terms = readTerms(text(item));
        lengths[place] = terms.length;
        for (const [term, times] of countsOf(terms)) {
          const occurrences = occurrencesOf.get(term);
          if (occurrences) occurrences.push(place, field, times);
          else occurrencesOf.set(term, [place, field, times]);
        }
      }
    });
    const boosts = fields.map(({ boost }) => boost);
    const allBoosts = sumOf(boosts);
    const written = Float64Array.from(items, (_, place) =>
      sumOf(read.map(({ boost, lengths }) => (lengths[place] ? boost / allBoosts : 0))),
    );
    const averages = read.map(({ lengths }) => sumOf(lengths) / items.length);
    /** BM25's factor for the length of a field of an item. */
    const norm = (field: number, place: number): number =>
      1 - bm25.b + (bm25.b * (read[field]?.lengths[place] ?? 0)) / (averages[field] || 1);
    const postings = new Map<string, Postings>();
    await yieldingForEach(occurrencesOf, ([term, occurrences]) => {
      postings.set(term, scored(occurrences, boosts, items.length, norm));
    });
    return new LexicalIndex(postings, written);
  }

  /** The postings of a term; undefined if no item contains it. */
  find(term: string): Postings | undefined {
    return this.postings.get(term);
  }
}

/** BM25's inverse document frequency. @param occurrences number of items with the term */
export function inverseFrequency(occurrences: number, items: number): number {
  return Math.log(1 + (items - occurrences + 0.5) / (occurrences + 0.5));
}

/** The items with a term, with its BM25+ score in each. */
function scored(
  occurrences: Occurrences,
  boosts: readonly number[],
  items: number,
  norm: (field: number, place: number) => number,
): Postings {
  const itemsByField = boosts.map(() => 0);
  for (let at = 1; at < occurrences.length; at += 3) {
    const field = occurrences[at] ?? 0;
    itemsByField[field] = (itemsByField[field] ?? 0) + 1;
  }
  const weights = boosts.map((boost, field) => boost * inverseFrequency(itemsByField[field] ?? 0, items));
  const scores = new Map<number, number>();
  for (let at = 0; at < occurrences.length; at += 3) {
    const [place = 0, field = 0, times = 0] = [occurrences[at], occurrences[at + 1], occurrences[at + 2]];
    const saturated = bm25.d + (times * (bm25.k + 1)) / (times + bm25.k * norm(field, place));
    scores.set(place, (scores.get(place) ?? 0) + (weights[field] ?? 0) * saturated);
  }
  return { places: Int32Array.from(scores.keys()), scores: Float32Array.from(scores.values()) };
}

/** The distinct terms, with the number of times that each occurs. */
function countsOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** A phrase, with the places of the items that have it. */
interface Phrase {
  readonly terms: readonly string[];
  readonly places: number[];
}

/** Finds items with a phrase whose words all occur in a query. Equal phrases are checked once. */
export class PhraseIndex {
  /** Phrases by their rarest term, so that a query checks few of them. */
  private constructor(private readonly phrases: ReadonlyMap<string, readonly Phrase[]>) {}

  /**
   * Builds an index.
   * @param items in the order of their places
   * @param phrasesOf the terms of each phrase of an item
   * @param occurrences the number of items with a term
   */
  static async of<T>(
    items: readonly T[],
    phrasesOf: (item: T) => readonly (readonly string[])[],
    occurrences: (term: string) => number,
  ): Promise<PhraseIndex> {
    const byRarest = new Map<string, Phrase[]>();
    const known = new Map<string, Phrase>();
    await yieldingForEach(items, (item, place) => {
      for (const terms of phrasesOf(item)) {
        const [first, ...others] = terms;
        if (first === undefined) continue;
        const key = terms.join(' ');
        const phrase = known.get(key) ?? { terms, places: [] };
        if (!known.has(key)) {
          known.set(key, phrase);
          const rarest = others.reduce((a, b) => (occurrences(b) < occurrences(a) ? b : a), first);
          const alike = byRarest.get(rarest);
          if (alike) alike.push(phrase);
          else byRarest.set(rarest, [phrase]);
        }
        phrase.places.push(place);
      }
    });
    return new PhraseIndex(byRarest);
  }

  /** Places of the items with a phrase whose terms are all in the query. */
  placesIn(query: ReadonlySet<string>): Set<number> {
    const found = new Set<number>();
    for (const term of query) {
      for (const { terms, places } of this.phrases.get(term) ?? []) {
        if (terms.every((each) => query.has(each))) for (const place of places) found.add(place);
      }
    }
    return found;
  }
}
