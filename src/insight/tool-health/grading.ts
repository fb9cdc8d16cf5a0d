import type { FleetFigures } from '../../records/executions/queries/tool-figures.js';
import { fixed, rounded } from '../../records/executions/queries/rounding.js';
import type { ToolStatsView } from '../../records/executions/tool-metrics.dto.js';
import type { FailureGroup } from '../../records/executions/queries/tool-metrics.sql.js';
import type { RecentOutcome } from '../../records/executions/tool-metrics.repository.js';
import { defaultThresholds, type ToolThresholds } from '../../web/contract/tool.js';
import type * as dto from './tool-health.dto.js';

/** The figures from which a tool is graded: its calls of one period. */
export interface GradedStats {
  readonly totalCalls: number;
  /** 0 to 1. */
  readonly successRate: number;
  readonly avgTimeMs: number;
  /** Failures that are their callers' errors. */
  readonly callerErrors?: number;
  /** Answers that report an error, or were marked as wrong. */
  readonly findingCount?: number;
}

/** A rule that decided a grade. Rates have four decimals, latencies two. */
export type HealthReason = Omit<dto.HealthReasonView, 'since'>;

/** A tool's grade with the reasons for it. */
export type Grade = Pick<dto.ToolHealthView, 'status' | 'issues' | 'recommendations'> & {
  /** The deciding rules: those whose own grade is `status`. */
  readonly why: readonly HealthReason[];
};

/**
 * Grades a tool by the worse of its success rate and its latency. Callers' errors do not count, but they are named if the
 * success rate with them misses the target. Status and health by a tool's processes are in runtime/custom-tools/state.
 */
export function grade(stats: GradedStats, thresholds: ToolThresholds = defaultThresholds): Grade {
  const parts = [...gradeParts(stats, thresholds), ...findingPart(stats)];
  const status = overallStatus(parts.map((part) => part.status));
  return {
    status,
    why: parts.flatMap((part) => (part.status === status ? part.why : [])),
    issues: parts.flatMap((part) => part.issues),
    recommendations: parts.flatMap((part) => part.recommendations),
  };
}

/** The grades by each rule, and issues that do not affect the grade. */
function gradeParts(stats: GradedStats, thresholds: ToolThresholds): Grade[] {
  const { totalCalls, successRate, avgTimeMs, callerErrors = 0 } = stats;
  const counted = totalCalls - callerErrors;
  const toolFaults = counted - Math.round(successRate * totalCalls);
  const faults = callerErrors > 0 ? { toolFaults, callerErrors } : undefined;
  // `successRate` is of all calls; the graded rate leaves out callers' errors.
  const rate = successRate * (totalCalls / counted);
  const parts =
    counted < thresholds.minCalls
      ? [tooFewCalls(counted, thresholds, faults)]
      : [gradeSuccessRate(rate, thresholds, faults), gradeLatency(avgTimeMs, thresholds)];
  if (!faults || successRate >= thresholds.successRateHealthy) return parts;
  const issue = `${callerErrors} of ${totalCalls} calls failed by callers' errors`;
  return [...parts, gradePart('unknown', [], issue, 'Check what callers send and how long they wait')];
}

/** The issue that answers report errors. It does not affect the grade. */
function findingPart({ totalCalls, findingCount = 0 }: GradedStats): Grade[] {
  if (findingCount === 0) return [];
  const issue = `${findingCount} of ${totalCalls} results report an error or were marked as wrong`;
  const recommendation = 'Read the executions with a finding: callers got them as successes';
  return [gradePart('unknown', [], issue, recommendation)];
}

/** A part of a grade with at most one issue. An `unknown` one without a reason only adds its issue to the grade. */
const gradePart = (
  status: dto.HealthStatus,
  why: readonly HealthReason[],
  issue?: string,
  recommendation?: string,
): Grade => ({
  status,
  why,
  issues: issue === undefined ? [] : [issue],
  recommendations: recommendation === undefined ? [] : [recommendation],
});

/** The failures in a reason; undefined without callers' errors. */
type Faults = Pick<HealthReason, 'toolFaults' | 'callerErrors'> | undefined;

/** The part of a tool with too few calls for a grade. */
function tooFewCalls(counted: number, { minCalls }: ToolThresholds, faults: Faults): Grade {
  const reason = { rule: 'minimum_calls', figure: counted, threshold: minCalls, ...faults } as const;
  const recommendation = 'Need more usage data for accurate assessment';
  return gradePart('unknown', [reason], `Insufficient data (${counted} calls)`, recommendation);
}

/** Min distance of a success rate from its threshold at which the grade is clear. */
const clearMargin = 0.02;

/** Whether the success rate alone decided the grade, and is two points or more from its threshold. */
export const isClear = ({ why }: Grade): boolean =>
  why.length > 0 &&
  why.every(
    ({ rule, figure, threshold }) => rule === 'success_rate' && Math.abs(figure - threshold) >= clearMargin,
  );

const isBad = (status: dto.HealthStatus): boolean => status === 'degraded' || status === 'unhealthy';

/** Whether a tool that was not healthy is not healthy yet, so that its bad period continues. */
export const staysBad = (to: dto.HealthStatus, from: dto.HealthStatus): boolean => isBad(to) && isBad(from);

/** The grade of a registered tool that was never called. */
export const neverExecuted = gradePart(
  'unknown',
  [{ rule: 'ever_executed', figure: 0, threshold: 1 }],
  'No execution history',
  'Tool has not been executed yet',
);

