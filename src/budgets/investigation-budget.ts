import { LRUCache } from 'lru-cache';
import type { InvestigationBudgetView, RaiseBudgetBody, ToolBudgetView } from './investigations.dto.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { Release } from '../tool-contract/tool.js';
import type { Principal } from '../tool-contract/principal.js';
import { type Clock, systemClock } from '../common/clock.js';
import { messageOf } from '../common/message-of.js';
import { TypedEvents } from '../common/typed-events.js';

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
  Pick<InvestigationBudgetView, 'callsPerTool' | 'tools'> &
  Pick<Investigation, 'resetsAt' | 'lastCallAt'>;

export interface BudgetSettings {
  /** Default limit of calls per investigation and tool; 0: no limit. */
  readonly callsPerTool: number;
  /** Milliseconds from an investigation's first call until its budget is whole again. */
  readonly ttlMs: number;
  /** Investigations remembered at a time. */
  readonly maxTracked: number;
}

interface Spending {
  used: number;
  /** The tool's own limit as of its last call. */
  toolLimit: number | undefined;
}

/** An investigation as it is kept. */
export interface Investigation {
  readonly key: InvestigationKey;
  /** Milliseconds since the epoch; 0: it was reset. */
  readonly resetsAt: number;
  /** Undefined without a call, and for one that an older version has kept. */
  lastCallAt?: number | undefined;
  callsPerTool: number | undefined;
  readonly limits: Map<string, number>;
  readonly tools: Map<string, Spending>;
}

const warnEveryMs = 60_000;

/** The budget of each investigation, in this process's memory; InvestigationHistory keeps them across restarts. */
export class InvestigationBudget {
  private readonly investigations: LRUCache<string, Investigation>;
  /** Each investigation that changes. */
  readonly changes = new TypedEvents<Investigation>((error) => this.warn(messageOf(error)));
  private warnedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly settings: BudgetSettings,
    private readonly warn: (message: string) => void,
    private readonly clock: Clock = systemClock,
  ) {
    this.investigations = new LRUCache<string, Investigation>({
      max: settings.maxTracked,
      ttl: settings.ttlMs,
      ttlResolution: 0,
      perf: { now: () => clock.now() },
      dispose: (investigation, _id, reason) => {
        if (reason === 'evict' && investigation.resetsAt > clock.now()) this.warnOfEviction();
      },
    });
  }

  /** Counts one call unless the budget is spent. */
  take(request: BudgetRequest): BudgetDecision {
    const { tool, toolLimit } = request;
    const investigation = this.open(request);
    const spending = this.spendingOf(investigation, tool);
    spending.toolLimit = toolLimit;
    const limit = this.limitOf(investigation, tool);
    if (limit > 0 && spending.used >= limit)
      return { granted: false, budget: stateOf(investigation, spending, limit) };
    spending.used += 1;
    investigation.lastCallAt = this.clock.now();
    this.changes.emit(investigation);
    let held = true;
    const release = (): void => {
      if (held) spending.used -= 1;
      held = false;
    };
    return {
      granted: true,
      budget: limit > 0 ? stateOf(investigation, spending, limit) : undefined,
      release,
    };
  }

  /** @returns undefined for an investigation that was never seen or has expired */
  view(key: InvestigationKey): InvestigationView | undefined {
    // `peek`: reading does not refresh the order of the list.
    const investigation = this.investigations.peek(textOf(key.projectId, key.investigationId));
    return investigation && this.viewOf(investigation);
  }

  /** The investigations that were called last and are wanted, the latest first. */
  latest(limit: number, wanted: (key: InvestigationKey) => boolean): InvestigationView[] {
    const found: InvestigationView[] = [];
    // The latest used first, without expired ones.
    for (const investigation of this.investigations.values()) {
      if (found.length >= limit) break;
      if (wanted(investigation.key)) found.push(this.viewOf(investigation));
    }
    return found;
  }

  /** Sets limits; an investigation that was never seen begins with them. */
  raise(
    key: InvestigationKey,
    { callsPerTool, tools = {} }: Pick<RaiseBudgetBody, 'callsPerTool' | 'tools'>,
  ): InvestigationView {
    const investigation = this.open(key);
    if (callsPerTool !== undefined) investigation.callsPerTool = callsPerTool;
    for (const [tool, limit] of Object.entries(tools)) investigation.limits.set(tool, limit);
    this.changes.emit(investigation);
    return this.viewOf(investigation);
  }

  /** Forgets what the investigation spent and the limits it was given. */
  reset(key: InvestigationKey): void {
    this.investigations.delete(textOf(key.projectId, key.investigationId));
    this.changes.emit({ key, resetsAt: 0, callsPerTool: undefined, limits: new Map(), tools: new Map() });
  }

  /** Takes over an investigation of before a restart; the next one was used later. */
  restore(investigation: Investigation): void {
    const { key, resetsAt } = investigation;
    const ttl = resetsAt - this.clock.now();
    this.investigations.set(textOf(key.projectId, key.investigationId), investigation, { ttl });
  }

  private open({ projectId, investigationId }: InvestigationKey): Investigation {
    const text = textOf(projectId, investigationId);
    const known = this.investigations.get(text);
    if (known) return known;
    const key = { projectId, investigationId };
    const resetsAt = this.clock.now() + this.settings.ttlMs;
    const investigation = { key, resetsAt, callsPerTool: undefined, limits: new Map(), tools: new Map() };
    this.investigations.set(text, investigation);
    return investigation;
  }

  private spendingOf({ tools }: Investigation, tool: string): Spending {
    let spending = tools.get(tool);
    if (!spending) tools.set(tool, (spending = { used: 0, toolLimit: undefined }));
    return spending;
  }

  /** The operator's limit of this tool here, else the tool's own, else the investigation's, else the server's. */
  private limitOf({ limits, tools, callsPerTool }: Investigation, tool: string): number {
    return limits.get(tool) ?? tools.get(tool)?.toolLimit ?? callsPerTool ?? this.settings.callsPerTool;
  }

  private viewOf(investigation: Investigation): InvestigationView {
    const names = [...new Set([...investigation.tools.keys(), ...investigation.limits.keys()])].sort();
    const tools = names.map((tool): ToolBudgetView => {
      const limit = this.limitOf(investigation, tool);
      const used = investigation.tools.get(tool)?.used ?? 0;
      return { tool, limit, used, remaining: limit > 0 ? Math.max(0, limit - used) : null };
    });
    const callsPerTool = investigation.callsPerTool ?? this.settings.callsPerTool;
    const { key, resetsAt, lastCallAt } = investigation;
    return { ...key, callsPerTool, resetsAt, lastCallAt, tools };
  }

  /** Warns that an evicted investigation restarts with a full budget, but not for each one. */
  private warnOfEviction(): void {
    const now = this.clock.now();
    if (now - this.warnedAt < warnEveryMs) return;
    this.warnedAt = now;
    this.warn(
      `More than ${this.settings.maxTracked} investigations live at once: the least recently used lose their count`,
    );
  }
}

/** The length of the project's name tells where it ends, whatever is in it. */
const textOf = (projectId: string, investigationId: string): string =>
  `${projectId.length} ${projectId}${investigationId}`;

function stateOf({ resetsAt }: Investigation, { used }: Spending, limit: number): BudgetState {
  return { limit, remaining: Math.max(0, limit - used), resetsAt };
}
