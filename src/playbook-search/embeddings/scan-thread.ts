import { Worker } from 'node:worker_threads';
import type { ProductModule } from './vector-product.js';
import type { Nearest } from './vector-scan.js';
import type { SharedVectors } from './vector-table.js';

/** What the thread is given when it starts: of the memory only where it is. */
export interface ScanData {
  readonly product: ProductModule;
  readonly vectors: SharedVectors;
}

export interface ScanOrder {
  readonly id: number;
  readonly query: Float32Array;
  readonly rows: Int32Array<ArrayBuffer>;
  readonly top: number | undefined;
}

export interface ScanResult {
  readonly id: number;
  readonly nearest: Nearest;
}

/** A worker and what it was asked. */
interface Run {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<Nearest>>;
}

/**
 * Scans of one table in a thread of its own, started by the first one; a dead thread is replaced by the next one. It must
 * end with the table: a thread that does nothing collects no garbage and would hold the memory.
 */
export class ScanThread {
  private run: Run | undefined;
  private lastId = 0;

  constructor(
    private readonly script: string | URL,
    private readonly data: ScanData,
  ) {}

  /** @throws Error when the thread ends meanwhile */
  scan(order: Omit<ScanOrder, 'id'>): Promise<Nearest> {
    const id = ++this.lastId;
    const asked = Promise.withResolvers<Nearest>();
    this.run ??= this.start();
    this.run.waiting.set(id, asked);
    this.run.worker.postMessage({ ...order, id } satisfies ScanOrder);
    return asked.promise;
  }

  /** Ends when all that it was asked is answered. */
  async finish(): Promise<void> {
    await Promise.allSettled(Array.from(this.run?.waiting.values() ?? [], ({ promise }) => promise));
    await this.close();
  }

  /** What is not answered yet fails. */
  async close(): Promise<void> {
    const { run } = this;
    if (!run) return;
    this.end(run);
    await run.worker.terminate();
  }

  private start(): Run {
    const worker = new Worker(this.script, { name: 'vector scan', workerData: this.data });
    worker.unref();
    const run: Run = { worker, waiting: new Map() };
    let cause: unknown;
    worker.on('error', (error: unknown) => (cause = error));
    worker.on('message', ({ id, nearest }: ScanResult) => {
      run.waiting.get(id)?.resolve(nearest);
      run.waiting.delete(id);
    });
    worker.on('exit', () => this.end(run, cause));
    return run;
  }

  private end(run: Run, cause?: unknown): void {
    if (this.run === run) this.run = undefined;
    for (const { reject } of run.waiting.values()) reject(new Error('The scan of vectors ended', { cause }));
    run.waiting.clear();
  }
}
