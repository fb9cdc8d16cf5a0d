import type { FleetFigures } from '../../records/executions/queries/tool-figures.js';
import type { FailureGroup, RecentOutcome } from '../../records/executions/tool-metrics.repository.js';
import type {
  ErrorPatternsView,
  MessagePatternView,
  ToolHealthSummaryView,
  ToolHealthView,
  ToolHealthInfoView,
} from './tool-health.dto.js';
import type { ToolStatsView } from '../../records/executions/tool-metrics.dto.js';
import type { ToolThresholds } from '../../web/contract/tool.js';
import { rounded } from '../../records/executions/queries/rounding.js';
import type { Grade, HealthStatus } from './grading.js';

const maxRecentMessages = 5;

/** A tool's failures by type, and by type and message pattern. Equally frequent patterns are sorted newest first. */
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
    recentMessages: newest.slice(0, maxRecentMessages).flatMap(({ message }) => message || []),
    messages: [...byPattern.values()]
      .map(patternOf)
      .sort((a, b) => b.count - a.count)
      .slice(0, limit),
  };
}

/** @param groups groups of one pattern, newest first */
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

/** Placeholders for the variable parts of messages, most specific first. Each expression runs in linear time. */
const folded: readonly (readonly [RegExp, string])[] = [
  // Quoted text, but not the apostrophe in "can't".
  [/(?<!\w)(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)(?!\w)/g, '<text>'],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s<>"']+/gi, '<url>'],
  [/(?<![\w/\\<])(?:[a-z]:|\.{1,2}|~)?(?:[/\\][\w.@%+~-]+)+[/\\]?/gi, '<path>'],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, '<id>'],
  [/\b0x[\da-f]+\b/gi, '<id>'],
  [/\b(?=[\da-f]*\d)(?=\d*[a-f])[\da-f]{8,}\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
];

/** An error message with placeholders for its variable parts: quotes, URLs, paths, ids and numbers. */
export function messagePattern(message: string): string {
  return folded
    .reduce((text, [part, placeholder]) => text.replace(part, placeholder), message)
    .replace(/\s+/g, ' ')
    .trim();
}

/** A tool and its grade in one period. */
export interface GradedTool {
  readonly name: string;
  /** Undefined if there were no calls in the period. */
  readonly figures: FleetFigures | undefined;
  readonly lastUsed: Date | undefined;
  readonly grade: Grade;
  /** Start of the current grade, in milliseconds since the epoch. */
  readonly since: number | null;
}

/** The health view of a tool in one period. */
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

/** The short form of `reportOf`. `lastUsed` is not limited to the period. */
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
