import { isUuid } from '../../../base/common/ids.js';
import { type Statement, statement } from '../../../base/database/statement.js';
import { conditionOf, durationMs, type Page, type SpanFilter } from './span-filter.sql.js';
import { findingKey } from './summary.sql.js';
import type { FoundIdView } from './trace-views.dto.js';

/** The page of a list of spans. */
export interface SpanPage extends Page {
  /** Order by start; default: the oldest first. */
  readonly newestFirst?: boolean | undefined;
  /** Whether spans have their attributes; default: true. */
  readonly withAttributes?: boolean;
  /** Max bytes of attributes; later spans have a note instead of theirs. Default: 16 MiB. */
  readonly maxBytes?: number;
}

const defaultMaxBytes = 16_777_216;

/** Columns of a span, named like the members of `SpanView`. Times are float8, because the driver reads bigint as text. */
const viewColumns = `
  trace_id, span_id, parent_span_id, thread_id, run_id, operation AS operation_name, kind, status, error_message,
  start_us::float8 AS start_time_us, finish_us::float8 AS finish_time_us,
  (${durationMs})::float8 AS duration_ms, model, tool_name, label, cost::float8 AS cost, cost_source,
  input_tokens::float8 AS input_tokens, output_tokens::float8 AS output_tokens, cached_tokens::float8 AS cached_tokens,
  ttft_us::float8 / 1000 AS ttft_ms, execution_id, key_id, client_id, semantic_pattern, semantic_severity,
  semantic_source, semantic_snippet`;

/** One page of spans. Their attributes are in the column `attribute`. */
export const selectSpans = (filter: SpanFilter, page: SpanPage): Statement =>
  statement((values) => {
    const { withAttributes = true, maxBytes = defaultMaxBytes } = page;
    const order = `start_us ${page.newestFirst ? 'DESC' : 'ASC'}, span_id, trace_id`;
    return `
    WITH page AS (
      SELECT *
      FROM all_spans
      WHERE ${conditionOf(filter, values)}
      ORDER BY ${order}
      LIMIT ${values.add(page.limit)} OFFSET ${values.add(page.offset)}
    )
    SELECT ${viewColumns}${withAttributes ? `, ${attributesWithin(values.add(maxBytes), order)}` : ''}
    FROM ${withAttributes ? `(SELECT *, ${attributesOfPage} FROM page) AS with_attributes` : 'page'}
    ORDER BY ${order}`;
  });

/** The attributes of a span of the page, as the column `attributes`. */
const attributesOfPage = `coalesce((
        SELECT attributes FROM all_span_contents AS contents
        WHERE contents.project = page.project AND contents.trace_id = page.trace_id AND contents.span_id = page.span_id
          AND contents.start_day = page.start_day LIMIT 1), '{}') AS attributes`;

/** The attributes of the first spans, up to a number of bytes: those of a thousand spans may be a gigabyte. */
const attributesWithin = (maxBytes: string, order: string): string =>
  `CASE WHEN sum(octet_length(attributes::text)) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) <= ${maxBytes} THEN attributes
    ELSE '{"toolkeeper.cut": "left out: the spans before it fill this page, ask for fewer at a time"}' END AS attribute`;

/** The number of spans. */
export const countSpans = (filter: SpanFilter): Statement =>
  statement((values) => `SELECT count(*)::int AS total FROM all_spans WHERE ${conditionOf(filter, values)}`);

/** The position of a span among those of a filter, by start, from 0; no row if the filter excludes the span. */
export const selectPosition = (filter: SpanFilter, spanId: string): Statement =>
  statement((values) => {
    const condition = conditionOf(filter, values);
    return `
    SELECT (
      SELECT count(*)::int FROM all_spans
      WHERE ${condition} AND (start_us, span_id, trace_id) < (wanted.start_us, wanted.span_id, wanted.trace_id)
    ) AS position
    FROM (
      SELECT start_us, span_id, trace_id FROM all_spans
      WHERE ${conditionOf({ ...filter, spanIds: [spanId] }, values)}
      ORDER BY start_us LIMIT 1
    ) AS wanted`;
  });

/** Kinds of ids, with the member of a filter that selects spans by them. */
const idKinds = {
  trace: 'traceIds',
  run: 'runIds',
  thread: 'threadIds',
  span: 'spanIds',
} as const satisfies Record<Exclude<FoundIdView['kind'], 'execution'>, keyof SpanFilter>;

