import { LatencyHistogram } from './latency-histogram.js';

/** ISO 8601, both ends included. */
export interface StatsPeriod {
  readonly since: string;
  readonly until: string;
}

/** What the database counts for executions of one tool with the same end. Durations in milliseconds, sizes in bytes. */
export interface CountedRow {
  readonly toolName: string;
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
  /** Entries as LatencyHistogram reads them. */
  readonly latency: Buffer;
}

/** Figures of one tool. Durations in milliseconds, sizes in bytes. */
export interface StatsRow {
  readonly totalCalls: number;
  readonly successCount: number;
  readonly errorCount: number;
  readonly timeoutCount: number;
  /** Two decimals. */
  readonly avgTimeMs: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly totalInputBytes: number;
  readonly totalOutputBytes: number;
  /** At most 2 % off, as the other percentiles. */
  readonly p50TimeMs: number;
  readonly p95TimeMs: number;
  readonly p99TimeMs: number;
  /** Executions that answered, but wrongly, as whoever read the answer marked them; whatever their status. */
  readonly semanticFailureCount: number;
  /** What was no success, by type; `unknown` where there is none. */
  readonly errorTypes: Readonly<Record<string, number>>;
}

interface StatsHead {
  readonly toolName: string;
  /** 0 to 1. */
  readonly successRate: number;
  readonly period: StatsPeriod;
}

/** What a tool with calls in the period has. */
export type FilledToolStats = StatsHead & StatsRow & { readonly latency: LatencyHistogram };

/** A tool without calls in the period has this short form only (seed 000). */
export type EmptyToolStats = StatsHead & Pick<StatsRow, 'totalCalls' | 'avgTimeMs'>;

export type ToolStats = FilledToolStats | EmptyToolStats;

/** @param rows of any tools @returns by tool's name */
export function statsByTool(rows: readonly CountedRow[], period: StatsPeriod): Map<string, FilledToolStats> {
  const byTool = Map.groupBy(rows, (row) => row.toolName);
  return new Map([...byTool].map(([tool, ofTool]) => [tool, filledStats(tool, ofTool, period)]));
}

/** In the seed's order; what is new stands behind it. */
function filledStats(toolName: string, rows: readonly CountedRow[], period: StatsPeriod): FilledToolStats {
  const sum = (of: (row: CountedRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const calls = (status: string): number => sum((row) => (row.status === status ? row.calls : 0));
  const totalCalls = sum((row) => row.calls);
  const successCount = calls('success');
  const minTimeMs = Math.min(...rows.map((row) => row.minMs));
  const maxTimeMs = Math.max(...rows.map((row) => row.maxMs));
  const latency = new LatencyHistogram();
  for (const row of rows) latency.add(row.latency);
  const percentile = (share: number): number =>
    Math.min(Math.max(latency.percentile(share), minTimeMs), maxTimeMs);
  return {
    toolName,
    totalCalls,
    successCount,
    errorCount: calls('error'),
    timeoutCount: calls('timeout'),
    successRate: successCount / totalCalls,
    avgTimeMs: Math.round((sum((row) => row.totalMs) * 100) / totalCalls) / 100,
    minTimeMs,
    maxTimeMs,
    totalInputBytes: sum((row) => row.inputBytes),
    totalOutputBytes: sum((row) => row.outputBytes),
    period,
    p50TimeMs: percentile(0.5),
    p95TimeMs: percentile(0.95),
    p99TimeMs: percentile(0.99),
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
