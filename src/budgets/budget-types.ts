import type { Release } from '../tool-contract/tool.js';
import type { Principal } from '../tool-contract/principal.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';

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

export interface InvestigationView extends InvestigationKey {
  /** Limit for each tool that has none of its own; 0: none. */
  readonly callsPerTool: number;
  /** Milliseconds since 1970: when the investigation is forgotten and its budget is whole again. */
  readonly resetsAt: number;
  /** Sorted by name; only tools that were called or given a limit. */
  readonly tools: readonly ToolBudget[];
}
