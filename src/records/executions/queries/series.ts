import { sanitisedText } from '../../../common/pg-text.js';
import { spans } from '../rollups/rollup.sql.js';
import { type CountedRow, figuresOf, latencyOf } from './tool-figures.js';
import type { Statement } from './stats.sql.js';
import { dayMs, minuteMs } from '../../../common/clock.js';
import { invalidRequest } from '../../../common/errors.js';
import type { SeriesPointView, SeriesQuery } from '../tool-metrics.dto.js';

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

/** Each divides a day, or is some. */
const usualBuckets = [1, 5, 15, 60, 180, 360, 1_440].map((minutes) => minutes * minuteMs);
const fewPoints = 120;
const mostPoints = 1_500;

/**
 * The buckets that cover a period; without a width one that makes some hundred points at most.
 * @throws Problem `invalid_request` naming the field
 */
export function seriesRange({ since, until = new Date(), bucketMs }: SeriesQuery): SeriesRange {
  const [first, last] = [since?.getTime() ?? until.getTime() - dayMs, until.getTime()];
  if (first > last) throw invalidRequest({ pointer: '/since', detail: 'must not be after until' });
  if (bucketMs !== undefined && bucketMs % minuteMs !== 0)
    throw invalidRequest({ pointer: '/bucketMs', detail: 'must be whole minutes' });
  const fitting = usualBuckets.find((width) => (last - first) / width <= fewPoints);
  const width = bucketMs ?? fitting ?? dayMs;
  const from = Math.floor(first / width) * width;
  const to = (Math.floor(last / width) + 1) * width;
  if ((to - from) / width > mostPoints)
    throw invalidRequest({
      pointer: '/bucketMs',
      detail: `must be longer: there may be ${mostPoints} of them in the period`,
    });
  return { from: new Date(from), to: new Date(to), bucketMs: width };
}

/** One point a bucket, those without calls included. */
export function seriesPoints(
  { from, to, bucketMs }: SeriesRange,
  rows: readonly SeriesRow[],
): SeriesPointView[] {
  const byTime = Map.groupBy(rows, ({ at }) => at.getTime());
  const starts = Array.from(
    { length: (to.getTime() - from.getTime()) / bucketMs },
    (_, index) => from.getTime() + index * bucketMs,
  );
  return starts.map((start) => ({ at: new Date(start).toISOString(), ...figures(byTime.get(start)) }));
}

function figures(rows: readonly SeriesRow[] | undefined): Omit<SeriesPointView, 'at'> {
  if (!rows) return { calls: 0, errors: 0, timeouts: 0, avgTimeMs: null, p50TimeMs: null, p95TimeMs: null };
  const { totalCalls, errorCount, timeoutCount, avgTimeMs } = figuresOf(rows);
  const { p50TimeMs, p95TimeMs } = latencyOf(rows);
  return { calls: totalCalls, errors: errorCount, timeouts: timeoutCount, avgTimeMs, p50TimeMs, p95TimeMs };
}
