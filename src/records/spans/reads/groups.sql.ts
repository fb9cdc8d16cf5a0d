import { type SqlValues, type Statement, statement } from '../../../base/database/statement.js';
import { maxListed, maxPauseUs, type SliceQuery, selectSlices, slotSeconds } from './slices.sql.js';
import {
  callRunPattern,
  conditionOf,
  isOfKind,
  latestUs,
  type Page,
  type SpanFilter,
} from './span-filter.sql.js';

// Statements that add slices (see slices.sql.ts) to figures of groups: of runs, threads or buckets of time; `selectFigures`
// also to those of all spans. The CTE `slices` has the slices, `keyed` the same with the `key` of their group, and `sums` one
// row of figures per group.

/** How spans are grouped: by their run, by their thread, or by the bucket of time in which they start. */
export type Grouping =
  { readonly by: 'run' | 'thread' } | { readonly by: 'time'; readonly bucketSeconds: number };

/** Conditions on the figures of a group. Durations are in milliseconds, costs in US dollars. */
export interface GroupFilter extends Pick<
  SpanFilter,
  'hasErrors' | 'minDurationMs' | 'maxDurationMs' | 'minCost' | 'maxCost'
> {
  /** Status of the group, which depends on its root spans. */
  readonly status?: 'success' | 'error';
  /** Whether any span failed. */
  readonly failed?: boolean;
}

/** A filter of groups: by their spans, and by their figures. */
export interface GroupFilters {
  readonly spans: SpanFilter;
  readonly groups?: GroupFilter;
}

/** SQL for the key of a slice's group: the id of its run or thread, or the start of its bucket. */
const keyOf = (grouping: Grouping): string => {
  if (grouping.by !== 'time') return `${grouping.by}_id`;
  const size = Math.round(grouping.bucketSeconds * 1_000_000);
  return `first_us / ${size} * ${size}`;
};

/** SQL for whether a group failed: whether one of its root spans did; of a run that groups calls, whether the last call did. */
const failedOf = ({ by }: Grouping): string =>
  by === 'run'
    ? `CASE WHEN key ~ '${callRunPattern}' THEN (array_agg(last_failed ORDER BY last_us DESC, last_id DESC))[1] ELSE bool_or(root_failed) END`
    : 'bool_or(root_failed)';

// SQL for figures of a group.
const groupCost = 'coalesce(sum(cost), 0)';
const groupDurationMs = 'round((max(finish_us) - min(first_us)) / 1000.0)';

/** The column of a slice with the key of a run or thread. */
type KeyColumn = 'run_id' | 'thread_id';

/** Conditions for groups: one on each slice, one on the group. */
interface GroupConditions {
  readonly where: string;
  readonly having: string;
}

/** Conditions for runs or threads of which a span matches. */
function conditionsForMatch(column: KeyColumn, filter: SpanFilter, values: SqlValues): GroupConditions {
  // Filters have no undefined members (`withoutUndefined`).
  const { project: _, runIds, runKind, startUs = 0, endUs = latestUs, ...others } = filter;
  const isShorterThanSlice = endUs - startUs < slotSeconds * 1_000_000;
  const namesRunsOfThread = column === 'thread_id' && (runIds !== undefined || runKind !== undefined);
  // Slices can tell it if the filter only names runs, or a range that is at least as long as a slice. Other filters look at
  // the spans.
  const needsSpans = Object.keys(others).length > 0 || isShorterThanSlice || namesRunsOfThread;
  return needsSpans ? bySpans(column, filter, values) : bySlices(column, filter, values);
}

/** Looks for a span that matches. */
function bySpans(column: KeyColumn, filter: SpanFilter, values: SqlValues): GroupConditions {
  const keys = `SELECT DISTINCT ${column} FROM all_spans WHERE ${conditionOf(filter, values)}`;
  return { where: `key = ANY (ARRAY(${keys}))`, having: 'true' };
}

