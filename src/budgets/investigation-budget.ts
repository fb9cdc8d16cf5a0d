import { LRUCache } from 'lru-cache';
import type { RaiseBudgetBody } from './investigations.dto.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import {
  type BudgetDecision,
  type BudgetRequest,
  BudgetStore,
  type InvestigationKey,
  type InvestigationView,
  toolView,
  type Wanted,
} from './budget-store.js';
import { type Clock, systemClock } from '../common/clock.js';
import { messageOf } from '../common/message-of.js';
import { TypedEvents } from '../common/typed-events.js';

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
export class InvestigationBudget extends BudgetStore {
  private readonly investigations: LRUCache<string, Investigation>;
  /** Each investigation that changes. */
  readonly changes = new TypedEvents<Investigation>((error) => this.warn(messageOf(error)));
  private warnedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly settings: BudgetSettings,
    private readonly warn: (message: string) => void,
    private readonly clock: Clock = systemClock,
  ) {
    super();
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

  override take(request: BudgetRequest): BudgetDecision {
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

  override latest(limit: number, { projects, investigationId }: Wanted): InvestigationView[] {
    const found: InvestigationView[] = [];
    // The latest used first, without expired ones.
    for (const investigation of this.investigations.values()) {
      if (found.length >= limit) break;
      const { key } = investigation;
      const isNamed = investigationId === undefined || key.investigationId === investigationId;
      if (isNamed && (projects?.includes(key.projectId) ?? true)) found.push(this.viewOf(investigation));
    }
    return found;
  }

  override raise(
    key: InvestigationKey,
    { callsPerTool, tools = {} }: Pick<RaiseBudgetBody, 'callsPerTool' | 'tools'>,
  ): InvestigationView {
    const investigation = this.open(key);
    if (callsPerTool !== undefined) investigation.callsPerTool = callsPerTool;
    for (const [tool, limit] of Object.entries(tools)) investigation.limits.set(tool, limit);
    this.changes.emit(investigation);
    return this.viewOf(investigation);
  }

  override reset(key: InvestigationKey): void {
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
    const tools = names.map((tool) =>
      toolView(tool, this.limitOf(investigation, tool), investigation.tools.get(tool)?.used ?? 0),
    );
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
