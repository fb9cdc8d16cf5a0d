import type { DataSource } from 'typeorm';
import { type Statement, statement } from '../../src/base/database/statement.js';
import { billableSpans } from '../../src/records/spans/reads/billable-spans.sql.js';
import type { GroupFilters, Grouping } from '../../src/records/spans/reads/groups.sql.js';
import { conditionOf, type Page, type SpanFilter } from '../../src/records/spans/reads/span-filter.sql.js';
import { findingKey } from '../../src/records/spans/reads/summary.sql.js';

// Figures of groups by one pass over all of their spans.

/** The most entries of a list that a group shows, such as its traces. */
const maxListed = 100;

const keyOf = (grouping: Grouping): string => {
  if (grouping.by !== 'time') return `${grouping.by}_id`;
  const size = Math.round(grouping.bucketSeconds * 1_000_000);
  return `start_us / ${size} * ${size}`;
};

/**
 * One page of groups, the newest first: `key`, and in `total` how many groups there are. A run or a thread is there with
 * all its spans when one of them matches; a span of time has those that match.
 */
const selectGroupKeys = (grouping: Grouping, { spans, groups = {} }: GroupFilters, page: Page): Statement =>
  statement((values) => {
    const key = keyOf(grouping);
    const matching = conditionOf(spans, values);
    // An array, because for a day without statistics the planner expects a span or two, and would join each with each.
    const members =
      grouping.by === 'time'
        ? matching
        : `project = ${values.add(spans.project)} AND ${key} = ANY (ARRAY(SELECT DISTINCT ${key} FROM all_spans WHERE ${matching}))`;
    const having = ['true'];
    const holds = (comparison: string, value: boolean | number | undefined): void => {
      if (value !== undefined) having.push(`${comparison} ${values.add(value)}`);
    };
    const { status, minCost, maxCost } = groups;
    holds(`${failedOf(grouping, 'key', 'failed', 'root_failed')} =`, status && status === 'error');
    holds('bool_or(failed) =', groups.failed);
    holds('bool_or(failed) =', groups.hasErrors);
    holds(`${groupDurationMs} >=`, groups.minDurationMs);
    holds(`${groupDurationMs} <=`, groups.maxDurationMs);
    holds(`${groupCost} >=`, minCost);
    holds(`${groupCost} <=`, maxCost);
    // The cost of a group takes several times as long to find as its spans: only where it is asked for.
    const costs = minCost !== undefined || maxCost !== undefined;
    const counted = costs ? `${billableSpans(members, withinOf(grouping))},` : '';
    return `
    WITH RECURSIVE ${counted} members AS MATERIALIZED (
      SELECT ${key} AS key, trace_id, span_id, parent_span_id, start_us, finish_us, status = 'error' AS failed,
             ${costs ? 'call_cost' : 'NULL::numeric AS call_cost'}
      FROM ${costs ? 'counted' : `all_spans WHERE ${members}`}
    )
    SELECT key, count(*) OVER ()::int AS total
    FROM (
      SELECT *, failed AND ${isRoot('members', grouping.by === 'time' ? '' : 'AND parent.key = spans.key')} AS root_failed FROM members AS spans WHERE key IS NOT NULL
    ) AS grouped
    GROUP BY key
    HAVING ${having.join(' AND ')}
    ORDER BY min(start_us) DESC, key
    LIMIT ${values.add(page.limit)} OFFSET ${values.add(page.offset)}`;
  });

const withinOf = ({ by }: Grouping): 'run_id' | 'thread_id' | undefined =>
  by === 'time' ? undefined : `${by}_id`;

/** Ids of runs of calls that named no trace and no run, as the executions' sink makes them. */
const callRun = '^(investigation|thread|session):';

