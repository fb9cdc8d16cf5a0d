import { latencyBucketSql, latencyEntrySql } from './latency-histogram.js';

/** Every statement on tool_metrics. Statistics leave trials (is_test) out; lists show them with their mark. */

const columns = `
    metric_id         AS "metricId",
    tool_name         AS "toolName",
    user_id           AS "userId",
    session_id        AS "sessionId",
    request_id        AS "requestId",
    investigation_id  AS "investigationId",
    run_id            AS "runId",
    status,
    execution_time_ms AS "executionTimeMs",
    error_type        AS "errorType",
    error_message     AS "errorMessage",
    parameters_hash   AS "parametersHash",
    input_size        AS "inputSize",
    output_size       AS "outputSize",
    metadata,
    is_test           AS "isTest",
    tool_fault        AS "toolFault",
    recorded_at       AS "recordedAt"`;

const statistics = (of = ''): string => `
  SELECT tool_name AS "toolName", status, error_type AS "errorType", sum(n)::float8 AS calls,
         sum(total_ms)::float8 AS "totalMs", min(min_ms) AS "minMs", max(max_ms) AS "maxMs",
         sum(input_bytes)::float8 AS "inputBytes", sum(output_bytes)::float8 AS "outputBytes",
         0 AS "semanticFailures",
         string_agg(${latencyEntrySql('bucket', 'n')}, ''::bytea) AS latency
  FROM (
    SELECT tool_name, status, coalesce(error_type, '') AS error_type,
           ${latencyBucketSql('execution_time_ms')} AS bucket, count(*) AS n,
           sum(execution_time_ms) AS total_ms, min(execution_time_ms) AS min_ms, max(execution_time_ms) AS max_ms,
           sum(input_size) AS input_bytes, sum(output_size) AS output_bytes
    FROM tool_metrics
    WHERE recorded_at BETWEEN $1 AND $2 AND NOT is_test ${of}
    GROUP BY 1, 2, 3, 4
  ) AS buckets
  GROUP BY 1, 2, 3`;

/** since, until, tool */
export const selectStats = statistics('AND tool_name = $3');

/** since, until */
export const selectStatsOfAllTools = statistics();

/** limit */
export const selectErrors = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE status <> 'success' AND status IN ('error', 'timeout')
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $1`;

/** limit, tool */
export const selectErrorsOfTool = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE tool_name = $2 AND status <> 'success' AND status IN ('error', 'timeout')
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $1`;

/** tool, limit: whatever is no success, as health's error patterns count (seed 000) */
export const selectErrorRows = `
  SELECT error_type AS "errorType", error_message AS "errorMessage", recorded_at AS "recordedAt"
  FROM tool_metrics
  WHERE tool_name = $1 AND status <> 'success' AND NOT is_test
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $2`;

/** tool, limit */
export const selectRecentOutcomes = `
  SELECT status, error_message AS "errorMessage", recorded_at AS "recordedAt"
  FROM tool_metrics
  WHERE tool_name = $1 AND NOT is_test
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $2`;

/** threshold in ms, limit */
export const selectSlow = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE execution_time_ms >= $1
  ORDER BY execution_time_ms DESC, recorded_at DESC
  LIMIT $2`;

/** limit, before recorded_at, before metric_id */
export const selectExecutions = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE (recorded_at, metric_id) < ($2::timestamptz, $3::uuid)
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $1`;

/** limit, before recorded_at, before metric_id, tool */
export const selectExecutionsOfTool = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE tool_name = $4 AND (recorded_at, metric_id) < ($2::timestamptz, $3::uuid)
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $1`;

/** metric_id, and when it began: the key starts with the time */
export const selectExecution = `
  SELECT ${columns}
  FROM tool_metrics
  WHERE metric_id = $1 AND recorded_at BETWEEN $2 AND $3`;

/** One step in the index a tool instead of a walk over every row. */
const names = `
  WITH RECURSIVE names AS (
    (SELECT tool_name FROM tool_metrics ORDER BY tool_name LIMIT 1)
    UNION ALL
    SELECT (SELECT next.tool_name FROM tool_metrics next WHERE next.tool_name > names.tool_name
            ORDER BY next.tool_name LIMIT 1)
    FROM names
    WHERE names.tool_name IS NOT NULL
  )`;

export const selectToolNames = `${names}
  SELECT tool_name AS "toolName"
  FROM names
  WHERE tool_name IS NOT NULL
  ORDER BY tool_name COLLATE "C"`;

/** Tools that were only tried have none. */
export const selectLastUses = `${names}
  SELECT names.tool_name AS "toolName", last.recorded_at AS "lastUsed"
  FROM names
  CROSS JOIN LATERAL (
    SELECT recorded_at
    FROM tool_metrics
    WHERE tool_metrics.tool_name = names.tool_name AND NOT is_test
    ORDER BY recorded_at DESC, metric_id DESC
    LIMIT 1
  ) AS last`;

/**
 * since, and how much earlier such an execution may have started. What was nobody's doing (interrupted, cancelled,
 * upstream away) is no sample.
 */
export const selectFaultSamples = `
  SELECT "tool", "at", "fault"
  FROM (
    SELECT tool_name AS "tool",
           recorded_at + execution_time_ms * interval '1 millisecond' AS "at",
           tool_fault AS "fault"
    FROM tool_metrics
    WHERE recorded_at > $1::timestamptz - $2::interval
      AND NOT is_test
      AND error_type IS DISTINCT FROM 'interrupted'
      AND (tool_fault OR error_type IS NULL OR error_type = 'tool_error')
  ) AS ended
  WHERE "at" > $1::timestamptz
  ORDER BY "at"`;

/** tool, since */
export const countFailures = `
  SELECT count(*)::int AS "failures"
  FROM tool_metrics
  WHERE tool_name = $1 AND recorded_at >= $2 AND status <> 'success' AND status IN ('error', 'timeout') AND NOT is_test`;

/** before, at most: other replicas may clean at the same time */
export const deleteOlder = `
  WITH doomed AS (
    SELECT recorded_at, metric_id FROM tool_metrics WHERE recorded_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM tool_metrics USING doomed
    WHERE tool_metrics.recorded_at = doomed.recorded_at AND tool_metrics.metric_id = doomed.metric_id
    RETURNING 1
  )
  SELECT count(*)::int AS "deleted" FROM deleted`;
