import { rounded } from './rounding.js';
import type {
  SeriesFiguresView,
  SeriesPointView,
  SeriesQuery,
  StatsPeriodView,
  ToolStatsView,
} from '../tool-metrics.dto.js';
import type { SeriesRange } from '../rollups/rollup.sql.js';
import { dayMs, minuteMs } from '../../../base/common/clock.js';
import { invalidRequest } from '../../../base/common/errors.js';

/** Counts of a tool's calls in a period with at least one call, in the order of the view. */
type CallCounts = Required<
  Pick<
    ToolStatsView,
    | 'totalCalls'
    | 'successCount'
    | 'errorCount'
    | 'timeoutCount'
    | 'successRate'
    | 'avgTimeMs'
    | 'findingCount'
  >
>;

/** The figures that make a tool's grade. */
interface ToolFigures extends CallCounts {
  /** Executions marked by a reader because the answer was wrong, including successful ones. */
  readonly semanticFailureCount: number;
  /** Number of failures by callers: inputs that the tool refused (-32602), cancelled calls, deadlines shorter than the tool's. */
  readonly callerErrors: number;
  /** Start of the minute (or longer cell of the rollups) with the first call, in milliseconds since the epoch. */
  readonly firstMs: number;
  /** Start of the minute or cell with the first failure; Infinity without one. */
  readonly firstFailureMs: number;
}

/** Durations of the calls, in milliseconds; at most 2 % off. */
interface LatencyFigures extends Required<Pick<ToolStatsView, 'p50TimeMs' | 'p95TimeMs' | 'p99TimeMs'>> {
  readonly latency: LatencyHistogram;
}

/** Figures of one tool, with its latency if the query asked for it. */
export type FleetFigures = ToolFigures & Partial<LatencyFigures>;

/** Counts of one tool's executions with the same status and error type. Durations in milliseconds, sizes in bytes. */
export interface CountedRow {
  readonly toolName: string;
  readonly status: string;
  /** Empty without an error. */
  readonly errorType: string;
  readonly calls: number;
  readonly callerErrors: number;
  readonly firstMs: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly semanticFailures: number;
  readonly findings: number;
  /** Entries of a LatencyHistogram, in base64; null if the query did not ask for them. */
  readonly latency: string | null;
}

const sumOf = (rows: readonly CountedRow[], valueOf: (row: CountedRow) => number): number =>
  rows.reduce((total, row) => total + valueOf(row), 0);

/** Counts and mean duration of calls. */
function countsOf(rows: readonly CountedRow[]): CallCounts {
  const calls = (status: string): number => sumOf(rows, (row) => (row.status === status ? row.calls : 0));
  const totalCalls = sumOf(rows, (row) => row.calls);
  const successCount = calls('success');
  return {
    totalCalls,
    successCount,
    errorCount: calls('error'),
    timeoutCount: calls('timeout'),
    successRate: successCount / totalCalls,
    avgTimeMs: rounded(sumOf(rows, (row) => row.totalMs) / totalCalls, 2),
    findingCount: sumOf(rows, (row) => row.findings),
  };
}

/** Figures of one tool. @param rows of the tool, at least one */
export const figuresOf = (rows: readonly CountedRow[]): ToolFigures => ({
  ...countsOf(rows),
  semanticFailureCount: sumOf(rows, (row) => row.semanticFailures),
  callerErrors: sumOf(rows, (row) => row.callerErrors),
  firstMs: Math.min(...rows.map((row) => row.firstMs)),
  firstFailureMs: Math.min(...rows.filter(({ status }) => status !== 'success').map((row) => row.firstMs)),
});

/** Percentiles of one tool. @param rows of the tool, with their latency */
export function latencyOf(rows: readonly CountedRow[]): LatencyFigures {
  const latency = new LatencyHistogram();
  for (const row of rows) latency.add(Buffer.from(row.latency ?? '', 'base64'));
  const [shortest, longest] = rangeOf(rows);
  const percentile = (share: number): number =>
    Math.min(Math.max(latency.percentile(share), shortest), longest);
  return { p50TimeMs: percentile(0.5), p95TimeMs: percentile(0.95), p99TimeMs: percentile(0.99), latency };
}

/** Milliseconds of the shortest and of the longest execution. */
const rangeOf = (rows: readonly CountedRow[]): [shortest: number, longest: number] => [
  Math.min(...rows.map((row) => row.minMs)),
  Math.max(...rows.map((row) => row.maxMs)),
];

/** Statistics of one tool, in the order of the view. @param rows at least one */
export function filledStats(
  toolName: string,
  rows: readonly CountedRow[],
  period: StatsPeriodView,
): Required<ToolStatsView> {
  const { latency: _latency, ...percentiles } = latencyOf(rows);
  const [minTimeMs, maxTimeMs] = rangeOf(rows);
  return {
    toolName,
    ...countsOf(rows),
    minTimeMs,
    maxTimeMs,
    totalInputBytes: sumOf(rows, (row) => row.inputBytes),
    totalOutputBytes: sumOf(rows, (row) => row.outputBytes),
    period,
    ...percentiles,
    semanticFailureCount: sumOf(rows, (row) => row.semanticFailures),
    errorTypes: failuresByType(rows),
  };
}

