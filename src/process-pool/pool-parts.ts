import type { Launcher } from './tool-process.types.js';
import type { TypedEvents } from '../common/typed-events.js';
import type { PoolMembers } from './pool-members.js';
import type { PoolEvent, PoolSettings } from './pool.types.js';
import type { ProcessBudget } from './process-budget.js';
import type { RequestQueue } from './request-queue.js';

/** What the pool and its helpers share. */
export interface PoolParts {
  readonly settings: PoolSettings;
  /** Requests that one process serves at a time: one where every request gets a fresh process. */
  readonly concurrency: number;
  readonly members: PoolMembers;
  readonly queue: RequestQueue;
  readonly budget: ProcessBudget;
  readonly events: TypedEvents<PoolEvent>;
}

export interface PoolOptions {
  /** Shared by all pools; without one there is no cap over them. */
  readonly budget?: ProcessBudget;
  readonly events?: TypedEvents<PoolEvent>;
  readonly launcher?: Launcher;
}
