import { Inject, Injectable } from '@nestjs/common';
import { labelsMatch, normalisedLabels } from './label-filter.js';
import type { PlaybookAnswer, PlaybookQuery, SearchablePlaybook } from './playbook.types.js';
import { PLAYBOOK_RANKER, type PlaybookRanker, type PlaybookRanking } from './playbook-ranker.js';
import { PlaybooksRepository } from './playbooks.repository.js';

/** One state of the catalogue, as search sees it. */
interface Snapshot {
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
  readonly ranking: PlaybookRanking;
}

/** The searchable catalogue in memory. It is read again after a change, by the first search that needs it. */
@Injectable()
export class PlaybookIndex {
  private loading: Promise<Snapshot> | undefined;
  private changes = 0;

  constructor(
    private readonly repository: PlaybooksRepository,
    @Inject(PLAYBOOK_RANKER) private readonly ranker: PlaybookRanker,
  ) {}

  /** Another one after each change. */
  get revision(): string {
    return String(this.changes);
  }

  /** The catalogue has changed: a search that begins after this sees the change. */
  invalidate(): void {
    this.changes += 1;
    this.loading = undefined;
  }

  /** @throws the database's error when the catalogue must be read and cannot */
  async search({ query, labels, minConfidence, limit }: PlaybookQuery): Promise<PlaybookAnswer> {
    const { playbooks, ranking } = await this.snapshot();
    const asked = normalisedLabels(labels);
    const candidates = new Set<string>();
    for (const playbook of playbooks.values()) {
      if (labelsMatch(playbook.labels, asked)) candidates.add(playbook.playbook_id);
    }
    const ranked = await ranking.rank(query, candidates);
    const hits = ranked
      .flatMap(({ playbookId, score }) => {
        const playbook = playbooks.get(playbookId);
        // The filter looks at what is shown: no answer holds a confidence below the one that was asked for.
        const confidence = Math.round(score * 100) / 100;
        if (!playbook || confidence < minConfidence) return [];
        const { playbook_id, version, description } = playbook;
        return [{ playbook_id, version, description, confidence }];
      })
      .slice(0, limit);
    return { playbooks: hits, total_results: hits.length };
  }

  /** Searches that come together share one reading; a failed one is tried again by the next search. */
  private snapshot(): Promise<Snapshot> {
    if (this.loading) return this.loading;
    const loading = this.load();
    this.loading = loading;
    loading.catch(() => {
      if (this.loading === loading) this.loading = undefined;
    });
    return loading;
  }

  private async load(): Promise<Snapshot> {
    const catalogue = await this.repository.searchable();
    const playbooks = new Map(catalogue.map((playbook) => [playbook.playbook_id, playbook]));
    return { playbooks, ranking: await this.ranker.prepare(catalogue) };
  }
}
