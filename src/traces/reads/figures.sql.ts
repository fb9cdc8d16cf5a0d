import { countedSpans } from './counted-spans.sql.js';
import type { Statement } from './groups.sql.js';
import { conditionOf, type SpanFilter, SqlValues } from './span-filter.sql.js';

/** Calls of models, errors, cost, tokens and latency, in all or by span of time; rows with a `bucket` in microseconds. */
export function selectFigures(filter: SpanFilter, bucketSeconds?: number): Statement {
  const values = new SqlValues();
  const size = Math.round((bucketSeconds ?? 0) * 1_000_000);
  const bucket = size > 0 ? `(start_us / ${size} * ${size})::float8` : 'NULL::float8';
  const percentile = (share: number): string =>
    `percentile_disc(${share}) WITHIN GROUP (ORDER BY duration_ms) FILTER (WHERE is_call AND duration_ms > 0)::float8`;
  const text = `
    WITH RECURSIVE ${countedSpans(conditionOf(filter, values))}
    SELECT ${bucket} AS bucket, count(*)::int AS spans, count(*) FILTER (WHERE is_call)::int AS calls,
           count(*) FILTER (WHERE status = 'error')::int AS errors, round(coalesce(sum(call_cost), 0), 6)::float8 AS cost,
           coalesce(sum(call_input), 0)::float8 AS input_tokens, coalesce(sum(call_output), 0)::float8 AS output_tokens,
           ${percentile(0.5)} AS p50_ms, ${percentile(0.95)} AS p95_ms
    FROM counted
    GROUP BY 1
    ORDER BY 1`;
  return { text, values: values.all };
}
