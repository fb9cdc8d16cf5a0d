import type { ToolThresholds } from '../tool-contract/tool-thresholds.js';
import type { LatencyFigures, ToolFigures } from '../records/executions/queries/tool-figures.js';
import type { EmptyToolStats } from '../records/executions/queries/tool-stats.js';
import { rounded } from '../records/executions/queries/rounding.js';
import type { Grade } from './grading.js';
import type { ToolHealthSummaryView, ToolHealthView } from './tool-health.dto.js';

/** With calls in the period, or without. */
type ReportedFigures = (ToolFigures & LatencyFigures) | EmptyToolStats;

/** A tool's figures of one period, graded; times in ISO 8601, `since` in milliseconds since 1970. */
export function reportOf(
  toolName: string,
  stats: ReportedFigures | undefined,
  { slowCallMs }: ToolThresholds,
  { status, why, issues, recommendations }: Grade,
  { now, since }: { readonly now: number; readonly since: number | null },
): ToolHealthView {
  return {
    toolName,
    status,
    successRate: rounded(stats?.successRate ?? 0, 4),
    avgLatencyMs: rounded(stats?.avgTimeMs ?? 0, 2),
    totalCalls: stats?.totalCalls ?? 0,
    ...figuresOf(stats, slowCallMs),
    slowCallMs,
    issues,
    recommendations,
    why: why.map((reason) => ({ ...reason, since: since === null ? null : new Date(since).toISOString() })),
    checkedAt: new Date(now).toISOString(),
  };
}

/** The short form; `lastUsed` is of all time. */
export function summaryOf(
  figures: ToolFigures | undefined,
  { status }: Grade,
  lastUsed: Date | undefined,
): ToolHealthSummaryView {
  return {
    status,
    successRate: rounded(figures?.successRate ?? 0, 4),
    lastUsed: lastUsed?.toISOString() ?? null,
    avgLatencyMs: rounded(figures?.avgTimeMs ?? 0, 2),
    totalCalls: figures?.totalCalls ?? 0,
    recentErrors: figures ? figures.errorCount + figures.timeoutCount : 0,
  };
}

/** The figures that only a tool with calls in the period has: zero for others, as their other figures are. */
function figuresOf(stats: ReportedFigures | undefined, slowCallMs: number) {
  if (!stats || !('latency' in stats)) {
    const none = { p50LatencyMs: 0, p95LatencyMs: 0, p99LatencyMs: 0 };
    return { recentErrors: 0, failureRate: 0, slowCallRate: 0, ...none, semanticFailures: 0 };
  }
  const failures = stats.errorCount + stats.timeoutCount;
  return {
    recentErrors: failures,
    failureRate: rounded(failures / stats.totalCalls, 4),
    slowCallRate: rounded(stats.latency.countFrom(slowCallMs) / stats.totalCalls, 4),
    p50LatencyMs: rounded(stats.p50TimeMs, 2),
    p95LatencyMs: rounded(stats.p95TimeMs, 2),
    p99LatencyMs: rounded(stats.p99TimeMs, 2),
    semanticFailures: stats.semanticFailureCount,
  };
}
