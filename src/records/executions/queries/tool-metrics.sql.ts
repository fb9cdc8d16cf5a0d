import { own as ofSpan, shown as whereSpan } from '../../../../migrations/0003-spans.sql.js';
import type { Reader } from '../../../web/contract/principal.js';
import { executionColumns, type ToolMetric } from '../execution-record.js';
import { type Statement, statement } from '../../../base/database/statement.js';
import {
  hasFinding,
  inProjects,
  isCounted,
  lengthsTable,
  ranElsewhere,
  rowProject,
  startOf,
} from '../rollups/rollup.sql.js';
import type { DuplicatesQuery, ExecutionsQuery, PeriodQuery } from '../tool-metrics.dto.js';

/*
 * Statements on tool_metrics. The comment of each names its parameters in order. Statistics leave test calls (is_test) out;
 * lists contain them with their mark.
 */

/** Failures of one type whose messages are equal, or differ only in digits. */
export interface FailureGroup {
  readonly errorType: string;
  readonly count: number;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
  /** Up to five failures, the newest first. `at` is in seconds since the epoch. */
  readonly newest: readonly { readonly id: string; readonly at: number; readonly message: string | null }[];
}

/** Failures of a tool by type and message, in which all digits count as equal. Parameters: tool, since, until, projects. */
export const selectFailureGroups = `
  SELECT coalesce(nullif(error_type, ''), 'unknown') AS "errorType", count(*)::float8 AS count,
         min(recorded_at) AS "firstSeen", max(recorded_at) AS "lastSeen",
         (array_agg(
           json_build_object('id', metric_id, 'at', extract(epoch FROM recorded_at), 'message', error_message)
           ORDER BY recorded_at DESC, metric_id DESC
         ))[1:5] AS newest
  FROM tool_metrics
  WHERE tool_name = $1 AND status <> 'success' AND NOT is_test AND recorded_at BETWEEN $2 AND $3 AND ${inProjects('$4')}
  GROUP BY 1, translate(error_message, '123456789', '000000000')
  ORDER BY count(*) DESC, max(recorded_at) DESC
  LIMIT 2000`;

/** The condition of `caller_errors` in the rollups: the failure is the caller's. */
const isCallerError = `error_type IN ('tool_error', 'timeout', 'cancelled') AND NOT tool_fault`;
/** Failures of the tool of a row of `tool`, callers' errors and test calls excluded. */
const isFault = `tool_name = tool AND status <> 'success' AND NOT is_test AND (${isCallerError}) IS NOT TRUE`;

/** The newest failure of a tool. */
export interface LastFailure {
  readonly at: Date;
  readonly executionId: string;
  readonly errorType: string | null;
  readonly message: string | null;
  /** Successes since then; counted up to 1,000. */
  readonly successesAfter: number;
  /** Failures since the last success; counted up to 1,000. */
  readonly inARow: number;
  /** Time of the first of them. */
  readonly firstInARow: Date | null;
}

/**
 * For each tool, the newest failure, the successes after it, and the failures since the last success.
 * Parameters: tools, since, max executions to count, projects.
 */
export const selectLastFailures = `
  SELECT tool, last.*, run.*, (
    SELECT count(*)::float8
    FROM (
      SELECT FROM tool_metrics
      WHERE tool_name = tool AND status = 'success' AND NOT is_test AND recorded_at > last.at AND ${inProjects('$4')}
      LIMIT $3
    ) AS successes
  ) AS "successesAfter"
  FROM unnest($1::text[]) AS tool
  CROSS JOIN LATERAL (
    SELECT recorded_at AS at, metric_id AS "executionId", error_type AS "errorType", error_message AS message
    FROM tool_metrics
    WHERE ${isFault} AND recorded_at >= $2 AND ${inProjects('$4')}
    ORDER BY recorded_at DESC
    LIMIT 1
  ) AS last
  CROSS JOIN LATERAL (
    WITH newest AS (
      SELECT recorded_at, status = 'success' AS succeeded
      FROM tool_metrics
      WHERE tool_name = tool AND (status = 'success' AND NOT is_test OR ${isFault}) AND recorded_at >= $2 AND ${inProjects('$4')}
      ORDER BY recorded_at DESC
      LIMIT $3
    )
    SELECT count(*)::int AS "inARow", min(recorded_at) AS "firstInARow"
    FROM newest
    WHERE recorded_at > COALESCE((SELECT max(recorded_at) FROM newest WHERE succeeded), '-infinity')
  ) AS run`;

