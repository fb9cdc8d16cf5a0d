import { yieldingForEach } from '../common/yielding-for-each.js';

/** Which items have a phrase whose words all stand in a query. Equal phrases are looked at once. */
export class PhraseIndex {
  /** By the phrase's rarest term, so that few phrases are looked at. */
  private constructor(private readonly phrases: ReadonlyMap<string, readonly Phrase[]>) {}

  /**
   * @param items in the order of their places
   * @param phrasesOf the terms of each phrase of an item
   * @param occurrences in how many items a term occurs
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

  /** @returns places of the items that have such a phrase */
  shownIn(query: ReadonlySet<string>): Set<number> {
    const shown = new Set<number>();
    for (const term of query) {
      for (const { terms, places } of this.phrases.get(term) ?? []) {
        if (terms.every((each) => query.has(each))) for (const place of places) shown.add(place);
      }
    }
    return shown;
  }
}

interface Phrase {
  readonly terms: readonly string[];
  readonly places: number[];
}