/** Numbers of failures by type, the most frequent first. */
function failuresByType(rows: readonly CountedRow[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { status, errorType, calls } of rows) {
    if (status === 'success') continue;
    const type = errorType || 'unknown';
    counts.set(type, (counts.get(type) ?? 0) + calls);
  }
  return Object.fromEntries([...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}

/** Statistics of a tool without calls. */
export const emptyStats = (toolName: string, period: StatsPeriodView): ToolStatsView => ({
  toolName,
  totalCalls: 0,
  successRate: 0,
  avgTimeMs: 0,
  period,
});

/** Counts of one bucket; `at` is its start. */
export interface SeriesRow extends CountedRow {
  readonly at: Date;
}

/** Calls, failures and callers' errors of a tool per bucket. Failures include callers' errors. */
export interface Trend {
  readonly calls: number[];
  readonly failures: number[];
  readonly callerErrors: number[];
}

/** Counts of a tool's calls in one bucket. */
export interface TrendRow {
  readonly toolName: string;
  /** Index of the bucket. */
  readonly at: number;
  readonly calls: number;
  readonly failures: number;
  readonly callerErrors: number;
}

/** Bucket widths to choose from, in milliseconds. */
const usualBuckets = [1, 5, 15, 60, 180, 360, 1_440].map((minutes) => minutes * minuteMs);
/** Max buckets if the width is not given. */
const maxDefaultPoints = 120;
/** Max buckets if the width is given. */
const maxPoints = 1_500;

/** The buckets of a period; by default the shortest that are at most 120. @throws Problem `invalid_request` naming the field */
export function seriesRange({ since, until = new Date(), bucketMs }: SeriesQuery): SeriesRange {
  const [first, last] = [since?.getTime() ?? until.getTime() - dayMs, until.getTime()];
  if (first > last) throw invalidRequest({ pointer: '/since', detail: 'must not be after until' });
  if (bucketMs !== undefined && bucketMs % minuteMs !== 0)
    throw invalidRequest({ pointer: '/bucketMs', detail: 'must be whole minutes' });
  const fitting = usualBuckets.find((width) => (last - first) / width <= maxDefaultPoints);
  const width = bucketMs ?? fitting ?? dayMs;
  const from = Math.floor(first / width) * width;
  const to = (Math.floor(last / width) + 1) * width;
  if ((to - from) / width > maxPoints)
    throw invalidRequest({
      pointer: '/bucketMs',
      detail: `must be longer: there may be ${maxPoints} of them in the period`,
    });
  return { from: new Date(from), to: new Date(to), bucketMs: width };
}

/** One point per bucket, including those without calls. */
export function seriesPoints(
  { from, to, bucketMs }: SeriesRange,
  rows: readonly SeriesRow[],
): SeriesPointView[] {
  const byTime = Map.groupBy(rows, ({ at }) => at.getTime());
  const starts = Array.from(
    { length: (to.getTime() - from.getTime()) / bucketMs },
    (_, index) => from.getTime() + index * bucketMs,
  );
  return starts.map((start) => ({ at: new Date(start).toISOString(), ...seriesFigures(byTime.get(start)) }));
}

/** Figures of one bucket; durations are null without calls. */
export function seriesFigures(rows: readonly SeriesRow[] = []): SeriesFiguresView {
  const noDurations = { avgTimeMs: null, p50TimeMs: null, p95TimeMs: null };
  if (rows.length === 0) return { calls: 0, errors: 0, timeouts: 0, findings: 0, ...noDurations };
  const { totalCalls, errorCount, timeoutCount, findingCount, avgTimeMs } = countsOf(rows);
  const { p50TimeMs, p95TimeMs } = latencyOf(rows);
  const counts = { calls: totalCalls, errors: errorCount, timeouts: timeoutCount, findings: findingCount };
  return { ...counts, avgTimeMs, p50TimeMs, p95TimeMs };
}

/** Ratio of a bucket's upper bound to its lower one, so that its middle is at most 2 % off. */
const growth = 1.04;
/** Number of buckets. 0 ms has its own; the last one holds the largest 32-bit number. */
const bucketCount = 550;
/** An entry is 32 bits: 10 of bucket, 2 of place, 20 of digit. A count is the sum of its digits, each × 2^(20 × place). */
const bucketShift = 22;
const placeShift = 20;
const digitMask = 0xf_ffff;

/** The middle of each bucket's whole milliseconds. */
const middles = Float64Array.from({ length: bucketCount }, (_, bucket) => {
  if (bucket === 0) return 0;
  const first = Math.ceil(growth ** (bucket - 1));
  const last = Math.ceil(growth ** bucket) - 1;
  return Math.max(first, (first + last) / 2);
});

/** Histogram of durations in logarithmic buckets; its figures are at most 2 % off. */
export class LatencyHistogram {
  private readonly counts = new Float64Array(bucketCount);
  private sum = 0;

  /** Adds entries as the database writes them. A bucket may have several entries. */
  add(entries: Buffer): this {
    const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
    for (let at = 0; at + 4 <= entries.byteLength; at += 4) {
      const entry = view.getInt32(at);
      const place = (entry >>> placeShift) & 3;
      this.count(entry >>> bucketShift, (entry & digitMask) * 2 ** (placeShift * place));
    }
    return this;
  }

  /** Milliseconds of the execution at this rank (0 < share <= 1); 0 without executions. */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.sum));
    let below = 0;
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      below += this.counts[bucket] ?? 0;
      if (below >= rank) return middles[bucket] ?? 0;
    }
    return 0;
  }

  /** Number of executions that took at least `thresholdMs`. */
  countFrom(thresholdMs: number): number {
    let count = 0;
    for (let bucket = bucketCount - 1; bucket >= 0 && (middles[bucket] ?? 0) >= thresholdMs; bucket -= 1) {
      count += this.counts[bucket] ?? 0;
    }
    return count;
  }

  private count(bucket: number, executions: number): void {
    this.counts[bucket] = (this.counts[bucket] ?? 0) + executions;
    this.sum += executions;
  }
}
