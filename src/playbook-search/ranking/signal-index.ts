/** Which playbooks have a signal or an alias whose words all stand in a query. Equal phrases are looked at once. */
export class SignalIndex {
  /** By the phrase's rarest term, so that few phrases are looked at. */
  private readonly phrases = new Map<string, Phrase[]>();

  /**
   * @param phrasesOf of each playbook, by its place: the terms of each of its signals and aliases
   * @param occurrences in how many playbooks a term occurs
   */
  constructor(phrasesOf: readonly (readonly (readonly string[])[])[], occurrences: (term: string) => number) {
    const known = new Map<string, Phrase>();
    phrasesOf.forEach((phrases, place) => {
      for (const terms of phrases) {
        const [first, ...others] = terms;
        if (first === undefined) continue;
        const key = terms.join(' ');
        const phrase = known.get(key) ?? { terms, places: [] };
        if (!known.has(key)) {
          known.set(key, phrase);
          const rarest = others.reduce((a, b) => (occurrences(b) < occurrences(a) ? b : a), first);
          this.phrases.set(rarest, [...(this.phrases.get(rarest) ?? []), phrase]);
        }
        phrase.places.push(place);
      }
    });
  }

  /** @returns places of the playbooks that have such a phrase */
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
