import { sanitisedText } from '../../../base/common/pg-text.js';
import type { SqlValues } from '../../../base/database/statement.js';

/** Matches spans that have any id. */
export const anyId = { not: null } as const;

/** The id of the spans to select: a text; null for spans without one; or `anyId`. */
export type WantedId = string | null | typeof anyId;

/** Members of a filter that list ids or names, with their columns. */
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

/** Kinds of runs: of an agent that sent spans, of calls without a trace, of the console's assistant. */
export const runKinds = ['agent', 'calls', 'assistant'] as const;
export type RunKind = (typeof runKinds)[number];

/** A pattern for the ids of runs that group calls without a trace, as the executions' sink makes them (`withRuns`). */
export const callRunPattern = '^(investigation|thread|session):';

/** A condition on `run_figures` for the runs of a kind. */
export const isOfKind = (kind: RunKind): string => {
  const isAssistant = `run_id LIKE 'investigation:assistant-%'`;
  if (kind === 'assistant') return isAssistant;
  const isAgent = `(is_agent AND run_id !~ '${callRunPattern}')`;
  return `${isAgent} = ${kind === 'agent'} AND NOT ${isAssistant}`;
};

/** A filter of spans. A span must match all members that are present. */
export interface SpanFilter extends IdFilter {
  readonly project: string;
  /** Earliest start of a span. All times are included, and in microseconds since the epoch. */
  readonly startUs?: number;
  /** Latest start of a span. */
  readonly endUs?: number;
  /** Earliest end of a span. */
  readonly finishFromUs?: number;
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  readonly minCost?: number;
  readonly maxCost?: number;
  readonly status?: 'success' | 'error';
  /** Whether the status is `error`. */
  readonly hasErrors?: boolean;
  readonly runKind?: RunKind;
  /** Text that the operation, error, model, tool or label contains, in any case. */
  readonly text?: string;
}

/** The latest time of JavaScript, in microseconds. No span starts later. */
export const latestUs = 8_640_000_000_000_000;

/** A page of a list. */
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
  // Redundant, but lets the planner skip partitions.
  if (startUs !== undefined) compare('start_day >=', dayOf(startUs));
  if (endUs !== undefined) compare('start_day <=', dayOf(endUs));
  compare(`${durationMs} >=`, filter.minDurationMs);
  compare(`${durationMs} <=`, filter.maxDurationMs);
  compare('cost >=', filter.minCost);
  compare('cost <=', filter.maxCost);
  compare('status =', filter.status);
  compare("(status = 'error') =", filter.hasErrors);
  if (text !== undefined) conditions.push(`${searchedText} ILIKE ${values.add(`%${asLiteral(text)}%`)}`);
  return conditions.join(' AND ');
}

/** A span's duration in whole milliseconds. Rounded in integers, because `numeric` takes several times as long. */
export const durationMs =
  '((finish_us - start_us + CASE WHEN finish_us < start_us THEN -500 ELSE 500 END) / 1000)';

/** The text that `text` of a filter is searched in. */
const searchedText = `concat_ws(' ', operation, error_message, model, tool_name, label)`;

/** A condition for spans whose id is one of the wanted ones. */
function isOneOf(column: string, ids: readonly WantedId[], values: SqlValues): string {
  const texts = ids.filter((id) => typeof id === 'string');
  const either: string[] = [];
  if (ids.includes(null)) either.push(`${column} IS NULL`);
  if (ids.includes(anyId)) either.push(`${column} IS NOT NULL`);
  if (texts.length > 0) either.push(`${column} = ANY (${values.add(texts.map(sanitisedText))}::text[])`);
  return either.length === 1 ? String(either[0]) : `(${either.join(' OR ')})`;
}

/** A text as a pattern of LIKE that matches only this text. */
const asLiteral = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

const dayOf = (us: number): string => new Date(Math.floor(us / 1_000)).toISOString().slice(0, 10);
