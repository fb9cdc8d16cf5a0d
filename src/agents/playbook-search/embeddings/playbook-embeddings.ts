import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge, Histogram } from 'prom-client';
import { sha256 } from '../../../base/common/canonical-json.js';
import { yieldingForEach } from '../../../base/lexical-search/yielding-for-each.js';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Contributors, type PartHealth } from '../../../base/observability/contributors.js';
import { Tracer } from '../../../base/observability/tracing/tracer.js';
import { degradedSearchesMetric, durationsMetric, upMetric, vectorsMetric } from './embedding.metrics.js';
import { type EmbeddingKind, EmbeddingsEndpoint } from './embeddings-endpoint.js';
import { type EmbeddablePlaybook, EmbeddingsRepository } from './embeddings.repository.js';
import {
  type EmbeddingCalibration,
  middleOf,
  passagesOf,
  type SemanticScores,
  VectorStore,
} from './vector-store.js';

/** Pause after a change of the catalogue, so that several changes are embedded together. */
const gatherMs = 250;
/** Pause before failed embeddings are retried. */
const retryMs = 5_000;
const playbooksPerRequest = 8;

/** The scale of a model's cosines. @param cut cosine from which a playbook is relevant */
export const calibrationAt = (cut: number): EmbeddingCalibration => ({ floor: cut - 0.2, cut });

/** A playbook of the catalogue, with the texts to embed. */
interface EmbeddingJob {
  readonly playbook_id: string;
  readonly version: string;
  readonly passages: readonly string[];
  /** Hash of the passages, which identifies the vector. */
  readonly hash: string;
}

/**
 * Semantic search over the catalogue, if an endpoint is configured. It updates the vectors in the background and never
 * delays or fails a lexical search.
 */