/** Whether a group failed: a root span of it did; of a run of calls, the last one. */
const failedOf = ({ by }: Grouping, key: string, failed: string, rootFailed: string): string =>
  by === 'run'
    ? `CASE WHEN ${key} ~ '${callRun}' THEN (array_agg(${failed} ORDER BY start_us DESC, span_id DESC))[1] ELSE bool_or(${rootFailed}) END`
    : `bool_or(${rootFailed})`;

const groupCost = 'coalesce(sum(call_cost), 0)';
const groupDurationMs = 'round((max(finish_us) - min(start_us)) / 1000.0)';

/** A condition for spans without a parent in the group. */
const isRoot = (all: string, same: string): string => `NOT EXISTS (
        SELECT FROM ${all} AS parent
        WHERE parent.trace_id = spans.trace_id AND parent.span_id = spans.parent_span_id ${same})`;

/** The figures of some groups, one row a group. */
const selectGroups = (grouping: Grouping, spans: SpanFilter): Statement =>
  statement((values) => {
    const within = withinOf(grouping);
    const distinct = (column: string): string =>
      `coalesce((array_agg(DISTINCT ${column} COLLATE "C") FILTER (WHERE ${column} IS NOT NULL))[1:${maxListed}], '{}')`;
    return `
    WITH RECURSIVE ${billableSpans(conditionOf(spans, values), within)}, ${activities(keyOf(grouping))}
    SELECT key, (SELECT activity FROM activities WHERE activities.key = spans.key) AS activity,
           ${distinct('thread_id')} AS thread_ids, ${distinct('trace_id')} AS trace_ids, ${distinct('run_id')} AS run_ids,
           coalesce((array_agg(span_id ORDER BY start_us, span_id) FILTER (WHERE is_root))[1:${maxListed}], '{}') AS root_span_ids,
           ${distinct('request_model')} AS request_models, ${distinct('call_model')} AS used_models,
           ${distinct(`CASE kind WHEN 'tool' THEN tool_name END`)} AS used_tools, ${distinct('label')} AS labels,
           (array_agg(operation ORDER BY start_us, span_id) FILTER (WHERE is_root))[1] AS root_operation,
           count(*) FILTER (WHERE is_call)::int AS llm_calls, ${groupCost}::float8 AS cost,
           sum(call_input)::float8 AS input_tokens, sum(call_output)::float8 AS output_tokens,
           min(start_us)::float8 AS start_time_us, max(finish_us)::float8 AS finish_time_us,
           ${groupDurationMs}::float8 AS duration_ms, count(*)::int AS total_spans,
           bool_or(status = 'error') AS has_errors, count(*) FILTER (WHERE status = 'error')::int AS error_count,
           count(DISTINCT (run_id, ${findingKey})) FILTER (WHERE is_text AND semantic_pattern IS NOT NULL)::int AS semantic_error_count,
           CASE WHEN ${failedOf(grouping, 'key', "status = 'error'", "status = 'error' AND is_root")} THEN 'error' ELSE 'success' END AS status,
           ${distinct('left(error_message, 500)')} AS errors
    FROM (SELECT *, ${keyOf(grouping)} AS key, ${isRoot('chosen', within ? `AND parent.${within} = spans.${within}` : '')} AS is_root FROM counted AS spans) AS spans
    GROUP BY key`;
  });

/** Equal parts of the time of a group in `activity`. */
const parts = 40;

