/** ISO 8601, both ends included. */
export interface StatsPeriod {
  readonly since: string;
  readonly until: string;
}

/** What the database counts for one tool. Durations in milliseconds, sizes in bytes. */
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
}

interface StatsHead {
  readonly toolName: string;
  /** 0 to 1. */
  readonly successRate: number;
  readonly period: StatsPeriod;
}

/** What a tool with calls in the period has. */
export type FilledToolStats = StatsHead & StatsRow;

/** A tool without calls in the period has this short form only (seed 000). */
export type EmptyToolStats = StatsHead & Pick<StatsRow, 'totalCalls' | 'avgTimeMs'>;

export type ToolStats = FilledToolStats | EmptyToolStats;

/** Only its own fields of the row are taken, in the seed's order. */
export function filledStats(toolName: string, row: StatsRow, period: StatsPeriod): FilledToolStats {
  return {
    toolName,
    totalCalls: row.totalCalls,
    successCount: row.successCount,
    errorCount: row.errorCount,
    timeoutCount: row.timeoutCount,
    successRate: row.totalCalls === 0 ? 0 : row.successCount / row.totalCalls,
    avgTimeMs: row.avgTimeMs,
    minTimeMs: row.minTimeMs,
    maxTimeMs: row.maxTimeMs,
    totalInputBytes: row.totalInputBytes,
    totalOutputBytes: row.totalOutputBytes,
    period,
  };
}

export const emptyStats = (toolName: string, period: StatsPeriod): EmptyToolStats => ({
  toolName,
  totalCalls: 0,
  successRate: 0,
  avgTimeMs: 0,
  period,
});