/** Looks for a slice with a span in the range. */
function bySlices(column: KeyColumn, filter: SpanFilter, values: SqlValues): GroupConditions {
  const { startUs, endUs } = filter;
  const where =
    column === 'run_id' ? `key IN (SELECT run_id FROM run_figures WHERE ${ofRuns(filter, values)})` : 'true';
  if (startUs === undefined && endUs === undefined) return { where, having: 'true' };
  // In a range that is longer than a slice, some slice has its first or its last span, if any span is in the range.
  const [from, to] = [values.add(startUs ?? 0), values.add(endUs ?? latestUs)];
  const having = `bool_or(first_us BETWEEN ${from} AND ${to} OR last_us BETWEEN ${from} AND ${to})`;
  return { where, having };
}

/**
 * One page of groups, the newest first: the columns `key`, and `total` with the number of all groups. A run or thread matches
 * with all its spans if one of them matches. A bucket of time has only spans that match.
 */
export const selectGroupKeys = (
  grouping: Grouping,
  { spans, groups = {} }: GroupFilters,
  slices: SliceQuery,
  page: Page,
): Statement =>
  statement((values) => {
    const source = selectSlices(slices, values);
    const matching =
      grouping.by === 'time'
        ? { where: 'true', having: 'true' }
        : conditionsForMatch(`${grouping.by}_id`, spans, values);
    const having = [matching.having];
    const compare = (comparison: string, value: boolean | number | undefined): void => {
      if (value !== undefined) having.push(`${comparison} ${values.add(value)}`);
    };
    if (groups.status) compare(`${failedOf(grouping)} =`, groups.status === 'error');
    // `status=failed` and `has_errors` mean the same; if both are given, both must hold.
    compare('(sum(errors) > 0) =', groups.failed);
    compare('(sum(errors) > 0) =', groups.hasErrors);
    compare(`${groupDurationMs} >=`, groups.minDurationMs);
    compare(`${groupDurationMs} <=`, groups.maxDurationMs);
    compare(`${groupCost} >=`, groups.minCost);
    compare(`${groupCost} <=`, groups.maxCost);
    return `
    WITH RECURSIVE ${source}
    SELECT key, count(*) OVER ()::int AS total
    FROM (SELECT *, ${keyOf(grouping)} AS key FROM slices) AS slices
    WHERE key IS NOT NULL AND ${matching.where}
    GROUP BY key
    HAVING ${having.join(' AND ')}
    ORDER BY min(first_us) DESC, key
    LIMIT ${values.add(page.limit)} OFFSET ${values.add(page.offset)}`;
  });

/** A condition on `run_figures`, for filters of runs by id and kind. */
const ofRuns = ({ project, runIds, runKind }: SpanFilter, values: SqlValues): string =>
  `${conditionOf({ project, ...(runIds && { runIds }) }, values)} ${runKind ? `AND ${isOfKind(runKind)}` : ''}`;

/** The ids of a page of runs, the newest first. */
const runsPage = (filter: SpanFilter, { limit, offset }: Page, values: SqlValues): string => `
    SELECT run_id AS key FROM run_figures
    WHERE ${ofRuns(filter, values)}
    ORDER BY start_us DESC, run_id
    LIMIT ${values.add(limit)} OFFSET ${values.add(offset)}`;

/** One page of runs for a filter by id and kind only. Reads the table of runs, so that only runs of the page must be counted. */
export const selectRunKeys = (filter: SpanFilter, page: Page): Statement =>
  statement(
    (values) => `
    SELECT key, (SELECT count(*)::int FROM run_figures WHERE ${ofRuns(filter, values)}) AS total
    FROM (${runsPage(filter, page, values)}) AS page`,
  );

/** A condition on runs: those of the page that `selectRunKeys` has. */
export const runsOnPage = (filter: SpanFilter, page: Page, values: SqlValues): string =>
  `run_id = ANY (ARRAY(${runsPage(filter, page, values)}))`;

