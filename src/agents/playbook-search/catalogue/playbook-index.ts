import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { TableFollower } from '../../../base/database/table-follower.js';
import { PlaybookCatalogueService } from '../../playbooks/playbook-catalogue.service.js';
import { BlendedRanker } from '../ranking/blended.ranker.js';
import { abortable } from '../../../base/common/abortable.js';
import { Tracer } from '../../../base/observability/tracing/tracer.js';
import { type AskedLabels, labelsMatch, normalisedLabels } from '../label-filter.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type RankedPlaybook,
  shownConfidence,
} from '../playbook-ranker.js';
import type { FoundPlaybooks, PlaybookAnswer, PlaybookSearch, PlaybookSource } from '../playbook-source.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import { PlaybooksRepository } from '../../playbooks/playbooks.repository.js';
import type { PlaybookHitView } from '../rest/playbook-search.dto.js';
import { explainSearch } from './search-explanation.js';

/** One search of one state of the catalogue. */
interface Found {
  readonly answer: PlaybookAnswer;
  /** See `Ranked.degraded`: the same search may find more in a moment. */
  readonly degraded: string | undefined;
  /** All that the ranker gave. */
  readonly ranked: readonly RankedPlaybook[];
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
}

/** The built-in catalogue, searchable in memory. It is read again after a change, by the first search that needs it. */
@Injectable()
export class PlaybookIndex implements PlaybookSource {
  readonly kind = 'catalogue';
  readonly maxMs = 2_000;
  private loading: Promise<PlaybookSnapshot> | undefined;
  private changes = 0;
  /** The last reading: the database's revision, and the number of known changes when it began. */
  private loaded = { revision: '', changes: -1 };

  constructor(
    private readonly repository: PlaybooksRepository,
    @Inject(BlendedRanker) private readonly ranker: PlaybookRanker,
    private readonly tracer: Tracer,
  ) {}

  /** Another one whenever an equal search may find something else. Costs nothing to read. */
  get revision(): string {
    return `${this.changes}.${this.ranker.revision ?? ''}`;
  }

  /** The catalogue has changed: a search that begins after this sees the change. */
  invalidate(): void {
    this.changes += 1;
    this.loading = undefined;
  }

  /**
   * Compares with the catalogue's revision in the database, and reads it again where they differ: after changes that
   * other replicas made. @throws the database's error
   */
  async follow(revision: string): Promise<void> {
    const isCurrent = this.loading !== undefined && this.loaded.changes === this.changes;
    if (isCurrent && this.loaded.revision !== revision) this.invalidate();
    await this.snapshot();
  }

  async search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks> {
    const { answer, degraded } = await abortable(this.find(search, signal), signal);
    // The endpoint may be back with the next call.
    return degraded === undefined ? { answer } : { answer, ttlMs: 0 };
  }

  /** @throws the database's error when the catalogue must be read and cannot; the signal's reason when it aborts */
  async find(search: PlaybookSearch, signal?: AbortSignal, explain = false): Promise<Found> {
    const snapshot = await this.snapshot();
    const { query, similarityThreshold: threshold, limit } = search;
    const candidates = snapshot.candidates(normalisedLabels(search.labels));
    const attributes = { 'toolkeeper.playbooks.candidates': candidates.size };
    const request = { query, threshold, limit, signal, explain };
    const { playbooks: ranked, degraded } = await this.tracer.span('playbooks.rank', attributes, () =>
      snapshot.ranking.rank(request, candidates),
    );
    const { playbooks } = snapshot;
    return { answer: answerOf(playbooks, ranked, search), degraded, ranked, playbooks };
  }

  /** The same search, and why each playbook is in its answer or not. Reads the database: it is for authors. */
  async explain(search: PlaybookSearch) {
    const { revision } = this;
    const [found, hidden] = await Promise.all([this.find(search, undefined, true), this.repository.hidden()]);
    const { answer, degraded, ranked } = found;
    const playbooks = found.playbooks.values();
    const asked = normalisedLabels(search.labels);
    const { similarityThreshold, limit } = search;
    const explained = explainSearch({ playbooks, hidden, asked, ranked, similarityThreshold, limit });
    return { answer, explained, degraded, revision };
  }

  /** Searches that come together share one reading; a failed one is tried again by the next search. */
  private snapshot(): Promise<PlaybookSnapshot> {
    if (this.loading) return this.loading;
    const loading = this.load();
    this.loading = loading;
    loading.catch(() => {
      if (this.loading === loading) this.loading = undefined;
    });
    return loading;
  }

  private async load(): Promise<PlaybookSnapshot> {
    const before = this.changes;
    const { revision, playbooks } = await this.repository.searchable();
    const snapshot = new PlaybookSnapshot(playbooks, await this.ranker.prepare(playbooks));
    // A reading that a change has overtaken says nothing of the one that came after it.
    if (before === this.changes) this.loaded = { revision, changes: before };
    return snapshot;
  }
}

/** Ids remembered over all situations (sets of labels), some 40 MB: agents of one cluster share a few dozen. */
const maxRemembered = 1_000_000;

/** One state of the catalogue, as search sees it: what is active and the latest of its id. */
class PlaybookSnapshot {
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
  private readonly everything: ReadonlySet<string>;
  private readonly situations = new LRUCache<string, ReadonlySet<string>>({
    maxSize: maxRemembered,
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

function answerOf(
  playbooks: ReadonlyMap<string, SearchablePlaybook>,
  ranked: readonly RankedPlaybook[],
  { similarityThreshold, limit }: PlaybookSearch,
): PlaybookAnswer {
  const hits: PlaybookHitView[] = [];
  for (const { playbookId, confidence: exact } of ranked) {
    if (hits.length === limit) break;
    const playbook = playbooks.get(playbookId);
    // The filter looks at what is shown: no answer holds a confidence below the one that was asked for.
    const confidence = shownConfidence(exact);
    if (!playbook || confidence < similarityThreshold) continue;
    const { playbook_id, version, description } = playbook;
    hits.push({ playbook_id, version, description, confidence });
  }
  return { playbooks: hits, total_results: hits.length };
}

/**
 * Lets search follow the catalogue: changes made here at once, and those of others when the database notifies of them.
 * The catalogue is read before the first search needs it.
 */
@Injectable()
export class CatalogueFollower implements OnApplicationBootstrap {
  constructor(
    private readonly follower: TableFollower,
    private readonly repository: PlaybooksRepository,
    private readonly index: PlaybookIndex,
    catalogue: PlaybookCatalogueService,
  ) {
    catalogue.changed.subscribe(() => index.invalidate());
  }

  onApplicationBootstrap(): void {
    const followed = { table: 'playbook_catalog', what: 'the playbook catalogue' };
    this.follower.follow(followed, async () => this.index.follow(await this.repository.revision()));
  }
}
