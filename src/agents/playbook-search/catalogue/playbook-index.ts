import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { TableFollower } from '../../../base/database/table-follower.js';
import { PlaybookCatalogueService } from '../../playbooks/playbook-catalogue.service.js';
import { BlendedRanker } from '../ranking/blended.ranker.js';
import { abortable } from '../../../base/common/abortable.js';
import { Tracer } from '../../../base/observability/tracing/tracer.js';
import { type CallerLabels, clashOf, normalisedLabels } from '../label-filter.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type RankedPlaybook,
  type RankRequest,
  shownConfidence,
} from '../playbook-ranker.js';
import type { FoundPlaybooks, PlaybookAnswer, PlaybookSearch, PlaybookSource } from '../playbook-source.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import { PlaybooksRepository } from '../../playbooks/playbooks.repository.js';
import type { PlaybookHitView } from '../rest/playbook-search.dto.js';
import { explainSearch } from './search-explanation.js';

/** Max cached ids over all sets of labels, about 40 MB. Agents of one cluster share a few dozen sets. */
const maxCachedIds = 1_000_000;

interface SearchResult {
  readonly answer: PlaybookAnswer;
  /** See `Ranked.degraded`. */
  readonly degraded: string | undefined;
  /** All playbooks that the ranker returned. */
  readonly ranked: readonly RankedPlaybook[];
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
}

/** The built-in catalogue, searchable in memory. After a change the next search reads the catalogue again. */
@Injectable()
export class PlaybookIndex implements PlaybookSource {
  readonly kind = 'catalogue';
  readonly maxMs = 2_000;
  /** The catalogue in memory, perhaps still loading; undefined after a change. */
  private loading: Promise<PlaybookSnapshot> | undefined;
  /** Number of known changes. */
  private changes = 0;
  /** The database's revision at the last reading, and the number of known changes before it. */
  private loaded = { revision: '', changes: -1 };

  constructor(
    private readonly repository: PlaybooksRepository,
    @Inject(BlendedRanker) private readonly ranker: PlaybookRanker,
    private readonly tracer: Tracer,
  ) {}

  /** Changes whenever an equal search may have another result. Cheap to read. */
  get revision(): string {
    return `${this.changes}.${this.ranker.revision ?? ''}`;
  }

  /** Notes a change of the catalogue, which all later searches see. */
  invalidate(): void {
    this.changes += 1;
    this.loading = undefined;
  }

  /**
   * Reads the catalogue again if its revision in the database differs, after changes by other replicas.
   * @throws the database's error
   */
  async follow(revision: string): Promise<void> {
    const isCurrent = this.loading !== undefined && this.loaded.changes === this.changes;
    if (isCurrent && this.loaded.revision !== revision) this.invalidate();
    await this.snapshot();
  }

  async search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks> {
    const { answer, degraded } = await abortable(this.find(search, { signal }), signal);
    // Degraded answers are not cached, because the endpoint may be back with the next call.
    return degraded === undefined ? { answer } : { answer, ttlMs: 0 };
  }

  /** Searches the catalogue. @throws the database's error if it must be read but cannot; the signal's reason */
  async find(
    search: PlaybookSearch,
    { signal, explain }: Pick<RankRequest, 'signal' | 'explain'> = {},
  ): Promise<SearchResult> {
    const snapshot = await this.snapshot();
    const { playbooks, ranking } = snapshot;
    const { query, similarityThreshold: threshold, limit } = search;
    const candidates = snapshot.candidates(normalisedLabels(search.labels));
    const attributes = { 'toolkeeper.playbooks.candidates': candidates.size };
    const request = { query, threshold, limit, signal, ...(explain !== undefined && { explain }) };
    const { playbooks: ranked, degraded } = await this.tracer.span('playbooks.rank', attributes, () =>
      ranking.rank(request, candidates),
    );
    return { answer: answerOf(playbooks, ranked, search), degraded, ranked, playbooks };
  }

  /** Searches, and explains for each playbook why it is in the answer or not. For authors: reads the database. */
  async explain(search: PlaybookSearch) {
    const { revision } = this;
    const [result, hidden] = await Promise.all([
      this.find(search, { explain: true }),
      this.repository.hidden(),
    ]);
    const { answer, degraded } = result;
    const callerLabels = normalisedLabels(search.labels);
    return {
      answer,
      explained: explainSearch({ ...search, ...result, hidden, callerLabels }),
      degraded,
      revision,
    };
  }

  /** The catalogue in memory. Concurrent searches share one reading; after a failure the next search reads again. */
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
    const changes = this.changes;
    const { revision, playbooks } = await this.repository.searchable();
    const snapshot = new PlaybookSnapshot(playbooks, await this.ranker.prepare(playbooks));
    // A reading that began before the latest change may lack it.
    if (changes === this.changes) this.loaded = { revision, changes };
    return snapshot;
  }
}

/** The catalogue at one revision: the active latest versions. */
class PlaybookSnapshot {
  readonly playbooks: ReadonlyMap<string, SearchablePlaybook>;
  private readonly allIds: ReadonlySet<string>;
  /** Ids of the matching playbooks, by the caller's labels. */
  private readonly idsByLabels = new LRUCache<string, ReadonlySet<string>>({
    maxSize: maxCachedIds,
    sizeCalculation: ({ size }) => size + 1,
  });

  constructor(
    catalogue: readonly SearchablePlaybook[],
    readonly ranking: PlaybookRanking,
  ) {
    this.playbooks = new Map(catalogue.map((playbook) => [playbook.playbook_id, playbook]));
    this.allIds = new Set(this.playbooks.keys());
  }

  /** Ids of playbooks that match the labels. The same set object for equal labels. */
  candidates(callerLabels: CallerLabels): ReadonlySet<string> {
    if (callerLabels.size === 0) return this.allIds;
    const key = JSON.stringify([...callerLabels].sort(([a], [b]) => (a < b ? -1 : 1)));
    const cached = this.idsByLabels.get(key);
    if (cached) return cached;
    const ids = new Set<string>();
    for (const playbook of this.playbooks.values()) {
      if (clashOf(playbook.labels, callerLabels) === undefined) ids.add(playbook.playbook_id);
    }
    this.idsByLabels.set(key, ids);
    return ids;
  }
}

/** The answer for an LLM: the best playbooks above the threshold. */
function answerOf(
  playbooks: ReadonlyMap<string, SearchablePlaybook>,
  ranked: readonly RankedPlaybook[],
  { similarityThreshold, limit }: PlaybookSearch,
): PlaybookAnswer {
  const hits: PlaybookHitView[] = [];
  for (const { playbookId, confidence: exact } of ranked) {
    if (hits.length === limit) break;
    const playbook = playbooks.get(playbookId);
    // Compares the rounded confidence, so that no answer shows one below the threshold.
    const confidence = shownConfidence(exact);
    if (!playbook || confidence < similarityThreshold) continue;
    const { playbook_id, version, description } = playbook;
    hits.push({ playbook_id, version, description, confidence });
  }
  return { playbooks: hits, total_results: hits.length };
}

/**
 * Keeps the index up to date: with local changes at once, with those of other replicas when the database notifies of
 * them. Reads the catalogue at the start, before the first search.
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
