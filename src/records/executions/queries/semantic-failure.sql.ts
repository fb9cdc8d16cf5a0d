import { spansList } from '../rollups/rollup.sql.js';

/**
 * metric_id, between when it was recorded, the reason or null, the writer's slot. Row and cells change in one statement,
 * and a mark that was there is counted no second time.
 */
export const markSemanticFailure = `
  WITH before AS (
    SELECT recorded_at, metric_id, semantic_failure
    FROM tool_metrics
    WHERE metric_id = $1 AND recorded_at BETWEEN $2 AND $3
    FOR UPDATE
  ), marked AS (
    UPDATE tool_metrics AS metric SET semantic_failure = $4::text
    FROM before
    WHERE metric.recorded_at = before.recorded_at AND metric.metric_id = before.metric_id
    RETURNING metric.recorded_at, tool_name, status, left(coalesce(error_type, ''), 100) AS error_type, is_test,
              (metric.semantic_failure IS NOT NULL)::int - (before.semantic_failure IS NOT NULL)::int AS change
  ), counted AS (
    INSERT INTO tool_metric_rollups AS cell (
      seconds, starts_at, tool_name, status, error_type, is_test, writer, calls, total_ms, input_bytes, output_bytes,
      semantic_failures, latency
    )
    SELECT seconds, date_bin(seconds * interval '1 second', recorded_at, '1970-01-01 00:00:00+00'), tool_name, status,
           error_type, is_test, $5::int, 0, 0, 0, 0, change, ''
    FROM marked CROSS JOIN (VALUES ${spansList}) AS spans (seconds)
    WHERE change <> 0
    ORDER BY 1, 2
    ON CONFLICT (seconds, starts_at, tool_name, status, error_type, is_test, writer)
    DO UPDATE SET semantic_failures = cell.semantic_failures + excluded.semantic_failures
  )
  SELECT count(*)::int AS found FROM marked`;
