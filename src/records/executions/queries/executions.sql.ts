import { sanitisedText } from '../../../common/pg-text.js';
import type { Statement } from './stats.sql.js';
import type { ToolMetric } from '../tool-metric.entity.js';
import { executionColumns } from './tool-metrics.sql.js';

/** Where a page of executions begins: after this one, towards older ones. */
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
  const { status, errorType, userId, slowMs = 0 } = filter;
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
  if (errorType !== undefined || (status !== undefined && status !== 'success')) where(`status <> 'success'`);
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
 * since, until, limit, then what is given of tool and investigation: how often the same input came again; no trials.
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
