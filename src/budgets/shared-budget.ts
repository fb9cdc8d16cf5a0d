import type { DataSource } from 'typeorm';
import { sanitisedText, storableJson } from '../common/pg-text.js';
import type { Counters } from '../counters/counters.js';
import {
  type BudgetDecision,
  type BudgetRequest,
  BudgetStore,
  type InvestigationKey,
  type InvestigationView,
  toolView,
  type Wanted,
} from './budget-store.js';
import type { BudgetSettings } from './investigation-budget.js';
import type { RaiseBudgetBody } from './investigations.dto.js';

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

/** Budgets in the database: what was answered holds at every replica. */
export class SharedBudget extends BudgetStore {
  constructor(
    private readonly settings: Pick<BudgetSettings, 'callsPerTool' | 'ttlMs'>,
    private readonly counters: Counters,
    private readonly db: Pick<DataSource, 'query'>,
  ) {
    super();
  }

  override async take(request: BudgetRequest): Promise<BudgetDecision> {
    const { projectId: project, investigationId: subject, tool: name, toolLimit } = request;
    const counter = { kind: 'budget', project, subject, name } as const;
    const taken = await this.counters.take({ ...counter, limit: toolLimit, ttlMs: this.settings.ttlMs });
    const { granted, limit, used, resetsAt, release } = taken;
    const budget = { limit, remaining: Math.max(0, limit - used), resetsAt };
    if (!granted) return { granted, budget };
    return { granted, budget: limit > 0 ? budget : undefined, release };
  }

  override async latest(limit: number, { projects, investigationId }: Wanted): Promise<InvestigationView[]> {
    const id = investigationId === undefined ? null : sanitisedText(investigationId);
    const rows = await this.db.query<InvestigationRow[]>(selectLatest, [projects ?? null, id, limit]);
    return rows.map((row) => this.viewOf(row));
  }

  override async raise(
    key: InvestigationKey,
    { callsPerTool, tools = {} }: Pick<RaiseBudgetBody, 'callsPerTool' | 'tools'>,
  ): Promise<InvestigationView> {
    const limits = { ...tools, ...(callsPerTool !== undefined && { '': callsPerTool }) };
    const { projectId, investigationId } = key;
    const values = [projectId, sanitisedText(investigationId), storableJson(limits), this.settings.ttlMs];
    await this.db.query(setLimits, values);
    const [view] = await this.latest(1, { projects: [projectId], investigationId });
    // It ended, or was reset, in this very moment.
    return view ?? { ...key, callsPerTool: this.settings.callsPerTool, resetsAt: Date.now(), tools: [] };
  }

  override async reset({ projectId, investigationId }: InvestigationKey): Promise<void> {
    await this.db.query(forget, [projectId, sanitisedText(investigationId)]);
  }

  private viewOf({ counters, lastCallAt, ...key }: InvestigationRow): InvestigationView {
    const callsPerTool = counters.find(({ name }) => name === '')?.set ?? this.settings.callsPerTool;
    const tools = counters
      .filter(({ name }) => name !== '')
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, used, set, own }) => toolView(name, set ?? own ?? callsPerTool, used));
    return { ...key, lastCallAt: lastCallAt ?? undefined, callsPerTool, tools };
  }
}
