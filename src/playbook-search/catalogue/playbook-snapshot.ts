import { LRUCache } from 'lru-cache';
import { type AskedLabels, labelsMatch } from '../label-filter.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import type { PlaybookRanking } from '../playbook-ranker.js';

/** Ids remembered over all situations (sets of labels), some 40 MB: agents of one cluster share a few dozen. */
const mostRemembered = 1_000_000;

/** One state of the catalogue, as search sees it: what is active and the latest of its id. */
export class PlaybookSnapshot {
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
  private readonly everything: ReadonlySet<string>;
  private readonly situations = new LRUCache<string, ReadonlySet<string>>({
    maxSize: mostRemembered,
    sizeCalculation: ({ size }) => size + 1,
  });

  constructor(
    catalogue: readonly SearchablePlaybook[],
    readonly ranking: PlaybookRanking,
  ) {
    this.playbooks = new Map(catalogue.map((playbook) => [playbook.playbook_id, playbook]));
    this.everything = new Set(this.playbooks.keys());
  }

  /** @returns ids of what may be shown at all; the very same set for equal labels */
  candidates(asked: AskedLabels): ReadonlySet<string> {
    if (asked.size === 0) return this.everything;
    const situation = JSON.stringify([...asked].sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = this.situations.get(situation);
    if (known) return known;
    const found = new Set<string>();
    for (const playbook of this.playbooks.values()) {
      if (labelsMatch(playbook.labels, asked)) found.add(playbook.playbook_id);
    }
    this.situations.set(situation, found);
    return found;
  }
}
