import { invalidRequest } from '../../../base/common/errors.js';
import type { GroupFilter, GroupFilters, Grouping } from './groups.sql.js';
import { anyId, type SpanFilter, type WantedId } from './span-filter.sql.js';
import type { GroupBody, ListRunsQuery, ListSpansQuery, Period, StatsQuery } from './trace-queries.dto.js';

const hourMs = 3_600_000;
const periodMs: Readonly<Record<Period, number>> = {
  last_hour: hourMs,
  last_day: 24 * hourMs,
  last_week: 7 * 24 * hourMs,
  last_month: 30 * 24 * hourMs,
};

/** The start of a period that ends now, in microseconds. */
const startOf = (period: Period | undefined): number | undefined =>
  period && (Date.now() - periodMs[period]) * 1_000;

/** The time range of a query, by default the last day. */
export function rangeOf({ period, start_time: start, end_time: end }: StatsQuery): {
  readonly startUs: number;
  readonly endUs: number;
} {
  const endUs = end ?? Date.now() * 1_000;
  return { startUs: start ?? startOf(period) ?? endUs - 24 * hourMs * 1_000, endUs };
}

/** A query from REST or from a tool's input. */
type Given<T> = {
  readonly [K in keyof T]?: (T[K] extends string[] | undefined ? readonly string[] : T[K]) | undefined;
};

/** Parses a list of ids: `null` stands for no id and `!null` for any, in any case. */
export const wantedIds = (words: readonly string[] | undefined): WantedId[] | undefined =>
  words?.map((word) => {
    if (/^null$/i.test(word)) return null;
    return /^!null$/i.test(word) ? anyId : word;
  });

const idsIn = (query: Given<ListSpansQuery>) => ({
  spanIds: wantedIds(query.span_ids),
  traceIds: wantedIds(query.trace_ids),
  parentSpanIds: wantedIds(query.parent_span_ids),
  threadIds: wantedIds(query.thread_ids),
  runIds: wantedIds(query.run_ids),
  operationNames: wantedIds(query.operation_names),
  labels: wantedIds(query.labels),
  text: query.q,
});

/** Limits of a span, or of a group as a whole. */
const limitsIn = (query: Given<ListSpansQuery | ListRunsQuery>) => ({
  minDurationMs: query.min_duration_ms,
  maxDurationMs: query.max_duration_ms,
  minCost: query.min_cost,
  maxCost: query.max_cost,
  hasErrors: query.has_errors,
});

/** @param query as `GET /spans` has it */
export const spansOf = (project: string, query: Given<ListSpansQuery>): SpanFilter =>
  given({
    project,
    ...idsIn(query),
    ...limitsIn(query),
    startUs: query.start_time ?? startOf(query.period),
    endUs: query.end_time,
    status: query.status,
  });

/** @param query as `GET /runs` has it: of spans, and of what they belong to */
export function groupsOf(project: string, query: Given<ListRunsQuery>): GroupFilters {
  const { type_filter: type, kind, status, model_name: model, ...rest } = query;
  const spans = given<SpanFilter>({
    project,
    ...idsIn(rest),
    models: model === undefined ? undefined : [model],
    runKind: kind === 'all' ? undefined : kind,
    kinds: type && [type === 'model' ? 'llm' : 'tool'],
    startUs: query.start_time_min ?? startOf(query.period),
    endUs: query.start_time_max,
  });
  const groups = given<GroupFilter>({
    ...limitsIn(query),
    status: status === 'failed' ? undefined : status,
    failed: status === 'failed' || undefined,
  });
  return { spans, groups };
}

export const groupingOf = (by: Grouping['by'], bucketSeconds: number): Grouping =>
  by === 'time' ? { by, bucketSeconds } : { by };

/**
 * The spans of one group, and the name of the group in an answer.
 * @param at of the group in the body, for the error
 * @throws Problem `invalid_request` if the group's key is missing
 */
export function oneGroup(
  project: string,
  { groupBy, timeBucket, bucketSize = 3_600, threadId, runId }: GroupBody,
  labels: readonly string[] | undefined,
  pointerOf: (member: 'threadId' | 'runId' | 'timeBucket') => string,
): { readonly name: string; readonly filter: SpanFilter } {
  const missing = (member: 'threadId' | 'runId' | 'timeBucket'): never => {
    throw invalidRequest({ pointer: pointerOf(member), detail: `is required for groups by ${groupBy}` });
  };
  const base = { project, ...(labels && { labels: wantedIds(labels) }) };
  if (groupBy === 'thread') {
    const id = threadId ?? missing('threadId');
    return { name: `thread-${id}`, filter: { ...base, threadIds: [id] } };
  }
  if (groupBy === 'run') {
    const id = runId ?? missing('runId');
    return { name: `run-${id}`, filter: { ...base, runIds: [id] } };
  }
  const startUs = timeBucket ?? missing('timeBucket');
  return {
    name: `time-${startUs}`,
    filter: { ...base, startUs, endUs: startUs + bucketSize * 1_000_000 - 1 },
  };
}

/** Removes the members that are undefined. */
export function given<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
