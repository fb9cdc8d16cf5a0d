import { LRUCache } from 'lru-cache';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import { type Clock, systemClock } from '../common/clock.js';
import type {
  BudgetDecision,
  BudgetRaise,
  BudgetRequest,
  BudgetStore,
  InvestigationView,
  ToolBudget,
} from './budget-store.js';

export interface BudgetSettings {
  /** Calls per investigation and tool where nothing else is said; 0: no limit. */
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

interface Investigation {
  readonly resetsAt: number;
  callsPerTool: number | undefined;
  readonly limits: Map<string, number>;
  readonly tools: Map<string, Spending>;
}

const warnEveryMs = 60_000;

/** The budget of each investigation, in this process's memory. */
export class InvestigationBudget implements BudgetStore {
  private readonly investigations: LRUCache<string, Investigation>;
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

  take({ investigationId, tool, toolLimit }: BudgetRequest): BudgetDecision {
    const investigation = this.open(investigationId);
    const spending = this.spendingOf(investigation, tool);
    spending.toolLimit = toolLimit;
    const limit = this.limitOf(investigation, tool);
    if (limit > 0 && spending.used >= limit)
      return { granted: false, budget: stateOf(investigation, spending, limit) };
    spending.used += 1;
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

  view(investigationId: string): InvestigationView | undefined {
    // A look is no use: the list begins with what was called last.
    const investigation = this.investigations.peek(investigationId);
    return investigation && this.viewOf(investigationId, investigation);
  }

  latest(limit: number): InvestigationView[] {
    const found: InvestigationView[] = [];
    // From the one that was used last; what has expired is left out.
    for (const [id, investigation] of this.investigations.entries()) {
      if (found.length >= limit) break;
      found.push(this.viewOf(id, investigation));
    }
    return found;
  }

  raise(investigationId: string, { callsPerTool, tools = {} }: BudgetRaise): InvestigationView {
    const investigation = this.open(investigationId);
    if (callsPerTool !== undefined) investigation.callsPerTool = callsPerTool;
    for (const [tool, limit] of Object.entries(tools)) investigation.limits.set(tool, limit);
    return this.viewOf(investigationId, investigation);
  }

  reset(investigationId: string): void {
    this.investigations.delete(investigationId);
  }

  private open(investigationId: string): Investigation {
    const known = this.investigations.get(investigationId);
    if (known) return known;
    const resetsAt = this.clock.now() + this.settings.ttlMs;
    const investigation = { resetsAt, callsPerTool: undefined, limits: new Map(), tools: new Map() };
    this.investigations.set(investigationId, investigation);
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

  private viewOf(investigationId: string, investigation: Investigation): InvestigationView {
    const names = [...new Set([...investigation.tools.keys(), ...investigation.limits.keys()])].sort();
    const tools = names.map((tool): ToolBudget => {
      const limit = this.limitOf(investigation, tool);
      const used = investigation.tools.get(tool)?.used ?? 0;
      return { tool, limit, used, remaining: limit > 0 ? Math.max(0, limit - used) : null };
    });
    const callsPerTool = investigation.callsPerTool ?? this.settings.callsPerTool;
    return { investigationId, callsPerTool, resetsAt: investigation.resetsAt, tools };
  }

  /** An evicted investigation starts again with a whole budget: the operator must hear of it, but not for each. */
  private warnOfEviction(): void {
    const now = this.clock.now();
    if (now - this.warnedAt < warnEveryMs) return;
    this.warnedAt = now;
    this.warn(
      `More than ${this.settings.maxTracked} investigations live at once: the least recently used lose their count`,
    );
  }
}

function stateOf({ resetsAt }: Investigation, { used }: Spending, limit: number): BudgetState {
  return { limit, remaining: Math.max(0, limit - used), resetsAt };
}