/** The failure with which a tool began to fail. */
export interface FirstFailure {
  readonly at: Date;
  /** Successes in the same minute, before it. */
  readonly successesBefore: number;
  /** Callers of the newest 1,000 failures since then. */
  readonly callers: number;
}

/**
 * For each tool, the first failure in the minute in which it began to fail, the successes before it, and the callers since.
 * Parameters: tools, minutes, projects.
 */
export const selectFirstFailures = `
  SELECT tool, first.at, (
    SELECT count(*)::float8
    FROM tool_metrics
    WHERE tool_name = tool AND status = 'success' AND NOT is_test AND recorded_at >= minute AND recorded_at < first.at AND ${inProjects('$3')}
  ) AS "successesBefore", (
    SELECT count(DISTINCT user_id)::int
    FROM (
      SELECT user_id FROM tool_metrics
      WHERE ${isFault} AND recorded_at >= first.at AND ${inProjects('$3')}
      ORDER BY recorded_at DESC
      LIMIT 1000
    ) AS newest
  ) AS callers
  FROM unnest($1::text[], $2::timestamptz[]) AS failing (tool, minute)
  CROSS JOIN LATERAL (
    SELECT min(recorded_at) AS at
    FROM tool_metrics
    WHERE ${isFault} AND recorded_at >= minute AND recorded_at < minute + interval '1 minute' AND ${inProjects('$3')}
  ) AS first
  WHERE first.at IS NOT NULL`;

/** The newest outcomes of a tool. Parameters: tool, limit, projects. */
export const selectRecentOutcomes = `
  SELECT status, error_message AS "errorMessage", recorded_at AS "recordedAt"
  FROM tool_metrics
  WHERE tool_name = $1 AND NOT is_test AND ${inProjects('$3')}
  ORDER BY recorded_at DESC, metric_id DESC
  LIMIT $2`;

/** The slowest executions. Parameters: min duration in ms, limit, whether to list test calls, projects. */
export const selectSlow = `
  SELECT ${executionColumns}
  FROM tool_metrics
  WHERE execution_time_ms >= $1 AND ($3 OR NOT is_test) AND ${inProjects('$4')}
  ORDER BY execution_time_ms DESC, recorded_at DESC
  LIMIT $2`;

/** One execution. Parameters: id, min and max of its start (with which the primary key begins), projects. */
export const selectExecution = `
  SELECT ${executionColumns}
  FROM tool_metrics
  WHERE metric_id = $1 AND recorded_at BETWEEN $2 AND $3 AND ${inProjects('$4')}`;

/** Names of all tools that were ever executed. No parameters. */
export const selectToolNames = `
  SELECT DISTINCT tool_name COLLATE "C" AS "toolName"
  FROM tool_metric_rollups
  WHERE seconds = 86400
  ORDER BY 1`;

/** A time as milliseconds since the epoch, which the driver reads 20 times as fast as a date. */
const inMs = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;

/** The newest day of each tool (no test calls), and its last use if on the given day, else null. Parameters: start of a day. */
export const selectLastUses = `
  SELECT known.tool_name AS "toolName", ${inMs('known.day')} AS day, ${inMs('max(cell.last_at)')} AS "lastUsed"
  FROM tool_last_days AS known
  LEFT JOIN tool_metric_rollups AS cell
    ON cell.seconds = 86400 AND cell.starts_at = $1 AND NOT cell.is_test
    AND known.day = $1 AND cell.tool_name = known.tool_name
  WHERE NOT known.is_test
  GROUP BY known.tool_name, known.day`;

