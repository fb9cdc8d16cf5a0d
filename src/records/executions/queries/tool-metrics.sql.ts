/** Every statement on tool_metrics. Statistics leave trials (is_test) out; lists show them with their mark. */

export const executionColumns = `
    metric_id         AS "metricId",
    tool_name         AS "toolName",
    user_id           AS "userId",
    session_id        AS "sessionId",
    request_id        AS "requestId",
    investigation_id  AS "investigationId",
    run_id            AS "runId",
    trace_id          AS "traceId",
    parent_span_id    AS "parentSpanId",
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
    recorded_at       AS "recordedAt",
    semantic_failure  AS "semanticFailure"`;

/** limit, and what else the condition asks for */
export const selectErrors = (condition = ''): string => `
  SELECT ${executionColumns}
  FROM tool_metrics
  WHERE status <> 'success' AND status IN ('error', 'timeout') ${condition}
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $1`;

/** tool, since, until. Digits are folded, so that messages which differ in a number make few groups. */
export const selectFailureGroups = `
  SELECT coalesce(nullif(error_type, ''), 'unknown') AS "errorType", count(*)::float8 AS count,
         min(recorded_at) AS "firstSeen", max(recorded_at) AS "lastSeen",
         (array_agg(
           json_build_object('id', metric_id, 'at', extract(epoch FROM recorded_at), 'message', error_message)
           ORDER BY recorded_at DESC, metric_id DESC
         ))[1:5] AS newest
  FROM tool_metrics
  WHERE tool_name = $1 AND status <> 'success' AND NOT is_test AND recorded_at BETWEEN $2 AND $3
  GROUP BY 1, translate(error_message, '123456789', '000000000')
  ORDER BY count(*) DESC, max(recorded_at) DESC
  LIMIT 2000`;

/** tool, limit */
export const selectRecentOutcomes = `
  SELECT status, error_message AS "errorMessage", recorded_at AS "recordedAt"
  FROM tool_metrics
  WHERE tool_name = $1 AND NOT is_test
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $2`;

/** threshold in ms, limit, whether trials count */
export const selectSlow = `
  SELECT ${executionColumns}
  FROM tool_metrics
  WHERE execution_time_ms >= $1 AND ($3 OR NOT is_test)
  ORDER BY execution_time_ms DESC, recorded_at DESC
  LIMIT $2`;

/** metric_id, and when it began: the key starts with the time */
export const selectExecution = `
  SELECT ${executionColumns}
  FROM tool_metrics
  WHERE metric_id = $1 AND recorded_at BETWEEN $2 AND $3`;

export const selectToolNames = `
  SELECT DISTINCT tool_name COLLATE "C" AS "toolName"
  FROM tool_metric_rollups
  WHERE seconds = 86400
  ORDER BY 1`;

/** Milliseconds since 1970: the driver takes 20 times as long to read a date. */
const inMs = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;

/** A day's start: null for a tool whose newest day is another. Tools that were only tried are not there. */
export const selectLastUses = `
  SELECT known.tool_name AS "toolName", ${inMs('known.day')} AS day, ${inMs('max(cell.last_at)')} AS "lastUsed"
  FROM tool_last_days AS known
  LEFT JOIN tool_metric_rollups AS cell
    ON cell.seconds = 86400 AND cell.starts_at = $1 AND NOT cell.is_test
    AND known.day = $1 AND cell.tool_name = known.tool_name
  WHERE NOT known.is_test
  GROUP BY known.tool_name, known.day`;

/** days' starts, tools */
export const selectLastUsesOn = `
  SELECT tool_name AS "toolName", ${inMs('max(last_at)')} AS "lastUsed"
  FROM tool_metric_rollups
  WHERE seconds = 86400 AND starts_at = ANY ($1::timestamptz[]) AND NOT is_test AND tool_name = ANY ($2::text[])
  GROUP BY tool_name`;

/**
 * since, how much earlier such an execution may have started, and what else the condition asks for. An execution that
 * no tool is to blame for (interrupted, cancelled, upstream away) is no sample.
 */
export const selectFaultSamples = (condition = ''): string => `
  SELECT *
  FROM (
    SELECT tool_name AS "tool", recorded_at + execution_time_ms * interval '1 millisecond' AS "at", tool_fault AS "fault"
    FROM tool_metrics
    WHERE recorded_at > $1::timestamptz - $2::interval
      AND NOT is_test
      AND error_type IS DISTINCT FROM 'interrupted'
      AND (tool_fault OR error_type IS NULL OR error_type = 'tool_error')
      ${condition}
  ) AS ended
  WHERE "at" > $1::timestamptz
  ORDER BY "at"`;

/** tool, since */
export const countFailures = `
  SELECT count(*)::int AS "failures"
  FROM tool_metrics
  WHERE tool_name = $1 AND recorded_at >= $2 AND status <> 'success' AND status IN ('error', 'timeout') AND NOT is_test`;