/** Lists of distinct values in a group's figures, with the column of slices that each comes from. */
const listColumns = {
  thread_ids: 'ARRAY[thread_id]',
  trace_ids: 'trace_ids',
  run_ids: 'ARRAY[run_id]',
  request_models: 'request_models',
  used_models: 'used_models',
  used_tools: 'used_tools',
  labels: 'labels',
  errors: 'error_texts',
} as const;

/** The lists of a group without any values. */
export const noLists = Object.fromEntries(Object.keys(listColumns).map((name) => [name, []]));

/** The CTE `lists_by_key` with the lists of each group. Equal lists are removed first, because most slices have the same. */
const listsByKey = `
    lists_by_key AS MATERIALIZED (
      SELECT key, json_object_agg(name, list) AS lists
      FROM (
        SELECT key, name, (array_agg(value ORDER BY value COLLATE "C"))[1:${maxListed}] AS list
        FROM (
          SELECT DISTINCT key, name, value FROM (
            SELECT key, name, unnest(list) AS value FROM (
              ${Object.entries(listColumns)
                .map(
                  ([name, column]) => `SELECT DISTINCT key, '${name}' AS name, ${column} AS list FROM keyed`,
                )
                .join(' UNION ALL ')}
            ) AS different_lists
          ) AS entries WHERE value IS NOT NULL
        ) AS distinct_entries
        GROUP BY key, name
      ) AS capped
      GROUP BY key
    )`;

/** The CTE `roots` with the first root spans of each group. Only the slices with the earliest roots are read for them. */
const roots = `
    roots AS MATERIALIZED (
      SELECT key, (array_agg(id ORDER BY start_us, id))[1:${maxListed}] AS ids
      FROM (
        SELECT key, unnest(root_starts) AS start_us, unnest(root_ids) AS id
        FROM (
          SELECT *, row_number() OVER (PARTITION BY key ORDER BY root_starts[1], root_ids[1]) AS turn
          FROM keyed WHERE root_ids IS NOT NULL
        ) AS turns WHERE turn <= ${maxListed}
      ) AS root
      GROUP BY key
    )`;

/** One row of figures per group. Joins are full ones: for left ones the planner would choose nested loops over all groups. */
export const selectGroups = (grouping: Grouping, slices: SliceQuery): Statement =>
  statement(
    (values) => `
    WITH RECURSIVE ${selectSlices(slices, values)}, keyed AS MATERIALIZED (
      SELECT *, ${keyOf(grouping)} AS key FROM slices
    ), sums AS MATERIALIZED (
      SELECT key, min(first_us) AS first_us, max(finish_us) AS finish_us, sum(calls)::int AS llm_calls, ${groupCost}::float8 AS cost,
             sum(input_tokens)::float8 AS input_tokens, sum(output_tokens)::float8 AS output_tokens,
             ${groupDurationMs}::float8 AS duration_ms, sum(spans)::int AS total_spans, sum(errors)::int AS error_count,
             (array_agg(root_operation ORDER BY root_starts[1], root_ids[1]) FILTER (WHERE root_ids IS NOT NULL))[1] AS root_operation,
             CASE WHEN ${failedOf(grouping)} THEN 'error' ELSE 'success' END AS status
      FROM keyed WHERE key IS NOT NULL GROUP BY key
    ), found AS MATERIALIZED (
      SELECT key, count(DISTINCT (run_id, finding))::int AS findings FROM keyed, unnest(findings) AS finding GROUP BY key
    ), ${listsByKey}, ${roots}, ${activeParts}
    SELECT key, ${activityLetters} AS activity, lists, coalesce(ids, '{}') AS root_span_ids, root_operation, llm_calls, cost, input_tokens, output_tokens,
           first_us::float8 AS start_time_us, finish_us::float8 AS finish_time_us, duration_ms, total_spans,
           error_count > 0 AS has_errors, error_count, coalesce(findings, 0) AS semantic_error_count, status
    FROM sums FULL JOIN active_parts USING (key) FULL JOIN lists_by_key USING (key) FULL JOIN roots USING (key) FULL JOIN found USING (key)`,
  );

