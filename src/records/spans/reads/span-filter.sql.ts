import { sanitisedText } from '../../../base/common/pg-text.js';

/** `anyId`: the span has one, whichever. */
export const anyId = { not: null } as const;

/** An id as it is, null for spans that have none, or `anyId`. */
export type WantedId = string | null | typeof anyId;

/** A filter of spans; all given members must match. */
export interface SpanFilter {
  readonly project: string;
  readonly traceIds?: readonly WantedId[];
  readonly spanIds?: readonly WantedId[];
  readonly parentSpanIds?: readonly WantedId[];
  readonly threadIds?: readonly WantedId[];
  readonly runIds?: readonly WantedId[];
  readonly operationNames?: readonly WantedId[];
  readonly labels?: readonly WantedId[];
  readonly models?: readonly WantedId[];
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
  readonly kinds?: readonly string[];
  /** Case-insensitive text in the operation, error, model, tool or label. */
  readonly text?: string;
}

/** The values of a statement, each added where its text names it. */
export class SqlValues {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    return `$${this.all.push(typeof value === 'string' ? sanitisedText(value) : value)}`;
  }
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** @param textOf adds each value where the text names it */
export function statement(textOf: (values: SqlValues) => string): Statement {
  const values = new SqlValues();
  return { text: textOf(values), values: values.all };
}

/** The page of a list. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

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
} as const satisfies Partial<Record<keyof SpanFilter, string>>;

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
  const { startUs, endUs, text } = filter;
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

/** Whole milliseconds, as for all durations. */
const durationMs = 'round((finish_us - start_us) / 1000.0)::bigint';

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
