import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { sanitisedText, storableJson } from '../common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Counters, type Subject } from '../counters/counters.js';
import type { BudgetState } from '../tool-contract/call-ticket.js';
import type { Principal } from '../tool-contract/principal.js';
import type { InvestigationBudgetView, RaiseBudgetBody, ToolBudgetView } from './investigations.dto.js';

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

/** Whose calls are counted, as the database can store it. */
export const subjectOf = ({ projectId, investigationId }: InvestigationKey): Subject => ({
  ...{ kind: 'budget', project: sanitisedText(projectId) },
  subject: sanitisedText(investigationId).toWellFormed(),
});

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

interface CounterRow {
  readonly name: string;
  readonly used: number;
  readonly set: number | null;
  readonly own: number | null;
}

interface InvestigationRow extends InvestigationKey {
  readonly resetsAt: number;
  readonly lastCallAt: number | null;
  readonly counters: readonly CounterRow[];
}

/** Parameters: projects or null, id or null, limit. */
const selectLatest = `
  SELECT project AS "projectId", subject AS "investigationId",
    (extract(epoch FROM min(resets_at)) * 1000)::float8 AS "resetsAt",
    (extract(epoch FROM max(used_at) FILTER (WHERE used > 0)) * 1000)::float8 AS "lastCallAt",
    json_agg(json_build_object('name', name, 'used', used, 'set', set_limit, 'own', own_limit)) AS counters
  FROM call_counters
  WHERE kind = 'budget' AND resets_at > now()
    AND ($1::text[] IS NULL OR project = ANY ($1)) AND ($2::text IS NULL OR subject = $2)
  GROUP BY project, subject
  ORDER BY max(used_at) DESC
  LIMIT $3`;

/** Parameters: project, id, limits by tool (an empty name: of the investigation), milliseconds until it ends. */
const setLimits = `
  INSERT INTO call_counters AS c (kind, project, subject, name, set_limit, resets_at, used_at)
  SELECT 'budget', $1, $2, key, value::int, coalesce((
           SELECT min(resets_at) FROM call_counters
           WHERE kind = 'budget' AND project = $1 AND subject = $2 AND resets_at > now()
         ), now() + $4::float8 * interval '1 millisecond'), now()
  FROM json_each_text($3::json)
  ORDER BY key
  ON CONFLICT (kind, project, subject, name) DO UPDATE SET
    set_limit = excluded.set_limit,
    used = CASE WHEN c.resets_at > now() THEN c.used ELSE 0 END,
    resets_at = CASE WHEN c.resets_at > now() THEN c.resets_at ELSE excluded.resets_at END`;

/** Locks in the order of the other statements. */
const forget = `
  WITH found AS (
    SELECT name FROM call_counters WHERE kind = 'budget' AND project = $1 AND subject = $2 ORDER BY name FOR UPDATE
  )
  DELETE FROM call_counters WHERE kind = 'budget' AND project = $1 AND subject = $2 AND name IN (SELECT name FROM found)`;

/** The budgets of investigations as operators see and change them: what was answered holds at every replica. */
@Injectable()
export class Budgets {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'investigations'>,
    private readonly counters: Counters,
    @InjectDataSource() private readonly db: DataSource,
  ) {}

  /** The investigations that were called last, the latest first, without those whose time is over. */
  async latest(limit: number, { projects, investigationId }: Wanted): Promise<InvestigationView[]> {
    await this.counters.stored?.();
    const id = investigationId === undefined ? null : sanitisedText(investigationId);
    const rows = await this.db.query<InvestigationRow[]>(selectLatest, [projects ?? null, id, limit]);
    return rows.map((row) => this.viewOf(row));
  }

  /** Sets limits; calls that were counted stay counted. */
  async raise(
    key: InvestigationKey,
    { callsPerTool, tools = {} }: Pick<RaiseBudgetBody, 'callsPerTool' | 'tools'>,
  ): Promise<InvestigationView> {
    const limits = { ...tools, ...(callsPerTool !== undefined && { '': callsPerTool }) };
    const of = subjectOf(key);
    const { investigations } = this.config;
    await this.counters.stored?.();
    await this.db.query(setLimits, [of.project, of.subject, storableJson(limits), investigations.ttlMs]);
    const wanted = { projects: [of.project], investigationId: of.subject };
    const [view] = await this.latest(1, wanted);
    this.counters.limited?.(of, limits, view?.resetsAt ?? 0);
    // It ended, or was reset, in this very moment.
    return view ?? { ...key, callsPerTool: investigations.callsPerTool, resetsAt: Date.now(), tools: [] };
  }

  /** Forgets what the investigation spent and the limits it was given. */
  async reset(key: InvestigationKey): Promise<void> {
    const of = subjectOf(key);
    await this.counters.stored?.();
    await this.db.query(forget, [of.project, of.subject]);
    this.counters.forgotten?.(of);
  }

  private viewOf({ counters, lastCallAt, ...key }: InvestigationRow): InvestigationView {
    const callsPerTool =
      counters.find(({ name }) => name === '')?.set ?? this.config.investigations.callsPerTool;
    const tools = counters
      .filter(({ name }) => name !== '')
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, used, set, own }) => toolView(name, set ?? own ?? callsPerTool, used));
    return { ...key, lastCallAt: lastCallAt ?? undefined, callsPerTool, tools };
  }
}

/** @param limit 0: none */
const toolView = (tool: string, limit: number, used: number): ToolBudgetView => ({
  tool,
  limit,
  used,
  remaining: limit > 0 ? Math.max(0, limit - used) : null,
});
