import { bucketEntry, countedByBucket, spans } from '../rollups/rollup.sql.js';

/** Milliseconds since 1970; the end is excluded. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The parts that a period is read from: cells of each length, and executions where it begins or ends within a minute.
 */
export interface PeriodParts {
  readonly cells: readonly (Span & { readonly seconds: number })[];
  readonly rows: readonly Span[];
}

/**
 * Divides a period so that every moment lies in exactly one part and as much as possible in long cells.
 * @param since included
 * @param until included, to the millisecond
 */
export function periodParts(since: Date, until: Date): PeriodParts {
  const cells: (Span & { seconds: number })[] = [];
  const rows: Span[] = [];
  const take = (from: number, to: number, shorter: readonly number[]): void => {
    if (from >= to) return;
    const seconds = shorter.at(-1);
    if (seconds === undefined) return void rows.push({ from, to });
    const ms = seconds * 1_000;
    const [first, last] = [Math.ceil(from / ms) * ms, Math.floor(to / ms) * ms];
    if (first >= last) return take(from, to, shorter.slice(0, -1));
    take(from, first, shorter.slice(0, -1));
    cells.push({ seconds, from: first, to: last });
    take(last, to, shorter.slice(0, -1));
  };
  take(since.getTime(), until.getTime() + 1, spans);
  return { cells, rows };
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

const counted = `
  tool_name, status, error_type, calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures,
  caller_errors`;

/**
 * Executions of a period counted by tool, status and type of error (see CountedRow), in one statement and so in one
 * snapshot; no trials. Sums are of float8: whole numbers are exact up to 2^53, and `numeric` takes twice as long.
 * @param of all tools unless some are named; `latency` is null unless asked for: it is most of what there is to read
 */
export function selectCounts(
  parts: PeriodParts,
  of: { readonly latency: boolean; readonly tools?: readonly string[] },
): Statement {
  const { text: from, values } = unionOf(parts, of.tools);
  const text = `
    SELECT tool_name AS "toolName", status, error_type AS "errorType", sum(calls::float8) AS calls,
           sum(total_ms::float8) AS "totalMs", min(min_ms) AS "minMs", max(max_ms) AS "maxMs",
           sum(input_bytes::float8) AS "inputBytes", sum(output_bytes::float8) AS "outputBytes",
           sum(semantic_failures::float8) AS "semanticFailures", sum(caller_errors::float8) AS "callerErrors",
           min(first_ms) AS "firstMs",
           ${of.latency ? inBase64(`string_agg(latency, ''::bytea)`) : 'NULL'} AS latency
    FROM (${from}) AS parts
    GROUP BY tool_name, status, error_type
    HAVING sum(calls) > 0`;
  return { text, values };
}

/** A third shorter than the driver's own hexadecimal, and read several times as fast. */
const inBase64 = (bytes: string): string => `encode(${bytes}, 'base64')`;

/**
 * The cells and rows of a period, no trials. The bounds stand in it as parameters of their own, so that the planner
 * sees which days it needs not look at.
 */
function unionOf({ cells, rows }: PeriodParts, tools?: readonly string[]): Statement {
  const values: unknown[] = tools ? [tools] : [];
  const ofTools = tools ? 'AND tool_name = ANY ($1::text[])' : '';
  const within = (column: string, { from, to }: { from: number; to: number }): string => {
    values.push(new Date(from), new Date(to));
    const [first, last] = [values.length - 1, values.length];
    return `${column} >= $${first} AND ${column} < $${last} AND NOT is_test ${ofTools}`;
  };
  // Executions first, as inserts and drops do: no two wait for each other's locks.
  const parts = [
    ...rows.map(
      (part) => `
        SELECT ${counted}, ${bucketEntry} AS latency, ${part.from}::float8 AS first_ms
        FROM (${countedByBucket(`tool_metrics WHERE ${within('recorded_at', part)}`)}) AS buckets`,
    ),
    ...cells.map(
      (part) => `
        SELECT ${counted}, latency, (extract(epoch FROM starts_at) * 1000)::float8 AS first_ms
        FROM tool_metric_rollups
        WHERE seconds = ${part.seconds} AND ${within('starts_at', part)}`,
    ),
  ];
  return { text: parts.join(' UNION ALL '), values };
}
