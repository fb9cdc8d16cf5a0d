import { Line } from './line.js';
import type { PendingRequest } from './pending-request.js';

/** Requests without a process, first in first out; those that need a fresh process stand apart. */
export class RequestQueue {
  private readonly any = new Line<PendingRequest>();
  private readonly fresh = new Line<PendingRequest>();

  get size(): number {
    return this.any.size + this.fresh.size;
  }

  get freshSize(): number {
    return this.fresh.size;
  }

  get anySize(): number {
    return this.any.size;
  }

  get firstFresh(): PendingRequest | undefined {
    return this.fresh.first;
  }

  get firstAny(): PendingRequest | undefined {
    return this.any.first;
  }

  add(request: PendingRequest): void {
    (request.request.fresh ? this.fresh : this.any).add(request);
  }

  delete(request: PendingRequest): void {
    (request.request.fresh ? this.fresh : this.any).delete(request);
  }

  /** Takes everything out. */
  clear(): PendingRequest[] {
    return [...this.fresh.clear(), ...this.any.clear()];
  }
}