/** Known statuses, the worst first. */
const worstFirst = ['unhealthy', 'degraded', 'healthy'] as const;

/** The worst known status; `unknown` only if there is no known one. */
export function overallStatus(statuses: readonly dto.HealthStatus[]): dto.HealthStatus {
  return worstFirst.find((status) => statuses.includes(status)) ?? 'unknown';
}

export function countByStatus(statuses: readonly dto.HealthStatus[]): Record<dto.HealthStatus, number> {
  const counts = { healthy: 0, degraded: 0, unhealthy: 0, unknown: 0 };
  for (const status of statuses) counts[status]++;
  return counts;
}

function gradeSuccessRate(
  rate: number,
  { successRateHealthy, successRateDegraded }: ToolThresholds,
  faults: Faults,
): Grade {
  const why = (threshold: number): HealthReason[] => [
    { rule: 'success_rate', figure: rounded(rate, 4), threshold, ...faults },
  ];
  if (rate >= successRateHealthy) return gradePart('healthy', why(successRateHealthy));
  if (rate >= successRateDegraded) {
    const issue = `Success rate is ${percent(rate)} (target: ≥${percentTarget(successRateHealthy)})`;
    return gradePart('degraded', why(successRateHealthy), issue, 'Investigate recent error patterns');
  }
  const issue = `Success rate is critically low: ${percent(rate)}`;
  return gradePart('unhealthy', why(successRateDegraded), issue, 'Urgent: Investigate tool failures');
}

function gradeLatency(avgMs: number, { latencyHealthyMs, latencyDegradedMs }: ToolThresholds): Grade {
  const why = (threshold: number): HealthReason[] => [
    { rule: 'avg_latency', figure: rounded(avgMs, 2), threshold },
  ];
  if (avgMs <= latencyHealthyMs) return gradePart('healthy', why(latencyHealthyMs));
  if (avgMs <= latencyDegradedMs) {
    const issue = `Latency is ${fixed(avgMs, 0)}ms (target: ≤${latencyHealthyMs}ms)`;
    return gradePart('degraded', why(latencyHealthyMs), issue, 'Consider caching or optimization');
  }
  const issue = `Latency is critically high: ${fixed(avgMs, 0)}ms`;
  return gradePart('unhealthy', why(latencyDegradedMs), issue, 'Urgent: Investigate performance bottlenecks');
}

const percent = (rate: number): string => `${fixed(rate * 100, 1)}%`;

/** A threshold in percent. A tool's own threshold may need more than one digit: 99.95 % is not 100.0 %. */
function percentTarget(rate: number): string {
  const exact = Number((rate * 100).toPrecision(12));
  return `${exact === Number(exact.toFixed(1)) ? exact.toFixed(1) : exact}%`;
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
): dto.ToolHealthView {
  const { status, why, issues, recommendations } = grade;
  const { totalCalls = 0, successRate = 0, avgTimeMs = 0, errorCount = 0, timeoutCount = 0 } = figures ?? {};
  const { latency, p50TimeMs = 0, p95TimeMs = 0, p99TimeMs = 0 } = figures ?? {};
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
    semanticFailures: figures?.semanticFailureCount ?? 0,
    findings: figures?.findingCount ?? 0,
    slowCallMs,
    issues,
    recommendations,
    why: why.map((reason) => ({ ...reason, since: since === null ? null : new Date(since).toISOString() })),
    checkedAt: new Date(now).toISOString(),
  };
}

/** The short form of `reportOf`. `lastUsed` is not limited to the period. */
export function summaryOf({ figures, grade: { status }, lastUsed }: GradedTool): dto.ToolHealthSummaryView {
  return {
    status,
    successRate: rounded(figures?.successRate ?? 0, 4),
    lastUsed: lastUsed?.toISOString() ?? null,
    avgLatencyMs: rounded(figures?.avgTimeMs ?? 0, 2),
    totalCalls: figures?.totalCalls ?? 0,
    recentErrors: figures ? figures.errorCount + figures.timeoutCount : 0,
  };
}

/** Figures of a tool with its last successes and failures. @param outcomes newest first */
export function infoOf(
  { totalCalls, successRate, avgLatencyMs }: dto.ToolHealthView,
  status: dto.HealthStatus,
  outcomes: readonly RecentOutcome[],
): dto.ToolHealthInfoView {
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

/** Max messages of the newest failures that are shown. */
const maxRecentMessages = 5;

/** A tool's failures by type, and by type and message pattern. Equally frequent patterns are sorted newest first. */
export function errorPatterns(
  { toolName, errorTypes = {} }: ToolStatsView,
  groups: readonly FailureGroup[],
  limit: number,
): dto.ErrorPatternsView {
  const types = Object.entries(errorTypes).sort(([, a], [, b]) => b - a);
  const newestFirst = groups.toSorted((a, b) => b.lastSeen.getTime() - a.lastSeen.getTime());
  const byPattern = Map.groupBy(newestFirst, ({ errorType, newest: [newest] }) =>
    JSON.stringify([errorType, messagePattern(newest?.message ?? '')]),
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

/** The view of one message pattern. @param groups groups of the pattern, newest first */
function patternOf(groups: readonly FailureGroup[]): dto.MessagePatternView {
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
const placeholders: readonly (readonly [RegExp, string])[] = [
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
  return placeholders
    .reduce((text, [part, placeholder]) => text.replace(part, placeholder), message)
    .replace(/\s+/g, ' ')
    .trim();
}
