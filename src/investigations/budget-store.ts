import type { Release } from '../tool-contract/tool.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';

export interface BudgetRequest {
  readonly investigationId: string;
  readonly tool: string;
  /** The tool's own limit; 0: none; undefined: the investigation's or the configured one. */
  readonly toolLimit: number | undefined;
}

export type BudgetDecision =
  /** One call is counted; `release` gives it back once. Without a limit there is no `budget` to tell. */
  | { readonly granted: true; readonly budget: BudgetState | undefined; readonly release: Release }
  | { readonly granted: false; readonly budget: BudgetState };

/** New limits of one investigation; 0: none. An absent limit stays as it is. */
export interface BudgetRaise {
  /** For each tool that has no limit of its own. */
  readonly callsPerTool?: number;
  /** By tool; wins over the tool's own limit. */
  readonly tools?: Readonly<Record<string, number>>;
}

export interface ToolBudget {
  readonly tool: string;
  /** 0: none. */
  readonly limit: number;
  readonly used: number;
  /** null: no limit. */
  readonly remaining: number | null;
}

export interface InvestigationView {
  readonly investigationId: string;
  /** Limit for each tool that has none of its own; 0: none. */
  readonly callsPerTool: number;
  /** Milliseconds since 1970: when the investigation is forgotten and its budget is whole again. */
  readonly resetsAt: number;
  /** Sorted by name; only tools that were called or given a limit. */
  readonly tools: readonly ToolBudget[];
}

/** Where budgets are kept: in memory, or where replicas share them. */
export interface BudgetStore {
  /** Counts one call unless the budget is spent: decided and counted in one step. */
  take(request: BudgetRequest): BudgetDecision | Promise<BudgetDecision>;
  /** @returns undefined for an investigation that was never seen or has expired */
  view(investigationId: string): InvestigationView | undefined | Promise<InvestigationView | undefined>;
  /** Those that were called last, the latest first. */
  latest(limit: number): readonly InvestigationView[] | Promise<readonly InvestigationView[]>;
  /** Sets limits; an investigation that was never seen begins with them. */
  raise(investigationId: string, raise: BudgetRaise): InvestigationView | Promise<InvestigationView>;
  /** Forgets what the investigation spent and the limits it was given. */
  reset(investigationId: string): void | Promise<void>;
}

export const BUDGET_STORE = Symbol('BudgetStore');
