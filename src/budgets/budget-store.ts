import type { InvestigationBudgetView, RaiseBudgetBody, ToolBudgetView } from './investigations.dto.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { Release } from '../tool-contract/tool.js';
import type { Principal } from '../tool-contract/principal.js';

/** The rest of a budget, as response headers; the reset is in whole seconds from now. */
export function rateLimitHeaders(budget: BudgetState, now = Date.now()): Record<string, string> {
  return {
    'RateLimit-Limit': String(budget.limit),
    'RateLimit-Remaining': String(budget.remaining),
    'RateLimit-Reset': String(Math.max(0, Math.ceil((budget.resetsAt - now) / 1000))),
  };
}

/** An investigation is its project's: the same id in another project is another investigation. */
export interface InvestigationKey {
  /** `keyless` for callers without a key. */
  readonly projectId: string;
  readonly investigationId: string;
}

/** Stands in for the project of callers without a key; no project has an empty name. */
export const keyless = '';

/** The project that a caller spends for. Callers without a key, where others have one, have budgets of their own. */
export const budgetProject = ({ keyId, projects }: Principal, projectId: string): string =>
  keyId === undefined && projects ? keyless : projectId;

export interface BudgetRequest extends InvestigationKey {
  readonly tool: string;
  /** The tool's own limit; 0: none; undefined: the investigation's or the configured one. */
  readonly toolLimit: number | undefined;
}

export type BudgetDecision =
  /** The call was counted; `release` undoes that once. `budget` is absent without a limit. */
  | { readonly granted: true; readonly budget: BudgetState | undefined; readonly release: Release }
  | { readonly granted: false; readonly budget: BudgetState };

/** An investigation as its operators see it; times in milliseconds since the epoch. */
export type InvestigationView = InvestigationKey &
  Pick<InvestigationBudgetView, 'callsPerTool' | 'tools'> & {
    readonly resetsAt: number;
    /** Absent without a call, and for one that an older version has kept. */
    readonly lastCallAt?: number | undefined;
  };

/** A choice of investigations. */
export interface Wanted {
  /** Absent: of all projects. */
  readonly projects?: readonly string[] | undefined;
  readonly investigationId?: string;
}

type OrPromise<T> = T | Promise<T>;

/** The budgets of investigations: in memory if there is one replica, else in the database. */
export abstract class BudgetStore {
  /** Counts one call unless the budget is spent. */
  abstract take(request: BudgetRequest): OrPromise<BudgetDecision>;
  /** The investigations that were called last, the latest first, without those whose time is over. */
  abstract latest(limit: number, wanted: Wanted): OrPromise<InvestigationView[]>;
  /** Sets limits; calls that were counted stay counted. */
  abstract raise(key: InvestigationKey, raise: RaiseBudgetBody): OrPromise<InvestigationView>;
  /** Forgets what the investigation spent and the limits it was given. */
  abstract reset(key: InvestigationKey): OrPromise<void>;
}

/** @param limit 0: none */
export const toolView = (tool: string, limit: number, used: number): ToolBudgetView => ({
  tool,
  limit,
  used,
  remaining: limit > 0 ? Math.max(0, limit - used) : null,
});
