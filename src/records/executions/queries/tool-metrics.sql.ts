import { executionColumns, type ToolMetric } from '../execution-record.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { spansList, type Statement } from '../rollups/rollup.sql.js';

/** Every statement on tool_metrics. Statistics leave test calls (is_test) out; lists show them with their mark. */

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

/** threshold in ms, limit, whether test calls count */
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

/** Milliseconds since the epoch: the driver takes 20 times as long to read a date. */
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

/** The start of a page of executions: after this one, towards older ones. */
export type PagePosition = Pick<ToolMetric, 'recordedAt' | 'metricId'>;

/** Everything given must hold; bounds are included. */
export interface ExecutionFilter {
  readonly tool?: string;
  readonly status?: string;
  /** Failures of this type. */
  readonly errorType?: string;
  readonly investigationId?: string;
  readonly runId?: string;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly requestId?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly slowMs?: number;
  /** Errors and timeouts alone. */
  readonly failed?: boolean;
}

/** Newest first. A partial index is only used where the statement repeats the index's own condition. */
export function selectExecutions(filter: ExecutionFilter, limit: number, after?: PagePosition): Statement {
  const values: unknown[] = [limit];
  const conditions: string[] = [];
  const where = (comparison: string, ...given: unknown[]): void => {
    if (given.includes(undefined)) return;
    let next = values.length;
    values.push(...given.map((value) => (typeof value === 'string' ? sanitisedText(value) : value)));
    conditions.push(comparison.replaceAll('?', () => `$${(next += 1)}`));
  };
  const { status, errorType, userId, slowMs = 0, failed = false } = filter;
  where('(recorded_at, metric_id) < (?::timestamptz, ?::uuid)', after?.recordedAt, after?.metricId);
  where('recorded_at <= ?', after?.recordedAt);
  where('recorded_at >= ?', filter.since);
  where('recorded_at <= ?', filter.until);
  where('tool_name = ?', filter.tool);
  where('status = ?', status);
  where('error_type = ?', errorType);
  where('investigation_id = ?', filter.investigationId);
  where('run_id = ?', filter.runId);
  where('user_id = ?', userId);
  where('session_id = ?', filter.sessionId);
  where('request_id = ?', filter.requestId);
  where('execution_time_ms >= ?', filter.slowMs);
  if (failed) where(`status IN ('error', 'timeout')`);
  if (failed || errorType !== undefined || (status !== undefined && status !== 'success'))
    where(`status <> 'success'`);
  if (userId !== undefined && userId !== 'anonymous') where(`user_id <> 'anonymous'`);
  if (slowMs >= 1_000) where('execution_time_ms >= 1000');
  const text = `
    SELECT ${executionColumns}
    FROM tool_metrics
    ${conditions.length > 0 ? 'WHERE' : ''} ${conditions.join(' AND ')}
    ORDER BY recorded_at DESC, metric_id DESC
    LIMIT $1`;
  return { text, values };
}

/**
 * since, until, limit, then what is given of tool and investigation: how often the same input came again; no test calls.
 */
export function selectDuplicates(
  range: { readonly since: Date; readonly until: Date },
  limit: number,
  of: { readonly tool?: string; readonly investigationId?: string },
): Statement {
  const values: unknown[] = [range.since, range.until, limit];
  const equal = (column: string, value: string | undefined): string =>
    value === undefined ? '' : `AND ${column} = $${values.push(sanitisedText(value))}`;
  const text = `
    SELECT tool_name AS "toolName", investigation_id AS "investigationId", sum(n)::float8 AS calls,
           count(*)::float8 AS "distinctCalls", (sum(n) - count(*))::float8 AS "duplicateCalls",
           ((sum(n) - count(*)) / sum(n))::float8 AS "duplicateShare"
    FROM (
      SELECT tool_name, investigation_id, parameters_hash, count(*) AS n
      FROM tool_metrics
      WHERE recorded_at BETWEEN $1 AND $2 AND NOT is_test AND parameters_hash IS NOT NULL
        ${equal('tool_name', of.tool)} ${equal('investigation_id', of.investigationId)}
      GROUP BY 1, 2, 3
    ) AS inputs
    GROUP BY 1, 2
    ORDER BY "duplicateCalls" DESC, calls DESC, tool_name COLLATE "C", investigation_id COLLATE "C"
    LIMIT $3`;
  return { text, values };
}

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
