import type { PendingRequest } from './pending-request.js';

/** Requests without a process, first in first out; those that need a fresh process stand apart. */
export class RequestQueue {
  private readonly any = new Set<PendingRequest>();
  private readonly fresh = new Set<PendingRequest>();

  get size(): number {
    return this.any.size + this.fresh.size;
  }

  get freshSize(): number {
    return this.fresh.size;
  }

  get anySize(): number {
    return this.any.size;
  }

  add(request: PendingRequest): void {
    (request.request.fresh ? this.fresh : this.any).add(request);
  }

  delete(request: PendingRequest): void {
    if (!this.any.delete(request)) this.fresh.delete(request);
  }

  firstFresh(): PendingRequest | undefined {
    for (const first of this.fresh) return first;
    return undefined;
  }

  firstAny(): PendingRequest | undefined {
    for (const first of this.any) return first;
    return undefined;
  }

  /** Takes everything out. */
  clear(): PendingRequest[] {
    const all = [...this.fresh, ...this.any];
    this.fresh.clear();
    this.any.clear();
    return all;
  }
}