@Injectable()
export class PlaybookEmbeddings implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(PlaybookEmbeddings.name);
  /** Aborts requests for documents when the server stops. */
  private readonly stopping = new AbortController();
  private readonly endpoint: EmbeddingsEndpoint | undefined;
  private readonly store = new VectorStore();
  private readonly loop = new IntervalLoop(
    () => this.sync(),
    retryMs,
    (error) => this.reportOutcome('document', error),
  );
  private readonly calibration: EmbeddingCalibration;
  private catalogue: readonly EmbeddablePlaybook[] | undefined;
  /** The catalogue whose playbooks all have their vectors. */
  private embeddedCatalogue: readonly EmbeddablePlaybook[] | undefined;
  /** Hashes of texts that the endpoint rejects, by playbook id; they are not sent again. */
  private readonly rejected = new Map<string, string>();
  /** Number of changes of the vectors. */
  private changes = 0;
  /** One word for the reason why vectors of queries or of playbooks (documents) are missing; absent: none are. */
  private readonly problems: Partial<Record<EmbeddingKind, string>> = { document: 'indexing' };

  constructor(
    @Inject(APP_CONFIG) { embeddings }: Pick<AppConfig, 'embeddings'>,
    private readonly repository: EmbeddingsRepository,
    private readonly tracer: Tracer,
    contributors: Contributors,
    @InjectMetric(durationsMetric) private readonly durations: Histogram,
    @InjectMetric(degradedSearchesMetric) private readonly degradedSearches: Counter,
    @InjectMetric(vectorsMetric) vectorsGauge: Gauge,
    @InjectMetric(upMetric) upGauge: Gauge,
  ) {
    contributors.addHealth('embeddings', () => this.health());
    this.calibration = calibrationAt(embeddings?.cut ?? 0);
    if (!embeddings) return;
    this.endpoint = new EmbeddingsEndpoint(embeddings);
    contributors.addSampler(() => {
      vectorsGauge.set(this.store.size);
      upGauge.set(this.degraded() === undefined ? 1 : 0);
    });
  }

  /** Changes whenever an equal query may get other scores. */
  get revision(): string {
    return `${this.changes}`;
  }

  onApplicationBootstrap(): void {
    if (!this.endpoint) return;
    this.loop.start();
    this.loop.hasten(gatherMs);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.loop.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.endpoint?.close();
  }

  /** Replaces the catalogue; its vectors are made in the background. */
  follow(catalogue: readonly EmbeddablePlaybook[]): void {
    this.catalogue = catalogue;
    this.loop.hasten(gatherMs);
  }

  /**
   * Scores of playbooks for a query. Without an endpoint or vectors `cosines` is empty and `degraded` has the reason.
   * @param query not blank
   * @param candidates ids that passed the label filter
   * @param top max playbooks, the nearest first
   * @throws the signal's reason when it aborts
   */
  scores(
    query: string,
    candidates: ReadonlySet<string>,
    signal?: AbortSignal,
    top = candidates.size,
  ): Promise<SemanticScores> {
    const attributes = { 'toolkeeper.playbooks.candidates': candidates.size };
    return this.tracer.span('playbooks.embed', attributes, async (span) => {
      const scores = await this.findScores(query, candidates, signal, top);
      if (scores.degraded) span.set({ 'toolkeeper.playbooks.degraded': scores.degraded });
      return scores;
    });
  }

  /** One word for the reason why a playbook has no vector; undefined if all have one. */
  private missingReason(): string | undefined {
    return this.problems.document ?? (this.rejected.size > 0 ? 'rejected' : undefined);
  }

  /** One word for the reason why a playbook or the query of a search gets no vector; undefined if all get one. */
  private degraded(): string | undefined {
    return this.endpoint && (this.missingReason() ?? this.problems.query);
  }

  /** Never `down`, because search by words works without vectors. */
  private health(): PartHealth {
    const embeddings = { provider: this.endpoint?.id ?? 'lexical', vectors: this.store.size };
    const reason = this.degraded();
    if (reason === undefined) return { status: 'up', ...embeddings };
    return { status: 'degraded', ...embeddings, message: reason };
  }

  /** `scores` without its span. */
  private async findScores(
    query: string,
    candidates: ReadonlySet<string>,
    signal: AbortSignal | undefined,
    top: number,
  ): Promise<SemanticScores> {
    const { endpoint, store, calibration } = this;
    if (!endpoint || candidates.size === 0) return this.noScores(undefined);
    // A changed catalogue may not be embedded yet.
    const missingReason = this.missingReason() ?? 'indexing';
    if (store.size === 0) return this.noScores(missingReason);
    try {
      const started = performance.now();
      const [vector = new Float32Array()] = await endpoint.embed([query], 'query', signal);
      this.durations.observe((performance.now() - started) / 1_000);
      this.reportOutcome('query');
      const cosines = await store.scores(vector, candidates, top);
      const isComplete = cosines.size >= Math.min(top, candidates.size);
      return { calibration, cosines, degraded: isComplete ? undefined : missingReason };
    } catch (error) {
      signal?.throwIfAborted();
      this.reportOutcome('query', error);
      return this.noScores(problemOf(error));
    }
  }

  /** The result of a search by words alone. */
  private noScores(degraded: string | undefined): SemanticScores {
    if (degraded !== undefined) this.degradedSearches.inc({ reason: degraded });
    return { calibration: this.calibration, cosines: new Map(), degraded };
  }

  /** Embeds the playbooks without a vector. After a failure the next run continues with the remaining ones. */
  private async sync(): Promise<void> {
    const { catalogue, endpoint } = this;
    if (!endpoint || !catalogue || catalogue === this.embeddedCatalogue) return;
    const missing = await this.loadStored(catalogue, endpoint);
    for (let start = 0; start < missing.length; start += playbooksPerRequest)
      await this.embedAll(missing.slice(start, start + playbooksPerRequest), endpoint);
    this.embeddedCatalogue = catalogue;
    this.reportOutcome('document');
  }

  /** Loads the stored vectors of these playbooks and drops others. @returns the playbooks still without a vector */
  private async loadStored(
    catalogue: readonly EmbeddablePlaybook[],
    { id }: EmbeddingsEndpoint,
  ): Promise<readonly EmbeddingJob[]> {
    const jobs = new Map<string, EmbeddingJob>();
    await yieldingForEach(catalogue, (playbook) => jobs.set(playbook.playbook_id, jobOf(playbook)));
    const isCurrent = ({ playbook_id, hash }: Pick<EmbeddingJob, 'playbook_id' | 'hash'>): boolean =>
      jobs.get(playbook_id)?.hash === hash;
    this.store.retain(({ playbook_id, version }) => jobs.get(playbook_id)?.version === version);
    for (const [playbook_id, hash] of this.rejected)
      if (!isCurrent({ playbook_id, hash })) this.rejected.delete(playbook_id);
    const isMissing = (job: EmbeddingJob): boolean =>
      !this.store.has(job) && !this.rejected.has(job.playbook_id);
    const missing = [...jobs.values()].filter(isMissing);
    for await (const page of this.repository.vectors(id, missing)) this.store.put(page.filter(isCurrent));
    this.changes++;
    return missing.filter(isMissing);
  }

  /** Embeds playbooks. A playbook whose text the endpoint rejects gets no vector; the others do. */
  private async embedAll(jobs: readonly EmbeddingJob[], endpoint: EmbeddingsEndpoint): Promise<void> {
    try {
      await this.embed(jobs, endpoint);
    } catch (error) {
      const [first] = jobs;
      if (!first || problemOf(error) !== 'rejected') throw error;
      if (jobs.length > 1) {
        for (const job of jobs) await this.embedAll([job], endpoint);
        return;
      }
      // If the endpoint rejects this text as well, the playbook is not the cause, and the error is thrown.
      await endpoint.embed(['a harmless word'], 'document', this.stopping.signal);
      this.rejected.set(first.playbook_id, first.hash);
      this.logger.warn(
        `Playbook ${first.playbook_id}@${first.version} has no embedding, the endpoint rejects its text (${String(error)})`,
      );
    }
  }

  /** Embeds playbooks with one request, and stores their vectors. */
  private async embed(jobs: readonly EmbeddingJob[], endpoint: EmbeddingsEndpoint): Promise<void> {
    const texts = jobs.flatMap(({ passages }) => passages);
    const vectors = await endpoint.embed(texts, 'document', this.stopping.signal);
    let next = 0;
    const rows = jobs.map(({ passages, ...identity }) => {
      const ofPlaybook = vectors.slice(next, next + passages.length);
      next += passages.length;
      return { ...identity, vector: middleOf(ofPlaybook) };
    });
    await this.repository.store(endpoint.id, rows);
    this.store.put(rows);
    this.changes++;
  }

  /** Notes whether embedding works. Logs a problem once, until it changes or ends. @param error absent after a success */
  private reportOutcome(kind: EmbeddingKind, error?: unknown): void {
    const problem = error === undefined ? undefined : problemOf(error);
    if (this.stopping.signal.aborted || problem === this.problems[kind]) return;
    this.problems[kind] = problem;
    const what = kind === 'query' ? 'queries' : 'playbooks';
    if (problem === undefined) this.logger.log(`Embeddings of ${what} are made`);
    else
      this.logger.warn(error, `Embeddings of ${what} are not made (${String(error)}); search goes by words`);
  }
}

function jobOf(playbook: EmbeddablePlaybook): EmbeddingJob {
  const passages = passagesOf(playbook);
  const { playbook_id, version } = playbook;
  return { playbook_id, version, passages, hash: sha256(JSON.stringify(passages)) };
}

/** One word for an error. */
const problemOf = (error: unknown): string => (error instanceof UpstreamFailure ? error.kind : 'database');