/** The last use of tools on given days. Parameters: starts of the days, tools. */
export const selectLastUsesOn = `
  SELECT tool_name AS "toolName", ${inMs('max(last_at)')} AS "lastUsed"
  FROM tool_metric_rollups
  WHERE seconds = 86400 AND starts_at = ANY ($1::timestamptz[]) AND NOT is_test AND tool_name = ANY ($2::text[])
  GROUP BY tool_name`;

/**
 * Ended executions for a circuit, except those that say nothing about the tool (interrupted, cancelled, upstream unavailable).
 * Parameters: since, max duration of an execution, and those of `condition`.
 */
export const selectFaultSamples = (condition = ''): string => `
  SELECT *
  FROM (
    SELECT tool_name AS "tool", recorded_at + execution_time_ms * interval '1 millisecond' AS "at", tool_fault AS "fault"
    FROM tool_metrics
    WHERE recorded_at > $1::timestamptz - $2::interval
      AND NOT is_test
      AND error_type IS DISTINCT FROM 'interrupted'
      AND NOT ${ranElsewhere}
      AND (tool_fault OR error_type IS NULL OR error_type = 'tool_error')
      ${condition}
  ) AS ended
  WHERE "at" > $1::timestamptz
  ORDER BY "at"`;

/** Number of errors and timeouts. Parameters: tool, since. */
export const countFailures = `
  SELECT count(*)::int AS "failures"
  FROM tool_metrics
  WHERE tool_name = $1 AND recorded_at >= $2 AND status <> 'success' AND status IN ('error', 'timeout') AND NOT is_test`;

/** The last execution of a page. The next page has older ones. */
export type PagePosition = Pick<ToolMetric, 'recordedAt' | 'metricId'>;

/** Conditions on executions, all of which must hold. Time bounds are inclusive. Only executions with a trace are spans. */
export type ExecutionFilter = Omit<ExecutionsQuery, 'limit' | 'cursor'> &
  Reader & {
    /** Whether only errors and timeouts are listed. */
    readonly failed?: boolean;
    /** The trace of which an execution is a span. */
    readonly traceId?: string;
    /** The thread of which an execution is a span. */
    readonly threadId?: string;
  };

/** Executions, newest first. PostgreSQL uses a partial index only if the statement repeats the index's condition. */
export const selectExecutions = (filter: ExecutionFilter, limit: number, after?: PagePosition): Statement =>
  statement((values) => {
    const conditions = ['true'];
    const compare = (comparison: string, value: unknown): void => {
      if (value !== undefined) conditions.push(`${comparison} ${values.add(value)}`);
    };
    const { status, errorType, userId, slowMs = 0, failed = false } = filter;
    if (after) {
      const [at, id] = [values.add(after.recordedAt), values.add(after.metricId)];
      conditions.push(`(recorded_at, metric_id) < (${at}::timestamptz, ${id}::uuid)`, `recorded_at <= ${at}`);
    }
    compare('recorded_at >=', filter.since);
    compare('recorded_at <=', filter.until);
    compare('tool_name =', filter.tool);
    compare('kind =', filter.kind);
    compare('status =', status);
    compare('error_type =', errorType);
    compare('investigation_id =', filter.investigationId);
    compare('run_id =', filter.runId);
    compare('user_id =', userId);
    compare('session_id =', filter.sessionId);
    compare('request_id =', filter.requestId);
    if (filter.projects) conditions.push(inProjects(values.add(filter.projects)));
    compare('execution_time_ms >=', filter.slowMs);
    if (filter.finding !== undefined) conditions.push(filter.finding ? hasFinding : `NOT ${hasFinding}`);
    compare('trace_id =', filter.traceId);
    compare(`${ofSpan.threadId} =`, filter.threadId);
    if ((filter.traceId ?? filter.threadId) !== undefined) conditions.push(whereSpan.replace('WHERE ', ''));
    if (failed) conditions.push(`status IN ('error', 'timeout')`);
    if (failed || errorType !== undefined || (status !== undefined && status !== 'success'))
      conditions.push(`status <> 'success'`);
    if (userId !== undefined && userId !== 'anonymous') conditions.push(`user_id <> 'anonymous'`);
    if (slowMs >= 1_000) conditions.push('execution_time_ms >= 1000');
    return `
    SELECT ${executionColumns}
    FROM tool_metrics
    WHERE ${conditions.join(' AND ')}
    ORDER BY recorded_at DESC, metric_id DESC
    LIMIT ${values.add(limit)}`;
  });

