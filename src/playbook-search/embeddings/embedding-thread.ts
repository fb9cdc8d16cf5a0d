import { Worker } from 'node:worker_threads';
import { type EmbeddingKind, EmbeddingUnavailable } from '../embedding-provider.js';
import { EmbeddingJob, EmbeddingQueue } from './embedding-queue.js';
import type { EmbedRequest, ModelOrder, ThreadNews } from './thread-messages.js';

export interface EmbeddingThreadSettings {
  /** The thread's program. */
  readonly script: string | URL;
  readonly order: ModelOrder;
  /** Requests of one kind that may wait. */
  readonly maxQueue: number;
  readonly loadTimeoutMs: number;
  /** One text. */
  readonly textTimeoutMs: number;
  /** The model's memory is freed when nothing was asked for so long; 0: never. */
  readonly idleMs: number;
  /** After a model that could not be loaded, doubled up to the longest. */
  readonly retryMs: { readonly first: number; readonly longest: number };
  /** For the log: the thread ended, or could not begin, by itself. */
  onTrouble(trouble: EmbeddingUnavailable): void;
}

interface Work {
  readonly job: EmbeddingJob;
  readonly id: number;
}

/**
 * A model in a thread of its own. The thread starts with the first request, ends when it idles, and is replaced when
 * it dies or takes too long; only the text under way is lost with it.
 */
export class EmbeddingThread {
  private readonly queue: EmbeddingQueue;
  private worker: Worker | undefined;
  private loaded = false;
  private working: Work | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastId = 0;
  private failedLoads = 0;
  private lastFailure: EmbeddingUnavailable | undefined;
  private retryAt = 0;
  private dimensionsKnown = 0;

  constructor(private readonly settings: EmbeddingThreadSettings) {
    this.queue = new EmbeddingQueue(settings.maxQueue);
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
    const closed = new EmbeddingUnavailable('not_loaded', 'The model is being unloaded');
    this.queue.failAll(closed);
    await this.release(closed);
  }

  /** The one place that decides what happens next. */
  private proceed(): void {
    if (this.working) return;
    const job = this.queue.next();
    if (!job) return this.rest();
    if (!this.worker) return this.start();
    if (!this.loaded || job.nextText === undefined) return;
    this.working = { job, id: ++this.lastId };
    this.watch(this.settings.textTimeoutMs, () =>
      this.replace(new EmbeddingUnavailable('timed_out', 'The model took too long for a text')),
    );
    this.worker.postMessage({ id: this.working.id, texts: [job.nextText] } satisfies EmbedRequest);
  }

  private start(): void {
    const worker = new Worker(this.settings.script, {
      workerData: this.settings.order,
      name: 'embedding model',
    });
    // The gateway's end does not wait for a model.
    worker.unref();
    let cause: unknown;
    worker.on('message', (news: ThreadNews) => this.worker === worker && this.hear(news));
    worker.on('error', (error: unknown) => (cause = error));
    worker.on('exit', () => {
      if (this.worker !== worker) return;
      this.replace(new EmbeddingUnavailable('worker_died', 'The model ended unexpectedly', { cause }));
    });
    this.worker = worker;
    this.loaded = false;
    this.watch(this.settings.loadTimeoutMs, () =>
      this.replace(new EmbeddingUnavailable('timed_out', 'The model took too long to load')),
    );
  }

  private hear(news: ThreadNews): void {
    if ('loaded' in news) {
      this.loaded = true;
      this.failedLoads = 0;
      this.lastFailure = undefined;
      this.dimensionsKnown = news.loaded.dimensions;
    } else if ('notLoaded' in news) {
      this.replace(new EmbeddingUnavailable('not_loaded', news.notLoaded));
      return;
    } else if (news.id === this.working?.id) {
      const { job } = this.working;
      this.working = undefined;
      if ('vectors' in news) job.add(news.vectors);
      else job.fail(new EmbeddingUnavailable('wrong_answer', `The model failed: ${news.error}`));
    }
    clearTimeout(this.timer);
    this.proceed();
  }

  /** Ends a thread in trouble. One that never loaded would not load at once either: what waits is told so. */
  private replace(trouble: EmbeddingUnavailable): void {
    const hadLoaded = this.loaded;
    void this.release(trouble);
    this.settings.onTrouble(trouble);
    if (!hadLoaded) {
      const { first, longest } = this.settings.retryMs;
      this.retryAt = Date.now() + Math.min(longest, first * 2 ** this.failedLoads++);
      this.lastFailure = trouble;
      this.queue.failAll(trouble);
    }
    this.proceed();
  }

  private async release(reason: EmbeddingUnavailable): Promise<void> {
    const { worker, working } = this;
    this.worker = undefined;
    this.working = undefined;
    this.loaded = false;
    clearTimeout(this.timer);
    working?.job.fail(reason);
    await worker?.terminate();
  }

  private rest(): void {
    if (!this.worker || !this.loaded || this.settings.idleMs === 0) return;
    this.watch(
      this.settings.idleMs,
      () => void this.release(new EmbeddingUnavailable('not_loaded', 'The model was unloaded')),
    );
  }

  private watch(ms: number, then: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(then, ms);
    this.timer.unref();
  }
}
