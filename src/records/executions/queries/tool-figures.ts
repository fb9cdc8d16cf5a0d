import { rounded } from './rounding.js';
import { LatencyHistogram } from '../rollups/latency-histogram.js';
import type { StatsPeriodView, ToolStatsView } from '../tool-metrics.dto.js';

/** The figures that make a tool's grade: its calls in a period, at least one. */
export interface ToolFigures {
  readonly totalCalls: number;
  readonly successCount: number;
  readonly errorCount: number;
  readonly timeoutCount: number;
  /** 0 to 1. */
  readonly successRate: number;
  /** Two decimals. */
  readonly avgTimeMs: number;
  /** Executions that answered, but wrongly, as a reader of the answer marked them, also where they succeeded. */
  readonly semanticFailureCount: number;
  /** Inputs that the tool refused (-32602), cancelled calls, deadlines shorter than the tool's own. */
  readonly callerErrors: number;
  /** Start of the minute, or of the longer cell, with the first of them: milliseconds since 1970. */
  readonly firstMs: number;
}

/** How long those calls took, in milliseconds. */
export interface LatencyFigures {
  /** At most 2 % off, as the other percentiles. */
  readonly p50TimeMs: number;
  readonly p95TimeMs: number;
  readonly p99TimeMs: number;
  readonly latency: LatencyHistogram;
}

/** The latency is there where the query asked for it. */
export type FleetFigures = ToolFigures & Partial<LatencyFigures>;

/** The database's counts of one tool's executions with the same end. Durations in milliseconds, sizes in bytes. */
export interface CountedRow {
  readonly toolName: string;
  readonly status: string;
  /** Empty: none. */
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
  /** Entries as LatencyHistogram reads them, in base64; null: not asked for. */
  readonly latency: string | null;
}

type Sum = (of: (row: CountedRow) => number) => number;

export const summing =
  (rows: readonly CountedRow[]): Sum =>
  (of) =>
    rows.reduce((total, row) => total + of(row), 0);

/** @param rows those of one tool, at least one */
export function figuresOf(rows: readonly CountedRow[]): ToolFigures {
  const sum = summing(rows);
  const calls = (status: string): number => sum((row) => (row.status === status ? row.calls : 0));
  const totalCalls = sum((row) => row.calls);
  const successCount = calls('success');
  return {
    totalCalls,
    successCount,
    errorCount: calls('error'),
    timeoutCount: calls('timeout'),
    successRate: successCount / totalCalls,
    avgTimeMs: rounded(sum((row) => row.totalMs) / totalCalls, 2),
    semanticFailureCount: sum((row) => row.semanticFailures),
    callerErrors: sum((row) => row.callerErrors),
    firstMs: Math.min(...rows.map((row) => row.firstMs)),
  };
}

/** @param rows those of one tool, with their latency */
export function latencyOf(rows: readonly CountedRow[]): LatencyFigures {
  const latency = new LatencyHistogram();
  for (const row of rows) latency.add(Buffer.from(row.latency ?? '', 'base64'));
  const [shortest, longest] = rangeOf(rows);
  const percentile = (share: number): number =>
    Math.min(Math.max(latency.percentile(share), shortest), longest);
  return { p50TimeMs: percentile(0.5), p95TimeMs: percentile(0.95), p99TimeMs: percentile(0.99), latency };
}

/** Milliseconds of the shortest and of the longest execution. */
export const rangeOf = (rows: readonly CountedRow[]): [shortest: number, longest: number] => [
  Math.min(...rows.map((row) => row.minMs)),
  Math.max(...rows.map((row) => row.maxMs)),
];

/** The order of the members is the one that is shown. @param rows at least one */
export function filledStats(
  toolName: string,
  rows: readonly CountedRow[],
  period: StatsPeriodView,
): Required<ToolStatsView> {
  const sum = summing(rows);
  const { semanticFailureCount, callerErrors: _, firstMs: _first, ...figures } = figuresOf(rows);
  const { latency: _latency, ...percentiles } = latencyOf(rows);
  const [minTimeMs, maxTimeMs] = rangeOf(rows);
  return {
    toolName,
    ...figures,
    minTimeMs,
    maxTimeMs,
    totalInputBytes: sum((row) => row.inputBytes),
    totalOutputBytes: sum((row) => row.outputBytes),
    period,
    ...percentiles,
    semanticFailureCount,
    errorTypes: errorTypes(rows),
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

export const emptyStats = (toolName: string, period: StatsPeriodView): ToolStatsView => ({
  toolName,
  totalCalls: 0,
  successRate: 0,
  avgTimeMs: 0,
  period,
});
