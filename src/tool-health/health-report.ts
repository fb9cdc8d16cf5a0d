import type {
  EmptyToolStats,
  LatencyFigures,
  ToolFigures,
  ToolStats,
} from '../records/executions/queries/tool-figures.js';
import type { FailureGroup, RecentOutcome } from '../records/executions/tool-metrics.repository.js';
import type {
  ErrorPatternsView,
  MessagePatternView,
  ToolHealthSummaryView,
  ToolHealthView,
  ToolHealthInfoView,
} from './tool-health.dto.js';
import type { ToolThresholds } from '../tool-contract/tool-thresholds.js';
import { rounded } from '../common/rounding.js';
import type { Grade, HealthStatus } from './grading.js';

const messagesFrom = 5;

/**
 * A tool's failures by type, and by type and folded message. Messages that are equally frequent are in the order of their
 * last occurrence.
 */
export function errorPatterns(
  { toolName, ...stats }: ToolStats,
  groups: readonly FailureGroup[],
  limit: number,
): ErrorPatternsView {
  const types = Object.entries('errorTypes' in stats ? stats.errorTypes : {}).sort(([, a], [, b]) => b - a);
  const newestFirst = groups.toSorted((a, b) => b.lastSeen.getTime() - a.lastSeen.getTime());
  const byPattern = Map.groupBy(newestFirst, ({ errorType, newest: [one] }) =>
    JSON.stringify([errorType, messagePattern(one?.message ?? '')]),
  );
  const newest = groups.flatMap((group) => group.newest).sort((a, b) => b.at - a.at);
  return {
    toolName,
    totalErrors: types.reduce((sum, [, count]) => sum + count, 0),
    patterns: types.map(([errorType, count]) => ({ errorType, count })),
    recentMessages: newest.slice(0, messagesFrom).flatMap(({ message }) => message || []),
    messages: [...byPattern.values()]
      .map(patternOf)
      .sort((a, b) => b.count - a.count)
      .slice(0, limit),
  };
}

/** @param groups of one pattern, the newest first */
function patternOf(groups: readonly FailureGroup[]): MessagePatternView {
  const [{ errorType, lastSeen, newest } = {}] = groups;
  const example = newest?.[0]?.message ?? '';
  return {
    errorType: errorType ?? '',
    message: messagePattern(example),
    count: groups.reduce((sum, { count }) => sum + count, 0),
    firstSeen: new Date(Math.min(...groups.map(({ firstSeen }) => firstSeen.getTime()))).toISOString(),
    lastSeen: lastSeen?.toISOString() ?? '',
    example,
    executionId: newest?.[0]?.id ?? '',
  };
}

/** The parts in which two occurrences of one failure differ, most specific first; each expression takes linear time. */
const folded: readonly (readonly [RegExp, string])[] = [
  // A quotation, not the apostrophe of "can't".
  [/(?<!\w)(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)(?!\w)/g, '<text>'],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s<>"']+/gi, '<url>'],
  [/(?<![\w/\\<])(?:[a-z]:|\.{1,2}|~)?(?:[/\\][\w.@%+~-]+)+[/\\]?/gi, '<path>'],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, '<id>'],
  [/\b0x[\da-f]+\b/gi, '<id>'],
  [/\b(?=[\da-f]*\d)(?=\d*[a-f])[\da-f]{8,}\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
];

/**
 * An error message without what changes from one occurrence to the next: quotations, addresses, paths, ids, numbers.
 */
export function messagePattern(message: string): string {
  return folded
    .reduce((text, [what, sign]) => text.replace(what, sign), message)
    .replace(/\s+/g, ' ')
    .trim();
}

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

/** @param outcomes newest first */
export function infoOf(
  { totalCalls, successRate, avgLatencyMs }: ToolHealthView,
  status: HealthStatus,
  outcomes: readonly RecentOutcome[],
): ToolHealthInfoView {
  const successes = outcomes.filter((outcome) => outcome.status === 'success');
  const failures = outcomes.filter((outcome) => outcome.status !== 'success');
  return {
    status,
    totalCalls,
    successfulCalls: successes.length,
    failedCalls: failures.length,
    successRate,
    avgLatencyMs,
    lastSuccess: successes[0]?.recordedAt.toISOString() ?? null,
    lastFailure: failures[0]?.recordedAt.toISOString() ?? null,
    lastError: failures[0]?.errorMessage ?? null,
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
