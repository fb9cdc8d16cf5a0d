import { sanitisedText } from '../../../base/common/pg-text.js';
import type { SqlValues } from '../../../base/database/statement.js';

/** `anyId`: the span has one, whichever. */
export const anyId = { not: null } as const;

/** An id as it is, null for spans that have none, or `anyId`. */
export type WantedId = string | null | typeof anyId;

/** The members of a filter that list ids or names, and their columns. */
const idColumns = {
  traceIds: 'trace_id',
  spanIds: 'span_id',
  parentSpanIds: 'parent_span_id',
  threadIds: 'thread_id',
  runIds: 'run_id',
  operationNames: 'operation',
  labels: 'label',
  models: 'model',
  kinds: 'kind',
} as const;

type IdFilter = { readonly [Name in keyof typeof idColumns]?: readonly WantedId[] };

export const runKinds = ['agent', 'calls', 'assistant'] as const;
export type RunKind = (typeof runKinds)[number];

/** Ids of runs of calls that named no trace and no run, as the executions' sink makes them. */
export const callRun = '^(investigation|thread|session):';

/** Runs of agents, calls alone or taken together by what they named, or runs of the console's assistant: a condition on `run_figures`. */
export const isOfKind = (kind: RunKind): string => {
  const isAssistant = `run_id LIKE 'investigation:assistant-%'`;
  if (kind === 'assistant') return isAssistant;
  const isAgent = `(is_agent AND run_id !~ '${callRun}')`;
  return `${isAgent} = ${kind === 'agent'} AND NOT ${isAssistant}`;
};

/** A filter of spans; all given members must match. */
export interface SpanFilter extends IdFilter {
  readonly project: string;
  /** Microseconds since the epoch of the span's start; both included. */
  readonly startUs?: number;
  readonly endUs?: number;
  /** Earliest end, included. */
  readonly finishFromUs?: number;
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  readonly minCost?: number;
  readonly maxCost?: number;
  readonly status?: 'success' | 'error';
  /** Whether the status is `error`. */
  readonly hasErrors?: boolean;
  readonly runKind?: RunKind;
  /** Case-insensitive text in the operation, error, model, tool or label. */
  readonly text?: string;
}

/** The page of a list. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** The condition of a filter on the columns of `all_spans`. */
export function conditionOf(filter: SpanFilter, values: SqlValues): string {
  const conditions = [`project = ${values.add(filter.project)}`];
  const compare = (comparison: string, value: number | string | boolean | undefined): void => {
    if (value !== undefined) conditions.push(`${comparison} ${values.add(value)}`);
  };
  for (const [name, column] of Object.entries(idColumns)) {
    const ids = filter[name as keyof typeof idColumns];
    if (ids && ids.length > 0) conditions.push(isOneOf(column, ids, values));
  }
  const { startUs, endUs, runKind, text } = filter;
  if (runKind) {
    const runs = `project = ${values.add(filter.project)} AND ${isOfKind(runKind)}`;
    conditions.push(`run_id IN (SELECT run_id FROM run_figures WHERE ${runs})`);
  }
  compare('start_us >=', startUs);
  compare('start_us <=', endUs);
  compare('finish_us >=', filter.finishFromUs);
  // The days are redundant but let the planner prune partitions.
  if (startUs !== undefined) compare('start_day >=', dayOf(startUs));
  if (endUs !== undefined) compare('start_day <=', dayOf(endUs));
  compare(`${durationMs} >=`, filter.minDurationMs);
  compare(`${durationMs} <=`, filter.maxDurationMs);
  compare('cost >=', filter.minCost);
  compare('cost <=', filter.maxCost);
  compare('status =', filter.status);
  compare("(status = 'error') =", filter.hasErrors);
  if (text !== undefined) conditions.push(`${searched} ILIKE ${values.add(`%${asLiteral(text)}%`)}`);
  return conditions.join(' AND ');
}

/** Whole milliseconds, as for all durations, rounded without `numeric`, which takes several times as long. */
export const durationMs =
  '((finish_us - start_us + CASE WHEN finish_us < start_us THEN -500 ELSE 500 END) / 1000)';

const searched = `concat_ws(' ', operation, error_message, model, tool_name, label)`;

function isOneOf(column: string, ids: readonly WantedId[], values: SqlValues): string {
  const named = ids.filter((id) => typeof id === 'string');
  const either: string[] = [];
  if (ids.includes(null)) either.push(`${column} IS NULL`);
  if (ids.includes(anyId)) either.push(`${column} IS NOT NULL`);
  if (named.length > 0) either.push(`${column} = ANY (${values.add(named.map(sanitisedText))}::text[])`);
  return either.length === 1 ? String(either[0]) : `(${either.join(' OR ')})`;
}

const asLiteral = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

const dayOf = (us: number): string => new Date(Math.floor(us / 1_000)).toISOString().slice(0, 10);
