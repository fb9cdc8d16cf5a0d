import type { TypedEvents } from '../common/typed-events.js';
import type { PoolMembers } from './pool-members.js';
import type { PoolEvent, PoolSettings } from './pool.types.js';
import type { BudgetUser, ProcessBudget } from './process-budget.js';
import type { RequestQueue } from './request-queue.js';
import type { GateUser, SpawnGate } from './spawn-gate.js';
import type { Launcher } from './tool-process.types.js';

/** What the pool and its helpers share. */
export interface PoolParts {
  readonly settings: PoolSettings;
  /** Requests that one process serves at a time: one where every request gets a fresh process. */
  readonly concurrency: number;
  readonly members: PoolMembers;
  readonly queue: RequestQueue;
  readonly budget: ProcessBudget;
  readonly gate: SpawnGate;
  /** This pool, as budget and gate see it. */
  readonly user: BudgetUser & GateUser;
  readonly events: TypedEvents<PoolEvent>;
}

export interface PoolOptions {
  /** Shared by all pools; without one there is no cap over them. */
  readonly budget?: ProcessBudget;
  /** Shared by all pools; without one any number of processes may start at a time. */
  readonly gate?: SpawnGate;
  readonly events?: TypedEvents<PoolEvent>;
  readonly launcher?: Launcher;
  /** Between two starts of a tool that fails again and again. */
  readonly longestBackOffMs?: number;
  /** 0 to 1, for what is spread at random. */
  readonly random?: () => number;
}
