import type { PeriodParts } from '../rollups/period-parts.js';
import { bucketEntry, countedByBucket, summed } from '../rollups/rollup.sql.js';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** One tool's figures by status and type of error over a period, in one statement and so in one snapshot; no trials. */
export function selectStats(parts: PeriodParts, tool: string): Statement {
  const columns = `
    status, error_type, calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures, last_at`;
  const { text: from, values } = unionOf(parts, {
    values: [tool],
    where: 'AND tool_name = $1',
    ofRows: (rows) =>
      `SELECT ${columns}, ${bucketEntry} AS latency FROM (${countedByBucket(rows)}) AS buckets`,
    ofCells: `${columns}, latency`,
  });
  const text = `
    SELECT status, error_type AS "errorType", calls::float8, total_ms::float8 AS "totalMs", min_ms AS "minMs",
           max_ms AS "maxMs", input_bytes::float8 AS "inputBytes", output_bytes::float8 AS "outputBytes",
           semantic_failures::float8 AS "semanticFailures", ${inBase64('latency')} AS latency
    FROM (
      SELECT status, error_type, ${summed('latency')} FROM (${from}) AS parts GROUP BY status, error_type
    ) AS figures
    WHERE calls > 0`;
  return { text, values };
}

const figures = 'tool_name, status, calls, total_ms, min_ms, max_ms, semantic_failures';

/**
 * What health makes of tools' calls, a row a tool. Sums are of float8: whole numbers are exact up to 2^53, and `numeric`
 * takes twice as long.
 * @param withLatency else `latency` is null: it is most of what there is to read and to send
 * @param tools all unless given
 */
export function selectFigures(
  parts: PeriodParts,
  withLatency: boolean,
  tools?: readonly string[],
): Statement {
  const oneRow = `
    SELECT tool_name, status, 1::bigint AS calls, execution_time_ms::bigint AS total_ms, execution_time_ms AS min_ms,
           execution_time_ms AS max_ms, (semantic_failure IS NOT NULL)::int::bigint AS semantic_failures`;
  const { text: from, values } = unionOf(parts, {
    ...(tools && { values: [tools], where: 'AND tool_name = ANY ($1::text[])' }),
    ofRows: (rows) =>
      withLatency
        ? `SELECT ${figures}, ${bucketEntry} AS latency FROM (${countedByBucket(rows)}) AS buckets`
        : `${oneRow} FROM ${rows}`,
    ofCells: withLatency ? `${figures}, latency` : figures,
  });
  const text = `
    SELECT tool_name AS "toolName", sum(calls::float8) AS "totalCalls",
           sum(calls::float8) FILTER (WHERE status = 'success') AS "successCount",
           sum(calls::float8) FILTER (WHERE status = 'error') AS "errorCount",
           sum(calls::float8) FILTER (WHERE status = 'timeout') AS "timeoutCount",
           sum(total_ms::float8) AS "totalMs", min(min_ms) AS "minTimeMs", max(max_ms) AS "maxTimeMs",
           sum(semantic_failures::float8) AS "semanticFailureCount",
           ${withLatency ? inBase64(`string_agg(latency, ''::bytea)`) : 'NULL'} AS latency
    FROM (${from}) AS parts
    GROUP BY tool_name
    HAVING sum(calls) > 0`;
  return { text, values };
}

/** A third shorter than the driver's own hexadecimal, and read several times as fast. */
const inBase64 = (bytes: string): string => `encode(${bytes}, 'base64')`;

/**
 * What a period is made of, no trials. The bounds stand in it as parameters of their own, so that the planner sees which
 * days it needs not look at.
 */
function unionOf(
  { cells, rows }: PeriodParts,
  of: {
    readonly values?: readonly unknown[];
    readonly where?: string;
    readonly ofRows: (from: string) => string;
    readonly ofCells: string;
  },
): Statement {
  const values = [...(of.values ?? [])];
  const within = (column: string, { from, to }: { from: number; to: number }): string => {
    values.push(new Date(from), new Date(to));
    const [first, last] = [values.length - 1, values.length];
    return `${column} >= $${first} AND ${column} < $${last} AND NOT is_test ${of.where ?? ''}`;
  };
  // Executions first, as whoever inserts or drops: no two wait for each other's locks.
  const parts = [
    ...rows.map((part) => of.ofRows(`tool_metrics WHERE ${within('recorded_at', part)}`)),
    ...cells.map(
      (part) => `
        SELECT ${of.ofCells}
        FROM tool_metric_rollups
        WHERE seconds = ${part.seconds} AND ${within('starts_at', part)}`,
    ),
  ];
  return { text: parts.join(' UNION ALL '), values };
}
