import { dayMs, hourMs } from '../../../base/common/clock.js';
import { invalidRequest } from '../../../base/common/errors.js';
import type { GroupFilter, GroupFilters, Grouping } from './groups.sql.js';
import { anyId, type SpanFilter, type WantedId } from './span-filter.sql.js';
import type { GroupBody, ListRunsQuery, ListSpansQuery, Period, StatsQuery } from './trace-queries.dto.js';

/** Length of each period. */
const periodMs: Readonly<Record<Period, number>> = {
  last_hour: hourMs,
  last_day: dayMs,
  last_week: 7 * dayMs,
  last_month: 30 * dayMs,
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
  return { startUs: start ?? startOf(period) ?? endUs - dayMs * 1_000, endUs };
}

/** A query of REST, or the input of a tool, which may lack members that REST always sets. */
type QueryLike<T> = {
  readonly [K in keyof T]?: (T[K] extends string[] | undefined ? readonly string[] : T[K]) | undefined;
};

/** The ids of a query: `null` selects spans without an id and `!null` spans with any id, in any letter case. */
const wantedIds = (words: readonly string[] | undefined): WantedId[] | undefined =>
  words?.map((word) => {
    if (/^null$/i.test(word)) return null;
    return /^!null$/i.test(word) ? anyId : word;
  });

/** Conditions on ids and names. */
const idsIn = (query: QueryLike<ListSpansQuery>) => ({
  spanIds: wantedIds(query.span_ids),
  traceIds: wantedIds(query.trace_ids),
  parentSpanIds: wantedIds(query.parent_span_ids),
  threadIds: wantedIds(query.thread_ids),
  runIds: wantedIds(query.run_ids),
  operationNames: wantedIds(query.operation_names),
  labels: wantedIds(query.labels),
  text: query.q,
});

/** Conditions on figures of a span, or of a group. */
const limitsIn = (query: QueryLike<ListSpansQuery | ListRunsQuery>) => ({
  minDurationMs: query.min_duration_ms,
  maxDurationMs: query.max_duration_ms,
  minCost: query.min_cost,
  maxCost: query.max_cost,
  hasErrors: query.has_errors,
});

/** The filter of spans for a query of `GET /spans`. */
export const spansOf = (project: string, query: QueryLike<ListSpansQuery>): SpanFilter =>
  withoutUndefined({
    project,
    ...idsIn(query),
    ...limitsIn(query),
    startUs: query.start_time ?? startOf(query.period),
    endUs: query.end_time,
    status: query.status,
  });

/** The filters of groups and of their spans, for a query of `GET /runs` or `GET /group`. */
export function groupsOf(project: string, query: QueryLike<ListRunsQuery>): GroupFilters {
  const { type_filter: type, kind, status, model_name: model, ...rest } = query;
  const spans = withoutUndefined<SpanFilter>({
    project,
    ...idsIn(rest),
    models: model === undefined ? undefined : [model],
    runKind: kind === 'all' ? undefined : kind,
    kinds: type && [type === 'model' ? 'llm' : 'tool'],
    startUs: query.start_time_min ?? startOf(query.period),
    endUs: query.start_time_max,
  });
  const groups = withoutUndefined<GroupFilter>({
    ...limitsIn(query),
    status: status === 'failed' ? undefined : status,
    failed: status === 'failed' || undefined,
  });
  return { spans, groups };
}

/** The grouping of a query, which has a bucket size even for runs and threads. */
export const groupingOf = (by: Grouping['by'], bucketSeconds: number): Grouping =>
  by === 'time' ? { by, bucketSeconds } : { by };

/**
 * A filter for the spans of one group, and the group's name in a response.
 * @param pointerOf JSON pointer of a member of the group, for the error
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
export function withoutUndefined<T extends object>(members: {
  readonly [K in keyof T]: T[K] | undefined;
}): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