/** The calls among which repeated inputs are counted. */
export type DuplicatesFilter = DuplicatesQuery & Required<Pick<PeriodQuery, 'since' | 'until'>> & Reader;

/** Calls with repeated inputs, by tool and investigation; test calls excluded. */
export const selectDuplicates = ({
  since,
  until,
  limit,
  tool,
  investigationId,
  projects,
}: DuplicatesFilter): Statement =>
  statement((values) => {
    const equal = (column: string, value: string | undefined): string =>
      value === undefined ? '' : `AND ${column} = ${values.add(value)}`;
    return `
    SELECT tool_name AS "toolName", investigation_id AS "investigationId", sum(n)::float8 AS calls,
           count(*)::float8 AS "distinctCalls", (sum(n) - count(*))::float8 AS "duplicateCalls",
           ((sum(n) - count(*)) / sum(n))::float8 AS "duplicateShare"
    FROM (
      SELECT tool_name, investigation_id, parameters_hash, count(*) AS n
      FROM tool_metrics
      WHERE recorded_at BETWEEN ${values.add(since)} AND ${values.add(until)} AND ${isCounted}
        AND parameters_hash IS NOT NULL AND ${inProjects(values.add(projects ?? null))} ${equal('tool_name', tool)} ${equal('investigation_id', investigationId)}
      GROUP BY 1, 2, 3
    ) AS inputs
    GROUP BY 1, 2
    ORDER BY "duplicateCalls" DESC, calls DESC, tool_name COLLATE "C", investigation_id COLLATE "C"
    LIMIT ${values.add(limit)}`;
  });

/**
 * Marks an execution as semantic failure, or removes the mark. Row and cells change in one statement. A repeated mark is not
 * counted again.
 * Parameters: id, min and max of its start, reason or null, the writer's slot, name of the caller, projects.
 */
export const markSemanticFailure = `
  WITH before AS (
    SELECT recorded_at, metric_id, semantic_failure, metadata ? 'semanticError' AS reported
    FROM tool_metrics
    WHERE metric_id = $1 AND recorded_at BETWEEN $2 AND $3 AND ${inProjects('$7')}
    FOR UPDATE
  ), marked AS (
    UPDATE tool_metrics AS metric SET semantic_failure = $4::text, metadata = CASE
      WHEN $4::text IS NULL THEN metadata - 'marked'
      ELSE metadata || jsonb_build_object('marked', jsonb_build_object('by', $6::text, 'at', now()))
    END
    FROM before
    WHERE metric.recorded_at = before.recorded_at AND metric.metric_id = before.metric_id
    RETURNING metric.recorded_at, ${rowProject} AS project, tool_name, status, left(coalesce(error_type, ''), 100) AS error_type, is_test,
              (metric.semantic_failure IS NOT NULL)::int - (before.semantic_failure IS NOT NULL)::int AS change,
              before.reported
  ), counted AS (
    INSERT INTO tool_metric_rollups AS cell (
      seconds, starts_at, tool_name, status, error_type, is_test, writer, calls, total_ms, input_bytes, output_bytes,
      semantic_failures, latency, findings
    )
    SELECT seconds, ${startOf('seconds', 'recorded_at')}, tool_name, status,
           error_type, is_test, $5::int, 0, 0, 0, 0, change, '', CASE WHEN reported THEN 0 ELSE change END
    FROM marked CROSS JOIN ${lengthsTable}
    WHERE change <> 0
    ORDER BY 1, 2
    ON CONFLICT (seconds, starts_at, tool_name, status, error_type, is_test, writer)
    DO UPDATE SET semantic_failures = cell.semantic_failures + excluded.semantic_failures,
      findings = cell.findings + excluded.findings
  )
  SELECT project, tool_name AS tool, change > 0 AND NOT reported AND NOT is_test AS "isNew" FROM marked`;
