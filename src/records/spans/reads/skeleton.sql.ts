import { conditionOf, type SpanFilter, type Statement, statement } from './span-filter.sql.js';

/**
 * All spans of a trace as the text of one JSON object, in columns by start: what a tree and a time line draw. The database
 * writes it, so that 50,000 spans cost the event loop one string. Ids are most of what is left in gzip, so they stand in one
 * text without anything between them. Nothing is joined: of a day that was not analysed yet the planner expects a span or
 * two, and would compare each with each.
 * @param most spans at most, from the first on
 */
export const selectSkeleton = (filter: SpanFilter, most: number): Statement =>
  statement((values) => {
    const condition = conditionOf(filter, values);
    const column = (value: string): string =>
      `'[' || string_agg((${value})::text, ',' ORDER BY place) || ']'`;
    return `
    WITH chosen AS MATERIALIZED (
      SELECT span_id, parent_span_id, trace_id, operation, kind, status, start_us, finish_us
      FROM all_spans
      WHERE ${condition}
      ORDER BY start_us, span_id, trace_id
      LIMIT ${values.add(most)}
    ), placed AS MATERIALIZED (
      SELECT *, row_number() OVER by_start - 1 AS place,
             start_us / 1000 - lag(start_us / 1000, 1, start_us / 1000) OVER by_start AS after_ms,
             dense_rank() OVER (ORDER BY operation COLLATE "C", kind, status) - 1 AS type
      FROM chosen
      WINDOW by_start AS (ORDER BY start_us, span_id, trace_id)
    ), ends AS (
      SELECT span_id AS id, place, false AS is_child FROM placed
      UNION ALL
      SELECT parent_span_id, place, true FROM placed
    ), links AS (
      SELECT place, is_child, min(place) FILTER (WHERE NOT is_child) OVER (PARTITION BY id) AS parent FROM ends
    ), types AS (
      SELECT DISTINCT type, operation, kind, status FROM placed
    ), ids AS (
      SELECT max(length(span_id)) AS id_length FROM placed
    )
    SELECT '{"spans":' || count(*) || ',"total_spans":' || (SELECT count(*) FROM all_spans WHERE ${condition})
      || ',"start_time_us":' || min(start_us)
      || ',"id_length":' || (SELECT id_length FROM ids)
      || ',"span_ids":' || to_json(string_agg(rpad(span_id, (SELECT id_length FROM ids)), '' ORDER BY place))
      || ',"parents":' || (SELECT ${column('coalesce(nullif(parent, place), -1)')} FROM links WHERE is_child)
      || ',"starts_after_ms":' || ${column('after_ms')}
      || ',"durations_ms":' || ${column('round((finish_us - start_us) / 1000.0)')}
      || ',"types":' || (
        SELECT json_agg(json_build_object('operation', operation, 'kind', kind, 'status', status) ORDER BY type) FROM types)
      || ',"type":' || ${column('type')} || '}' AS skeleton
    FROM placed
    HAVING count(*) > 0`;
  });