/** For each kind of id that an id is, a row with the first span that has it. */
export const selectById = (project: string, id: string): Statement =>
  statement((values) => {
    const kinds = Object.entries(idKinds).map(
      ([kind, ids]) => [kind, conditionOf({ project, [ids]: [id] }, values)] as const,
    );
    const ofExecution = `project = ${values.add(project)} AND execution_id = ${values.add(isUuid(id) ? id : null)}::uuid`;
    const selects = [...kinds, ['execution', ofExecution] as const].map(
      ([kind, condition]) => `(
    SELECT '${kind}' AS kind, trace_id, run_id, thread_id, span_id, operation AS operation_name, start_us::float8 AS start_time_us
    FROM all_spans
    WHERE ${condition}
    ORDER BY start_us, span_id
    LIMIT 1)`,
    );
    return selects.join(' UNION ALL ');
  });

/** Spans with the few columns that the critical path of a run needs. */
export const selectTimedSpans = (filter: SpanFilter, limit: number): Statement =>
  statement(
    (values) => `
    SELECT trace_id, span_id, parent_span_id, operation, start_us::float8 AS start_us, finish_us::float8 AS finish_us
    FROM all_spans
    WHERE ${conditionOf(filter, values)}
    ORDER BY start_us, span_id
    LIMIT ${values.add(limit)}`,
  );

/** Labels with the number of their spans, the most frequent first. */
export const selectLabels = (filter: SpanFilter, limit: number): Statement =>
  statement(
    (values) => `
    SELECT label AS name, count(*)::int AS count, count(*) OVER ()::int AS total
    FROM all_spans
    WHERE ${conditionOf(filter, values)} AND label IS NOT NULL
    GROUP BY label
    ORDER BY count(*) DESC, label COLLATE "C"
    LIMIT ${values.add(limit)}`,
  );

/** Deletes spans that were sent, with their attributes. Executions of this server, which are spans in reads, stay. */
export const deleteSpans = (filter: SpanFilter): Statement =>
  statement((values) => {
    const key = 'project, trace_id, span_id, start_day';
    return `
    WITH gone AS (DELETE FROM spans WHERE ${conditionOf(filter, values)} RETURNING ${key}),
    emptied AS (
      DELETE FROM span_contents AS contents
      USING gone
      WHERE contents.project = gone.project AND contents.trace_id = gone.trace_id AND contents.span_id = gone.span_id
        AND contents.start_day = gone.start_day
    )
    SELECT count(*)::int AS deleted FROM gone`;
  });

/** The key of a span's finding; null in the inner span of a model call, which repeats the outer span's finding. */
const findingOf = `CASE WHEN semantic_pattern IS NOT NULL AND call_part IS DISTINCT FROM 'inner' THEN ${findingKey} END`;

/** Bits: 1 failed, 2 reports an error or is marked as semantic failure, 4 has an execution. */
const flags = `(status = 'error')::int + 2 * (pattern IS NOT NULL)::int + 4 * (execution_id IS NOT NULL)::int`;

/** Executions of the trace that are marked as semantic failures, with the reason. */
const marks = `
    marks AS MATERIALIZED (
      SELECT metric_id, semantic_failure FROM tool_metrics
      WHERE semantic_failure IS NOT NULL AND metric_id = ANY (ARRAY(SELECT execution_id FROM chosen))
    )`;

/** A text for the type of a span: unambiguous, because kinds and statuses have no spaces. */
const typeKey = `(kind || ' ' || status || ' ' || operation)`;
const typeView = `json_build_object('operation', operation, 'kind', kind, 'status', status)`;

/**
 * The distinct values of a column of `chosen`: `list`, a JSON list of them, and `places`, a JSON object with the position of
 * each in it, by its key.
 * @param others further columns that distinguish values, and order them
 * @param key SQL for the key of a value @param value SQL for what the list shows of it
 */
const listed = (column: string, others = '', key = column, value = key): string => `
      SELECT coalesce(json_agg(value ORDER BY place), '[]') AS list, coalesce(jsonb_object_agg(key, place), '{}') AS places
      FROM (
        SELECT ${key} AS key, ${value} AS value, row_number() OVER (ORDER BY ${column} COLLATE "C"${others}) - 1 AS place
        FROM (SELECT DISTINCT ${column}${others} FROM chosen WHERE ${column} IS NOT NULL) AS each
      ) AS listed`;

/** The CTEs of the lists. */
const lists = `
    types AS (${listed('operation', ', kind, status', typeKey, typeView)}),
    names AS (${listed('title')}),
    labels AS (${listed('label')})`;

/**
 * All spans of a trace as the text of one JSON object (`SkeletonView`): what a tree and a time line draw, in columns by start.
 * - The database writes the JSON, so that 50,000 spans cost the event loop one string.
 * - Ids are in one text without separators, because they are most of the compressed size.
 * - Nothing is joined: before a day's partition is analysed, the planner expects one or two rows, and would use nested loops.
 * - Positions in the lists are looked up in one JSON object. A window over all spans for each list takes twice as long.
 * @param max max spans, from the first on
 */
