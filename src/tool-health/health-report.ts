import type { FleetFigures } from '../records/executions/queries/tool-figures.js';
import type { FailureGroup, RecentOutcome } from '../records/executions/tool-metrics.repository.js';
import type {
  ErrorPatternsView,
  MessagePatternView,
  ToolHealthSummaryView,
  ToolHealthView,
  ToolHealthInfoView,
} from './tool-health.dto.js';
import type { ToolStatsView } from '../records/executions/tool-metrics.dto.js';
import type { ToolThresholds } from '../tool-contract/tool.js';
import { rounded } from '../records/executions/queries/rounding.js';
import type { Grade, HealthStatus } from './grading.js';

const messagesFrom = 5;

/**
 * A tool's failures by type, and by type and folded message. Messages that are equally frequent are in the order of their
 * last occurrence.
 */
export function errorPatterns(
  { toolName, errorTypes = {} }: ToolStatsView,
  groups: readonly FailureGroup[],
  limit: number,
): ErrorPatternsView {
  const types = Object.entries(errorTypes).sort(([, a], [, b]) => b - a);
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

/** A tool and its grade of one period. */
export interface GradedTool {
  readonly name: string;
  /** Undefined without calls in the period. */
  readonly figures: FleetFigures | undefined;
  readonly lastUsed: Date | undefined;
  readonly grade: Grade;
  /** Since when it has this grade, milliseconds since 1970. */
  readonly since: number | null;
}

/** A tool's figures of one period, graded. @param tool with its latency, if it was called in the period */
export function reportOf(
  { name: toolName, figures, grade, since }: Omit<GradedTool, 'lastUsed'>,
  { slowCallMs }: ToolThresholds,
  now: number,
): ToolHealthView {
  const { status, why, issues, recommendations } = grade;
  const { totalCalls = 0, successRate = 0, avgTimeMs = 0, errorCount = 0, timeoutCount = 0 } = figures ?? {};
  const { latency, p50TimeMs = 0, p95TimeMs = 0, p99TimeMs = 0, semanticFailureCount = 0 } = figures ?? {};
  const share = (calls = 0): number => rounded(calls / (totalCalls || 1), 4);
  return {
    toolName,
    status,
    successRate: rounded(successRate, 4),
    avgLatencyMs: rounded(avgTimeMs, 2),
    totalCalls,
    recentErrors: errorCount + timeoutCount,
    failureRate: share(errorCount + timeoutCount),
    slowCallRate: share(latency?.countFrom(slowCallMs)),
    p50LatencyMs: rounded(p50TimeMs, 2),
    p95LatencyMs: rounded(p95TimeMs, 2),
    p99LatencyMs: rounded(p99TimeMs, 2),
    semanticFailures: semanticFailureCount,
    slowCallMs,
    issues,
    recommendations,
    why: why.map((reason) => ({ ...reason, since: since === null ? null : new Date(since).toISOString() })),
    checkedAt: new Date(now).toISOString(),
  };
}

/** The short form; `lastUsed` is of all time. */
export function summaryOf({ figures, grade: { status }, lastUsed }: GradedTool): ToolHealthSummaryView {
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
