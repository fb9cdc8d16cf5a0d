import { rounded } from '../../common/rounding.js';
import { LatencyHistogram } from '../rollups/latency-histogram.js';

/** What a tool's grade is made of: its calls in a period, at least one. */
export interface ToolFigures {
  readonly totalCalls: number;
  readonly successCount: number;
  readonly errorCount: number;
  readonly timeoutCount: number;
  /** 0 to 1. */
  readonly successRate: number;
  /** Two decimals. */
  readonly avgTimeMs: number;
  /** Executions that answered, but wrongly, as whoever read the answer marked them; whatever their status. */
  readonly semanticFailureCount: number;
}

/** How long those calls took, in milliseconds. */
export interface LatencyFigures {
  /** At most 2 % off, as the other percentiles. */
  readonly p50TimeMs: number;
  readonly p95TimeMs: number;
  readonly p99TimeMs: number;
  readonly latency: LatencyHistogram;
}

/** The latency is there where somebody asked for it. */
export type FleetFigures = ToolFigures & Partial<LatencyFigures>;

/** Null: no such calls, or not asked for. */
export interface FiguresRow {
  readonly toolName: string;
  readonly totalCalls: number;
  readonly successCount: number | null;
  readonly errorCount: number | null;
  readonly timeoutCount: number | null;
  readonly totalMs: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly semanticFailureCount: number;
  /** Entries as LatencyHistogram reads them, in base64. */
  readonly latency: string | null;
}

export function figuresOfRow(row: FiguresRow): FleetFigures {
  const { totalCalls, totalMs, semanticFailureCount, latency } = row;
  const successCount = row.successCount ?? 0;
  return {
    totalCalls,
    successCount,
    errorCount: row.errorCount ?? 0,
    timeoutCount: row.timeoutCount ?? 0,
    successRate: successCount / totalCalls,
    avgTimeMs: averageMs(totalMs, totalCalls),
    semanticFailureCount,
    ...(latency !== null && latencyFigures([latency], row)),
  };
}

/** Two decimals. */
export const averageMs = (totalMs: number, calls: number): number => rounded(totalMs / calls, 2);

/** @param entries in base64 */
export function latencyFigures(
  entries: readonly string[],
  { minTimeMs, maxTimeMs }: { readonly minTimeMs: number; readonly maxTimeMs: number },
): LatencyFigures {
  const latency = new LatencyHistogram();
  for (const some of entries) latency.add(Buffer.from(some, 'base64'));
  const percentile = (share: number): number =>
    Math.min(Math.max(latency.percentile(share), minTimeMs), maxTimeMs);
  return { p50TimeMs: percentile(0.5), p95TimeMs: percentile(0.95), p99TimeMs: percentile(0.99), latency };
}
