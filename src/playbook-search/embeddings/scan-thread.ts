import { Worker } from 'node:worker_threads';
import type { ProductModule } from './vector-product.js';
import type { Nearest } from './vector-scan.js';
import type { SharedVectors } from './vector-table.js';

export interface ScanOrder {
  readonly id: number;
  /** The memory itself does not travel: it is shared. */
  readonly vectors: SharedVectors;
  readonly query: Float32Array;
  readonly rows: Int32Array<ArrayBuffer>;
  readonly top: number | undefined;
}

export interface ScanResult {
  readonly id: number;
  readonly nearest: Nearest;
}

/** Scans in a thread of its own, started by the first one; a dead thread is replaced by the next one. */
export class ScanThread {
  private worker: Worker | undefined;
  private lastId = 0;
  private readonly waiting = new Map<number, PromiseWithResolvers<Nearest>>();

  constructor(
    private readonly script: string | URL,
    private readonly product: ProductModule,
  ) {}

  /** @throws Error when the thread ends meanwhile */
  scan(order: Omit<ScanOrder, 'id'>): Promise<Nearest> {
    const id = ++this.lastId;
    const asked = Promise.withResolvers<Nearest>();
    this.waiting.set(id, asked);
    this.worker ??= this.start();
    this.worker.postMessage({ ...order, id } satisfies ScanOrder);
    return asked.promise;
  }

  async close(): Promise<void> {
    await this.worker?.terminate();
  }

  private start(): Worker {
    const worker = new Worker(this.script, { name: 'vector scan', workerData: this.product });
    worker.unref();
    let cause: unknown;
    worker.on('error', (error: unknown) => (cause = error));
    worker.on('message', ({ id, nearest }: ScanResult) => {
      this.waiting.get(id)?.resolve(nearest);
      this.waiting.delete(id);
    });
    worker.on('exit', () => {
      this.worker = undefined;
      for (const { reject } of this.waiting.values())
        reject(new Error('The scan of vectors ended', { cause }));
      this.waiting.clear();
    });
    return worker;
  }
}
