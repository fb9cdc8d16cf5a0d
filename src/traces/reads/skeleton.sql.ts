import type { Statement } from './groups.sql.js';
import { conditionOf, type SpanFilter, SqlValues } from './span-filter.sql.js';

/**
 * All spans of a trace as the text of one JSON object, in columns by start: what a tree and a time line draw. The database
 * writes it, so that 50,000 spans cost the event loop one string. Ids are most of what is left in gzip, so they stand in one
 * text without anything between them.
 * @param most spans at most, from the first on
 */
export function selectSkeleton(filter: SpanFilter, most: number): Statement {
  const values = new SqlValues();
  const column = (value: string): string =>
    `'[' || string_agg((${value})::text, ',' ORDER BY chosen.place) || ']'`;
  const text = `
    WITH chosen AS MATERIALIZED (
      SELECT span_id, parent_span_id, start_us, finish_us, jsonb_build_object('operation', operation, 'kind', kind, 'status', status) AS type,
             row_number() OVER by_start - 1 AS place,
             start_us / 1000 - lag(start_us / 1000, 1, start_us / 1000) OVER by_start AS after_ms
      FROM all_spans
      WHERE ${conditionOf(filter, values)}
      WINDOW by_start AS (ORDER BY start_us, span_id, trace_id)
      ORDER BY start_us, span_id, trace_id
      LIMIT ${values.add(most)}
    ), ids AS (
      SELECT max(length(span_id)) AS id_length FROM chosen
    ), types AS (
      SELECT type, row_number() OVER (ORDER BY count(*) DESC, type) - 1 AS number FROM chosen GROUP BY type
    ), parents AS (
      SELECT span_id, min(place) AS place FROM chosen GROUP BY span_id
    )
    SELECT '{"spans":' || count(*) || ',"total_spans":' || (SELECT count(*) FROM all_spans WHERE ${conditionOf(filter, values)})
      || ',"start_time_us":' || min(start_us)
      || ',"id_length":' || max(id_length)
      || ',"span_ids":' || to_json(string_agg(rpad(chosen.span_id, id_length), '' ORDER BY chosen.place))
      || ',"parents":' || ${column('coalesce(nullif(parents.place, chosen.place), -1)')}
      || ',"starts_after_ms":' || ${column('after_ms')}
      || ',"durations_ms":' || ${column('round((finish_us - start_us) / 1000.0)')}
      || ',"types":' || (SELECT json_agg(type ORDER BY number)::text FROM types)
      || ',"type":' || ${column('number')} || '}' AS skeleton
    FROM ids, chosen JOIN types USING (type) LEFT JOIN parents ON parents.span_id = chosen.parent_span_id
    HAVING count(*) > 0`;
  return { text, values: values.all };
}
