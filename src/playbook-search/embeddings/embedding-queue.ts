import type { EmbeddingKind } from '../embedding-provider.js';

/** One request for vectors, worked off text by text so that a query never waits behind a whole batch of documents. */
export class EmbeddingJob {
  readonly vectors: Float32Array[] = [];
  private settled = false;
  private readonly settle = Promise.withResolvers<readonly Float32Array[]>();
  private readonly onAbort = (): void => this.fail(this.signal?.reason);

  constructor(
    readonly texts: readonly string[],
    readonly kind: EmbeddingKind,
    private readonly signal?: AbortSignal,
  ) {
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  get result(): Promise<readonly Float32Array[]> {
    return this.settle.promise;
  }

  /** Its answer has been given, or its asker has left. */
  get isOver(): boolean {
    return this.settled;
  }

  get nextText(): string | undefined {
    return this.texts[this.vectors.length];
  }

  add(vector: Float32Array): void {
    this.vectors.push(vector);
    if (this.vectors.length === this.texts.length) this.end(() => this.settle.resolve(this.vectors));
  }

  fail(reason: unknown): void {
    this.end(() => this.settle.reject(reason));
  }

  private end(answer: () => void): void {
    if (this.settled) return;
    this.settled = true;
    this.signal?.removeEventListener('abort', this.onAbort);
    answer();
  }
}

/** Jobs in the order of their coming, queries before documents; those whose asker has left are skipped. */
export class EmbeddingQueue {
  private readonly waiting: Record<EmbeddingKind, EmbeddingJob[]> = { query: [], document: [] };

  constructor(private readonly maxJobs: number) {}

  /** @returns false when as many wait as may */
  add(job: EmbeddingJob): boolean {
    for (const kind of ['query', 'document'] as const) {
      this.waiting[kind] = this.waiting[kind].filter((each) => !each.isOver);
    }
    // Of each kind: documents that wait for a new index keep no query out.
    if (this.waiting[job.kind].length >= this.maxJobs) return false;
    this.waiting[job.kind].push(job);
    return true;
  }

  /** The job whose turn it is; it stays in front until it is over. */
  next(): EmbeddingJob | undefined {
    for (const kind of ['query', 'document'] as const) {
      const jobs = this.waiting[kind];
      while (jobs[0]?.isOver) jobs.shift();
      if (jobs[0]) return jobs[0];
    }
    return undefined;
  }

  failAll(reason: unknown): void {
    for (const job of [...this.waiting.query, ...this.waiting.document]) job.fail(reason);
    this.waiting.query = [];
    this.waiting.document = [];
  }
}
