import { averageMs, type LatencyFigures, latencyFigures, type ToolFigures } from './tool-figures.js';

/** ISO 8601, both ends included. */
export interface StatsPeriod {
  readonly since: string;
  readonly until: string;
}

/** What the database counts for one tool's executions with the same end. Durations in milliseconds, sizes in bytes. */
export interface CountedRow {
  readonly status: string;
  /** Empty: none. */
  readonly errorType: string;
  readonly calls: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly semanticFailures: number;
  /** Entries as LatencyHistogram reads them, in base64. */
  readonly latency: string;
}

interface StatsHead extends Pick<ToolFigures, 'totalCalls' | 'successRate' | 'avgTimeMs'> {
  readonly toolName: string;
  readonly period: StatsPeriod;
}

/** What a tool with calls in the period has. Durations in milliseconds, sizes in bytes. */
export interface FilledToolStats extends StatsHead, ToolFigures, LatencyFigures {
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly totalInputBytes: number;
  readonly totalOutputBytes: number;
  /** What was no success, by type; `unknown` where there is none. */
  readonly errorTypes: Readonly<Record<string, number>>;
}

/** A tool without calls in the period has this short form only (seed 000). */
export type EmptyToolStats = StatsHead;

export type ToolStats = FilledToolStats | EmptyToolStats;

/** In the seed's order; what is new stands behind it. @param rows at least one */
export function filledStats(
  toolName: string,
  rows: readonly CountedRow[],
  period: StatsPeriod,
): FilledToolStats {
  const sum = (of: (row: CountedRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const calls = (status: string): number => sum((row) => (row.status === status ? row.calls : 0));
  const totalCalls = sum((row) => row.calls);
  const successCount = calls('success');
  const minTimeMs = Math.min(...rows.map((row) => row.minMs));
  const maxTimeMs = Math.max(...rows.map((row) => row.maxMs));
  const { latency, ...percentiles } = latencyFigures(
    rows.map((row) => row.latency),
    { minTimeMs, maxTimeMs },
  );
  return {
    toolName,
    totalCalls,
    successCount,
    errorCount: calls('error'),
    timeoutCount: calls('timeout'),
    successRate: successCount / totalCalls,
    avgTimeMs: averageMs(
      sum((row) => row.totalMs),
      totalCalls,
    ),
    minTimeMs,
    maxTimeMs,
    totalInputBytes: sum((row) => row.inputBytes),
    totalOutputBytes: sum((row) => row.outputBytes),
    period,
    ...percentiles,
    semanticFailureCount: sum((row) => row.semanticFailures),
    errorTypes: errorTypes(rows),
    latency,
  };
}

function errorTypes(rows: readonly CountedRow[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { status, errorType, calls } of rows) {
    if (status === 'success') continue;
    const type = errorType || 'unknown';
    counts.set(type, (counts.get(type) ?? 0) + calls);
  }
  return Object.fromEntries([...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}

export const emptyStats = (toolName: string, period: StatsPeriod): EmptyToolStats => ({
  toolName,
  totalCalls: 0,
  successRate: 0,
  avgTimeMs: 0,
  period,
});

/** What is shown of them: without the histogram. */
export function figuresOf(stats: ToolStats): Omit<FilledToolStats, 'latency'> | EmptyToolStats {
  if (!('latency' in stats)) return stats;
  const { latency: _, ...figures } = stats;
  return figures;
}
