import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { IntervalLoop } from '../../common/interval-loop.js';
import { StartupWork } from '../../common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Tracer } from '../../observability/tracing/tracer.js';
import { type EmbeddingCalibration, EmbeddingUnavailable } from '../embedding-provider.js';
import type { SemanticScores, SemanticSearch } from '../semantic-search.js';
import { EmbeddingMetrics } from './embedding.metrics.js';
import { EmbeddingsRepository } from './embeddings.repository.js';
import { GenerationKeeper } from './generation-keeper.js';
import { GenerationsOfConfig } from './generations-of-config.js';

/** After the start, so that what else begins with it has begun. */
const firstSyncMs = 250;
/** A playbook without a vector was asked for: it is looked after sooner than regularly. */
const hastenMs = 500;
const nothing: EmbeddingCalibration = { floor: 0, cut: 0.7 };

export interface EmbeddingsState {
  readonly provider: string;
  /** Playbooks with a vector. */
  readonly vectors: number;
  /** Of this process, for the vectors alone. */
  readonly bytes: number;
  readonly degraded: string | undefined;
}

/**
 * Search by meaning over the catalogue: keeps the vectors in step in the background, and never stands in the way of a
 * search in words.
 */
@Injectable()
export class PlaybookEmbeddings
  implements SemanticSearch, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  private readonly logger = new Logger(PlaybookEmbeddings.name);
  private readonly stopping = new AbortController();
  private readonly keeper: GenerationKeeper;
  private readonly loop: IntervalLoop;
  private readonly isOff: boolean;
  private lastTrouble: string | undefined;
  private queryTrouble: string | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly work: StartupWork,
    private readonly metrics: EmbeddingMetrics,
    private readonly tracer: Tracer,
    generations: GenerationsOfConfig,
    repository: EmbeddingsRepository,
  ) {
    this.isOff = config.embeddings.provider === 'lexical';
    this.keeper = new GenerationKeeper(generations, repository);
    this.loop = new IntervalLoop(
      () => this.sync(),
      config.embeddings.syncIntervalMs,
      (error) => this.note(error),
    );
    if (!this.isOff) metrics.observe(() => this.state());
  }

  get revision(): string {
    return this.keeper.revision;
  }

  onApplicationBootstrap(): void {
    if (this.isOff) return;
    this.loop.start();
    this.loop.hasten(firstSyncMs);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.loop.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.keeper.close();
  }

  state(): EmbeddingsState {
    const { current } = this.keeper;
    return {
      provider: current?.provider.id ?? this.config.embeddings.provider,
      vectors: current?.store.size ?? 0,
      bytes: current?.store.bytes ?? 0,
      degraded: this.isOff ? undefined : (this.keeper.degraded ?? this.queryTrouble),
    };
  }

  scores(
    query: string,
    candidates: readonly string[],
    signal?: AbortSignal,
    top = candidates.length,
  ): Promise<SemanticScores> {
    const attributes = { 'toolkeeper.playbooks.candidates': candidates.length };
    return this.tracer.span('playbooks.embed', attributes, async (span) => {
      const found = await this.find(query, candidates, signal, top);
      if (found.degraded) span.set({ 'toolkeeper.playbooks.degraded': found.degraded });
      return found;
    });
  }

  private async find(
    query: string,
    candidates: readonly string[],
    signal: AbortSignal | undefined,
    top: number,
  ): Promise<SemanticScores> {
    const { current } = this.keeper;
    if (this.isOff || candidates.length === 0) return without(undefined);
    if (!current) return this.degraded(this.keeper.degraded ?? 'indexing');
    try {
      const deadline = AbortSignal.timeout(this.config.embeddings.queryTimeoutMs);
      const either = signal ? AbortSignal.any([signal, deadline]) : deadline;
      const started = performance.now();
      const [vector] = await current.provider.embed([query], 'query', either);
      this.metrics.embedded(performance.now() - started);
      if (!vector) return this.degraded('wrong_answer');
      const cosines = await current.store.scores(vector, candidates, top);
      this.queryTrouble = undefined;
      if (cosines.size < Math.min(top, candidates.length)) this.loop.hasten(hastenMs);
      return { calibration: current.provider.calibration, cosines, degraded: undefined };
    } catch (error) {
      signal?.throwIfAborted();
      this.note(error);
      this.queryTrouble = troubleOf(error);
      return this.degraded(this.queryTrouble);
    }
  }

  private async sync(): Promise<void> {
    // The first vectors are made when the folder of playbooks has been read.
    await this.work.settled();
    this.stopping.signal.throwIfAborted();
    await this.keeper.sync(this.stopping.signal);
    if (this.lastTrouble !== undefined) this.logger.log('embeddings: working again');
    this.lastTrouble = undefined;
  }

  private degraded(reason: string): SemanticScores {
    this.metrics.degraded(reason);
    return without(reason);
  }

  /** Said once, until it works again or another one comes. */
  private note(error: unknown): void {
    if (this.stopping.signal.aborted) return;
    const trouble = troubleOf(error);
    if (trouble === this.lastTrouble) return;
    this.lastTrouble = trouble;
    this.logger.warn(
      error,
      `embeddings: ${error instanceof Error ? error.message : trouble}; search goes on with what it has`,
    );
  }
}

const without = (degraded: string | undefined): SemanticScores => ({
  calibration: nothing,
  cosines: new Map(),
  degraded,
});

function troubleOf(error: unknown): string {
  if (error instanceof EmbeddingUnavailable) return error.trouble;
  return (error as Error).name === 'TimeoutError' ? 'timed_out' : 'index_failed';
}
