import { sanitisedText } from '../../../common/pg-text.js';
import { spans } from '../rollups/rollup.sql.js';
import type { CountedRow } from './tool-figures.js';
import type { Statement } from './stats.sql.js';

/** The counts of one stretch of time; `at` is its start. */
export interface SeriesRow extends CountedRow {
  readonly at: Date;
}

/** Whole minutes, so that cells alone are read. */
export interface SeriesRange {
  /** Both are starts of buckets; the second one is left out. */
  readonly from: Date;
  readonly to: Date;
  readonly bucketMs: number;
}

/** Executions counted by bucket and status, out of the longest cells that make one up; no trials. */
export function selectSeries({ from, to, bucketMs }: SeriesRange, tool: string | undefined): Statement {
  const seconds = bucketMs / 1_000;
  const cell = spans.findLast((span) => seconds % span === 0);
  const values: unknown[] = [seconds, from, to, ...(tool === undefined ? [] : [sanitisedText(tool)])];
  const text = `
    SELECT date_bin($1 * interval '1 second', starts_at, '1970-01-01 00:00:00+00') AS at, status,
           sum(calls::float8) AS calls, sum(total_ms::float8) AS "totalMs", min(min_ms) AS "minMs",
           max(max_ms) AS "maxMs", sum(semantic_failures::float8) AS "semanticFailures",
           encode(string_agg(latency, ''::bytea), 'base64') AS latency
    FROM tool_metric_rollups
    WHERE seconds = ${cell} AND starts_at >= $2 AND starts_at < $3 AND NOT is_test
      ${tool === undefined ? '' : 'AND tool_name = $4'}
    GROUP BY 1, 2
    HAVING sum(calls) > 0`;
  return { text, values };
}
