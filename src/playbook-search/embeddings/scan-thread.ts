import { WorkerCalls } from '../../common/worker-calls.js';
import type { ProductModule } from './vector-product.js';
import type { Nearest } from './vector-scan.js';
import type { SharedVectors } from './vector-table.js';

/** What the thread is given when it starts: of the memory only where it is. */
export interface ScanData {
  readonly product: ProductModule;
  readonly vectors: SharedVectors;
}

export interface ScanOrder {
  readonly query: Float32Array;
  readonly rows: Int32Array<ArrayBuffer>;
  readonly top: number | undefined;
}

/**
 * Scans of one table in a thread of its own, started by the first one. It must end with the table: a thread that does
 * nothing collects no garbage and would hold the memory.
 */
export class ScanThread {
  private readonly worker: WorkerCalls<ScanOrder, Nearest>;
  private answered: Promise<unknown> = Promise.resolve();

  constructor(workerData: ScanData) {
    const script = new URL('./scan.worker.js', import.meta.url);
    this.worker = new WorkerCalls(script, { name: 'vector scan', workerData });
  }

  /** @throws Error when the thread ends meanwhile */
  scan(order: ScanOrder): Promise<Nearest> {
    const found = this.worker.call(order);
    this.answered = Promise.allSettled([this.answered, found]);
    return found;
  }

  /** Ends when all that it was asked is answered. */
  async finish(): Promise<void> {
    await this.answered;
    await this.close();
  }

  /** What is not answered yet fails. */
  close(): Promise<void> {
    return this.worker.stop();
  }
}
