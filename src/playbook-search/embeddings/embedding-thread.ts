import { type BackOff, backOff } from '../../common/back-off.js';
import { WorkerCalls, WorkerEnded } from '../../common/worker-calls.js';
import { type EmbeddingKind, EmbeddingUnavailable } from '../embedding-provider.js';
import { EmbeddingJob, EmbeddingQueue } from './embedding-queue.js';
import type { EmbedRequest, ModelOrder } from './thread-messages.js';

export interface EmbeddingThreadSettings {
  /** The thread's program. */
  readonly script: URL;
  readonly order: ModelOrder;
  /** Requests of one kind that may wait. */
  readonly maxQueue: number;
  readonly loadTimeoutMs: number;
  /** One text. */
  readonly textTimeoutMs: number;
  /** The model's memory is freed when nothing was asked for so long; 0: never. */
  readonly idleMs: number;
  /** After a model that could not be loaded. */
  readonly retry: BackOff;
  /** For the log: the thread ended, or could not begin, by itself. */
  onTrouble(trouble: EmbeddingUnavailable): void;
}

/**
 * A model in a thread of its own. The thread starts with the first request, ends when it idles, and is replaced when
 * it dies or takes too long; only the text under way is lost with it.
 */
export class EmbeddingThread {
  private readonly queue: EmbeddingQueue;
  private readonly worker: WorkerCalls<EmbedRequest, number | Float32Array>;
  private loaded = false;
  private isBusy = false;
  private idle: NodeJS.Timeout | undefined;
  private failedLoads = 0;
  private lastFailure: EmbeddingUnavailable | undefined;
  private retryAt = 0;
  private dimensionsKnown = 0;

  constructor(private readonly settings: EmbeddingThreadSettings) {
    this.queue = new EmbeddingQueue(settings.maxQueue);
    this.worker = new WorkerCalls(settings.script, {
      name: 'embedding model',
      workerData: settings.order,
      onDeath: (error) => {
        this.loaded = false;
        const trouble = troubleOf(error);
        if (trouble) settings.onTrouble(trouble);
      },
    });
  }

  /** 0 until the model has been loaded once. */
  get dimensions(): number {
    return this.dimensionsKnown;
  }

  /**
   * @returns a vector of length 1 for each text
   * @throws EmbeddingUnavailable; the signal's reason when it aborts
   */
  async embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    if (this.lastFailure && Date.now() < this.retryAt) throw this.lastFailure;
    const job = new EmbeddingJob(texts, kind, signal);
    if (!this.queue.add(job)) job.fail(new EmbeddingUnavailable('queue_full', 'Too many texts wait'));
    this.proceed();
    return job.result;
  }

  /** Ends the thread and refuses what waits; the next request starts it again. */
  async close(): Promise<void> {
    this.queue.failAll(new EmbeddingUnavailable('not_loaded', 'The model is being unloaded'));
    await this.unload();
  }

  /** The one place that decides what happens next. */
  private proceed(): void {
    if (this.isBusy) return;
    const job = this.queue.next();
    if (!job) return this.rest();
    clearTimeout(this.idle);
    this.isBusy = true;
    const work = this.loaded ? this.embedNext(job) : this.load();
    void work.finally(() => {
      this.isBusy = false;
      this.proceed();
    });
  }

  private async embedNext(job: EmbeddingJob): Promise<void> {
    const text = job.nextText;
    if (text === undefined) return;
    try {
      job.add((await this.worker.call({ text }, this.settings.textTimeoutMs)) as Float32Array);
    } catch (error) {
      const trouble = troubleOf(error);
      job.fail(trouble ?? new EmbeddingUnavailable('wrong_answer', `The model failed: ${messageOf(error)}`));
    }
  }

  /** A model that cannot be loaded would not load at once either: what waits is told so. */
  private async load(): Promise<void> {
    try {
      this.dimensionsKnown = (await this.worker.call({ load: true }, this.settings.loadTimeoutMs)) as number;
      this.loaded = true;
      this.failedLoads = 0;
      this.lastFailure = undefined;
    } catch (error) {
      if (error instanceof WorkerEnded && error.reason === 'stopped') return;
      const trouble = troubleOf(error);
      this.lastFailure = trouble ?? new EmbeddingUnavailable('not_loaded', messageOf(error));
      if (!trouble) this.settings.onTrouble(this.lastFailure);
      this.retryAt = Date.now() + backOff(++this.failedLoads, this.settings.retry);
      this.queue.failAll(this.lastFailure);
      await this.unload();
    }
  }

  private async unload(): Promise<void> {
    this.loaded = false;
    clearTimeout(this.idle);
    await this.worker.stop();
  }

  private rest(): void {
    if (!this.loaded || this.settings.idleMs === 0) return;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.unload(), this.settings.idleMs).unref();
  }
}

/** undefined: the worker itself said what is wrong. */
function troubleOf(error: unknown): EmbeddingUnavailable | undefined {
  if (!(error instanceof WorkerEnded)) return undefined;
  const troubles = { died: 'worker_died', timed_out: 'timed_out', stopped: 'not_loaded' } as const;
  return new EmbeddingUnavailable(troubles[error.reason], error.message, { cause: error });
}

const messageOf = (error: unknown): string => (error as Error).message;