/** A letter for each part of a group's time: `e` if a span failed, `t` if a tool ran, `m` if a model was called, or `-`. */
const activities = (key: string): string => `
    timed AS (
      SELECT ${key} AS key, kind, status, start_us - min(start_us) OVER same AS from_us,
             finish_us - min(start_us) OVER same AS to_us,
             greatest(max(finish_us) OVER same - min(start_us) OVER same, 1) / ${parts}.0 AS part_us
      FROM counted WINDOW same AS (PARTITION BY ${key})
    ), activities AS MATERIALIZED (
      SELECT key, string_agg(substr('-mte', state + 1, 1), '' ORDER BY part) AS activity
      FROM (
        SELECT key, part, max(state) AS state
        FROM (
          SELECT key, part, CASE WHEN status = 'error' THEN 3 WHEN kind = 'tool' THEN 2 ELSE 1 END AS state
          FROM timed CROSS JOIN LATERAL (
            SELECT floor(from_us / part_us)::int AS first, greatest(ceil(to_us / part_us)::int - 1, 0) AS last
          ) AS at, generate_series(CASE WHEN kind IN ('llm', 'tool') THEN first ELSE last END, greatest(first, last)) AS part
          WHERE kind IN ('llm', 'tool') OR status = 'error'
          UNION ALL
          SELECT key, part, 0 FROM (SELECT DISTINCT key FROM timed) AS keys, generate_series(0, ${parts - 1}) AS part
        ) AS seen
        WHERE part < ${parts}
        GROUP BY key, part
      ) AS filled
      GROUP BY key
    )`;

/** Calls of models, errors, cost, tokens and latency, in all or by span of time. */
const selectFigures = (filter: SpanFilter, bucketSeconds?: number): Statement =>
  statement((values) => {
    const size = Math.round((bucketSeconds ?? 0) * 1_000_000);
    const bucket = size > 0 ? `(start_us / ${size} * ${size})::float8` : 'NULL::float8';
    const percentile = (share: number): string =>
      `percentile_disc(${share}) WITHIN GROUP (ORDER BY duration_ms) FILTER (WHERE is_call AND duration_ms > 0)::float8`;
    return `
    WITH RECURSIVE ${billableSpans(conditionOf(filter, values))}
    SELECT ${bucket} AS bucket, count(*)::int AS spans, count(*) FILTER (WHERE is_call)::int AS calls,
           count(*) FILTER (WHERE status = 'error')::int AS errors, round(coalesce(sum(call_cost), 0), 6)::float8 AS cost,
           coalesce(sum(call_input), 0)::float8 AS input_tokens, coalesce(sum(call_output), 0)::float8 AS output_tokens,
           ${percentile(0.5)} AS p50_ms, ${percentile(0.95)} AS p95_ms
    FROM counted
    ${size > 0 ? 'GROUP BY 1 ORDER BY 1' : ''}`;
  });

type Row = Record<string, unknown>;

const select = (db: DataSource, { text, values }: Statement): Promise<Row[]> => db.query(text, values);

export async function plainGroups(
  db: DataSource,
  grouping: Grouping,
  filters: GroupFilters,
  page: Page,
): Promise<{ data: Row[]; total: number }> {
  const keys = await select(db, selectGroupKeys(grouping, filters, page));
  const total =
    keys[0]?.['total'] ??
    (await select(db, selectGroupKeys(grouping, filters, { limit: 1, offset: 0 })))[0]?.['total'];
  if (keys.length === 0) return { data: [], total: Number(total ?? 0) };
  const named = keys.map(({ key }) => String(key));
  const rows = await select(db, selectGroups(grouping, ofGroups(grouping, filters.spans, named)));
  const byKey = new Map(rows.map(({ key, ...figures }) => [String(key), figures]));
  return { data: named.map((key) => ({ key, ...byKey.get(key) })), total: Number(total) };
}

export const plainFigures = (db: DataSource, filter: SpanFilter, bucketSeconds?: number): Promise<Row[]> =>
  select(db, selectFigures(filter, bucketSeconds));

function ofGroups(
  grouping: Grouping,
  { project, ...filter }: SpanFilter,
  keys: readonly string[],
): SpanFilter {
  if (grouping.by !== 'time') return { project, [`${grouping.by}Ids`]: keys };
  const buckets = keys.map(Number);
  const first = Math.min(...buckets);
  const last = Math.max(...buckets) + grouping.bucketSeconds * 1_000_000 - 1;
  return {
    ...filter,
    project,
    startUs: Math.max(first, filter.startUs ?? first),
    endUs: Math.min(last, filter.endUs ?? last),
  };
}
