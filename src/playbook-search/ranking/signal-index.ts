import { inTurns } from '../../common/in-turns.js';

/** Which playbooks have a signal or an alias whose words all stand in a query. Equal phrases are looked at once. */
export class SignalIndex {
  /** By the phrase's rarest term, so that few phrases are looked at. */
  private constructor(private readonly phrases: ReadonlyMap<string, readonly Phrase[]>) {}

  /**
   * @param playbooks in the order of their places
   * @param phrasesOf the terms of each signal and alias of a playbook
   * @param occurrences in how many playbooks a term occurs
   */
  static async of<T>(
    playbooks: readonly T[],
    phrasesOf: (playbook: T) => readonly (readonly string[])[],
    occurrences: (term: string) => number,
  ): Promise<SignalIndex> {
    const byRarest = new Map<string, Phrase[]>();
    const known = new Map<string, Phrase>();
    await inTurns(playbooks, (playbook, place) => {
      for (const terms of phrasesOf(playbook)) {
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
    return new SignalIndex(byRarest);
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
