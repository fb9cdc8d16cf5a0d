import { invalidRequest } from '../../../common/errors.js';
import type { GroupFilter, Grouping } from './groups.sql.js';
import { anyId, type SpanFilter, type WantedId } from './span-filter.sql.js';
import type { GroupBody, ListRunsQuery, ListSpansQuery, Period } from './trace-queries.dto.js';

const hourMs = 3_600_000;
const periodMs: Readonly<Record<Period, number>> = {
  last_hour: hourMs,
  last_day: 24 * hourMs,
  last_week: 7 * 24 * hourMs,
  last_month: 30 * 24 * hourMs,
};

/** The beginning of a period that ends now, in microseconds. */
export const startOf = (period: Period | undefined): number | undefined =>
  period && (Date.now() - periodMs[period]) * 1_000;

type Said<T> = Partial<T>;

/** Ids of a list as a caller writes them: `null` stands for none and `!null` for any, whatever their case. */
export function wantedIds(words: readonly string[]): WantedId[] {
  return words.map((word) => {
    if (/^null$/i.test(word)) return null;
    return /^!null$/i.test(word) ? anyId : word;
  });
}

/** @param query as `GET /spans` has it */
export function spansOf(project: string, query: Said<ListSpansQuery>): SpanFilter {
  return given({
    project,
    spanIds: query.span_ids && wantedIds(query.span_ids),
    traceIds: query.trace_ids && wantedIds(query.trace_ids),
    parentSpanIds: query.parent_span_ids && wantedIds(query.parent_span_ids),
    threadIds: query.thread_ids && wantedIds(query.thread_ids),
    runIds: query.run_ids && wantedIds(query.run_ids),
    operationNames: query.operation_names && wantedIds(query.operation_names),
    labels: query.labels && wantedIds(query.labels),
    startUs: query.start_time ?? startOf(query.period),
    endUs: query.end_time,
    minDurationMs: query.min_duration_ms,
    maxDurationMs: query.max_duration_ms,
    minCost: query.min_cost,
    maxCost: query.max_cost,
    status: query.status,
    hasErrors: query.has_errors,
    text: query.q,
  });
}

/** @param query as `GET /runs` has it: of spans, and of what they belong to */
export function groupsOf(
  project: string,
  query: Said<ListRunsQuery>,
): { readonly spans: SpanFilter; readonly groups: GroupFilter } {
  const { type_filter: type, status } = query;
  const spans = given({
    project,
    runIds: query.run_ids && wantedIds(query.run_ids),
    threadIds: query.thread_ids && wantedIds(query.thread_ids),
    traceIds: query.trace_ids && wantedIds(query.trace_ids),
    labels: query.labels && wantedIds(query.labels),
    models: query.model_name === undefined ? undefined : [query.model_name],
    kinds: type && [type === 'model' ? 'llm' : 'tool'],
    startUs: query.start_time_min ?? startOf(query.period),
    endUs: query.start_time_max,
    text: query.q,
  });
  const groups = given({
    status: status === 'failed' ? undefined : status,
    failed: status === 'failed' || undefined,
    hasErrors: query.has_errors,
    minDurationMs: query.min_duration_ms,
    maxDurationMs: query.max_duration_ms,
    minCost: query.min_cost,
    maxCost: query.max_cost,
  });
  return { spans, groups };
}

export const groupingOf = (by: Grouping['by'], bucketSeconds: number): Grouping =>
  by === 'time' ? { by, bucketSeconds } : { by };

/**
 * The spans of one group, and the name of the group in an answer.
 * @param at of the group in the body, for the error
 * @throws Problem `invalid_request` when the group's key is missing
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

/** Without the members that are undefined. */
function given<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
