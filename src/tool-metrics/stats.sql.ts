import type { PeriodParts } from './period-parts.js';
import { bucketEntry, countedByBucket, summed } from './rollup.sql.js';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Figures by tool, status and type of error over a period, in one statement and so in one snapshot; no trials. The
 * bounds stand in it as parameters of their own, so that the planner sees which days it needs not look at.
 */
export function selectStats({ cells, rows }: PeriodParts, tool?: string): Statement {
  const values: unknown[] = tool === undefined ? [] : [tool];
  const ofTool = tool === undefined ? '' : 'AND tool_name = $1';
  const within = (column: string, { from, to }: { from: number; to: number }): string => {
    values.push(new Date(from), new Date(to));
    return `${column} >= $${values.length - 1} AND ${column} < $${values.length} AND NOT is_test ${ofTool}`;
  };
  const columns = `
    tool_name, status, error_type, calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures, last_at`;
  const parts = [
    // Executions first, as whoever inserts or drops: no two wait for each other's locks.
    ...rows.map(
      (part) => `
        SELECT ${columns}, ${bucketEntry} AS latency
        FROM (${countedByBucket(`tool_metrics WHERE ${within('recorded_at', part)}`)}) AS buckets`,
    ),
    ...cells.map(
      (part) => `
        SELECT ${columns}, latency
        FROM tool_metric_rollups
        WHERE seconds = ${part.seconds} AND ${within('starts_at', part)}`,
    ),
  ];
  const text = `
    SELECT tool_name AS "toolName", status, error_type AS "errorType", calls::float8, total_ms::float8 AS "totalMs",
           min_ms AS "minMs", max_ms AS "maxMs", input_bytes::float8 AS "inputBytes",
           output_bytes::float8 AS "outputBytes", semantic_failures::float8 AS "semanticFailures", latency
    FROM (
      SELECT tool_name, status, error_type, ${summed('latency')}
      FROM (${parts.join(' UNION ALL ')}) AS parts
      GROUP BY tool_name, status, error_type
    ) AS figures
    WHERE calls > 0`;
  return { text, values };
}