/** Number of equal parts of a group's time, of which `activity` has a letter each. */
const parts = 40;

/** The times of a slice: for long groups the roughly joined ones, of which there are fewer. */
const timesOf = (name: 'from' | 'to' | 'states'): string =>
  `CASE WHEN length >= ${parts * maxPauseUs} THEN rough_${name} ELSE active_${name} END`;

/**
 * The CTE `active_parts`: for each group, the parts of its time in which spans failed, tools ran and models were called, as
 * bits. A span has the bits from its first to its last part: 2^(last+1) − 2^first. A failed span of another kind (state 4)
 * has only its last. Of a span without duration, `first` may exceed `last`.
 */
const activeParts = `
    active_parts AS MATERIALIZED (
      SELECT key, bit_or(bits) FILTER (WHERE state >= 3) AS failed, bit_or(bits) FILTER (WHERE state = 2) AS tools,
             bit_or(bits) FILTER (WHERE state = 1) AS models
      FROM (
        SELECT key, state, (2::bigint << greatest(first, last)) - (1::bigint << CASE state WHEN 4 THEN last ELSE first END) AS bits
        FROM (
          SELECT key, state, least((from_us - start_us) * ${parts} / length, ${parts - 1})::int AS first,
                 greatest(((to_us - start_us) * ${parts} + length - 1) / length - 1, 0)::int AS last
          FROM (
            SELECT key, start_us, length, unnest(${timesOf('from')}) AS from_us, unnest(${timesOf('to')}) AS to_us,
                   unnest(${timesOf('states')}) AS state
            FROM (
              SELECT keyed.*, sums.first_us AS start_us, greatest(sums.finish_us - sums.first_us, 1) AS length
              FROM sums FULL JOIN keyed USING (key)
            ) AS each
          ) AS active
        ) AS placed
      ) AS marked
      GROUP BY key
    )`;

/** A letter for each part of a group's time: `e` if a span failed, `t` if a tool ran, `m` if a model was called, else `-`. */
const activityLetters = `(
      SELECT string_agg(CASE WHEN failed >> part & 1 = 1 THEN 'e' WHEN tools >> part & 1 = 1 THEN 't'
                             WHEN models >> part & 1 = 1 THEN 'm' ELSE '-' END, '' ORDER BY part)
      FROM generate_series(0, ${parts - 1}) AS part)`;

/** Model calls, errors, cost, tokens and latency: of all spans, or by bucket of time. */
export const selectFigures = (slices: SliceQuery, bucketSeconds?: number): Statement =>
  statement((values) => {
    const bucket = bucketSeconds ? `(${keyOf({ by: 'time', bucketSeconds })})::float8` : 'NULL::float8';
    return `
    WITH RECURSIVE ${selectSlices(slices, values)}, keyed AS MATERIALIZED (
      SELECT ${bucket} AS bucket, spans, calls, errors, cost, input_tokens, output_tokens, call_ms FROM slices
    ), timed AS (
      SELECT bucket, percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms)::float8[] AS ms
      FROM keyed, unnest(call_ms) AS ms GROUP BY bucket
    ), sums AS (
      SELECT ${bucketSeconds ? 'bucket' : 'NULL::float8 AS bucket'}, coalesce(sum(spans), 0)::int AS spans, coalesce(sum(calls), 0)::int AS calls, coalesce(sum(errors), 0)::int AS errors,
             round(coalesce(sum(cost), 0), 6)::float8 AS cost, coalesce(sum(input_tokens), 0)::float8 AS input_tokens,
             coalesce(sum(output_tokens), 0)::float8 AS output_tokens
      FROM keyed ${bucketSeconds ? 'GROUP BY bucket' : ''}
    )
    SELECT sums.*, ms[1] AS p50_ms, ms[2] AS p95_ms
    FROM sums LEFT JOIN timed ON timed.bucket IS NOT DISTINCT FROM sums.bucket
    ORDER BY bucket`;
  });