export const selectSkeleton = (filter: SpanFilter, max: number): Statement =>
  statement((values) => {
    const condition = conditionOf(filter, values);
    const column = (value: string): string =>
      `'[' || string_agg((${value})::text, ',' ORDER BY place) || ']'`;
    return `
    WITH chosen AS MATERIALIZED (
      SELECT span_id, parent_span_id, operation, kind, status, start_us, finish_us, execution_id, label, semantic_pattern, ${findingOf} AS finding,
             coalesce(cost, 0) AS cost, coalesce(input_tokens, 0) + coalesce(output_tokens, 0) AS tokens,
             coalesce(CASE kind WHEN 'tool' THEN tool_name WHEN 'llm' THEN coalesce(model, request_model) END, operation) AS title,
             row_number() OVER by_start - 1 AS place,
             start_us / 1000 - lag(start_us / 1000, 1, start_us / 1000) OVER by_start AS after_ms
      FROM all_spans
      WHERE ${condition}
      WINDOW by_start AS (ORDER BY start_us, span_id, trace_id)
      ORDER BY place
      LIMIT ${values.add(max)}
    ), ${marks}, firsts AS MATERIALIZED (
      SELECT min(place) AS place FROM chosen WHERE finding IS NOT NULL GROUP BY finding
    ), placed AS MATERIALIZED (
      SELECT *, CASE
          WHEN place IN (SELECT place FROM firsts) THEN semantic_pattern
          WHEN execution_id IN (SELECT metric_id FROM marks)
            THEN (SELECT semantic_failure FROM marks WHERE metric_id = execution_id LIMIT 1)
        END AS pattern
      FROM chosen
    ), ends AS (
      SELECT span_id AS id, place, false AS is_child FROM chosen
      UNION ALL
      SELECT parent_span_id, place, true FROM chosen
    ), links AS (
      SELECT place, is_child, min(place) FILTER (WHERE NOT is_child) OVER (PARTITION BY id) AS parent FROM ends
    ), ${lists}, ids AS (
      SELECT max(length(span_id)) AS id_length FROM chosen
    )
    SELECT '{"spans":' || count(*) || ',"total_spans":'
      || CASE WHEN count(*) < ${values.add(max)} THEN count(*) ELSE (SELECT count(*) FROM all_spans WHERE ${condition}) END
      || ',"start_time_us":' || min(start_us)
      || ',"id_length":' || (SELECT id_length FROM ids)
      || ',"span_ids":' || to_json(string_agg(rpad(span_id, (SELECT id_length FROM ids)), '' ORDER BY place))
      || ',"parents":' || (SELECT ${column('coalesce(nullif(parent, place), -1)')} FROM links WHERE is_child)
      || ',"starts_after_ms":' || ${column('after_ms')}
      || ',"durations_ms":' || ${column(durationMs)}
      || ',"types":' || (SELECT list FROM types)
      || ',"type":' || ${column(`(SELECT places FROM types) ->> ${typeKey}`)}
      || ',"names":' || (SELECT list FROM names)
      || ',"name":' || ${column('(SELECT places FROM names) ->> title')}
      || ',"labels":' || (SELECT list FROM labels)
      || ',"label":' || ${column("coalesce((SELECT places FROM labels) ->> label, '-1')")}
      || ',"costs":' || ${column("CASE WHEN cost = 0 THEN '0' ELSE trim_scale(round(cost, 9))::text END")}
      || ',"tokens":' || ${column('tokens')}
      || ',"flags":' || ${column(flags)}
      || ',"patterns":' || to_json(coalesce(array_agg(pattern ORDER BY place) FILTER (WHERE pattern IS NOT NULL), '{}'))
      || ',"execution_ids":' || to_json(coalesce(string_agg(execution_id::text, '' ORDER BY place), '')) || '}' AS skeleton
    FROM placed
    HAVING count(*) > 0`;
  });

/** Distinct projects of a table. DISTINCT would read every row; this query takes one step in the index for each project. */
const projectsIn = (project: string, table: string, condition = 'true'): string => `
  WITH RECURSIVE known AS (
    (SELECT ${project} AS project FROM ${table} WHERE ${condition} ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT (SELECT ${project} FROM ${table} WHERE ${condition} AND ${project} > known.project ORDER BY 1 LIMIT 1)
    FROM known WHERE known.project IS NOT NULL
  )
  SELECT project FROM known WHERE project IS NOT NULL`;

/** The same expression as in the index tool_metrics_span_by_time. */
const projectOfExecution = `coalesce(metadata->>'projectId', 'default')`;

/** All projects that have spans or executions, by name. */
export const selectProjects: Statement = {
  text: `
  SELECT project FROM (${projectsIn('project', 'spans')}) AS of_spans
  UNION
  SELECT project FROM (${projectsIn(projectOfExecution, 'tool_metrics', 'trace_id IS NOT NULL AND NOT is_test')}) AS of_executions
  ORDER BY project`,
  values: [],
};
