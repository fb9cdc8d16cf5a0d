import type { StatsPeriodView, ToolStatsView } from '../tool-metrics.dto.js';
import {
  type CountedRow,
  figuresOf,
  type LatencyFigures,
  latencyOf,
  rangeOf,
  summing,
  type ToolFigures,
} from './tool-figures.js';

/** The statistics of a tool with calls in the period. */
export type FilledToolStats = Required<ToolStatsView> &
  LatencyFigures &
  Pick<ToolFigures, 'callerErrors' | 'firstMs'>;

/** A tool without calls in the period has this short form only. */
export type EmptyToolStats = Pick<
  ToolStatsView,
  'toolName' | 'totalCalls' | 'successRate' | 'avgTimeMs' | 'period'
>;

export type ToolStats = FilledToolStats | EmptyToolStats;

/** The order of the members is the one that is shown. @param rows at least one */
export function filledStats(
  toolName: string,
  rows: readonly CountedRow[],
  period: StatsPeriodView,
): FilledToolStats {
  const sum = summing(rows);
  const { semanticFailureCount, ...figures } = figuresOf(rows);
  const { latency, ...percentiles } = latencyOf(rows);
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

export const emptyStats = (toolName: string, period: StatsPeriodView): EmptyToolStats => ({
  toolName,
  totalCalls: 0,
  successRate: 0,
  avgTimeMs: 0,
  period,
});

/** The shown part of the statistics. */
export function shownStats(
  stats: ToolStats,
): Omit<FilledToolStats, 'latency' | 'callerErrors' | 'firstMs'> | EmptyToolStats {
  if (!('latency' in stats)) return stats;
  const { latency: _, callerErrors: _callers, firstMs: _first, ...figures } = stats;
  return figures;
}
