import { fixed, rounded } from '../../records/executions/queries/rounding.js';
import { defaultThresholds, type ToolThresholds } from '../../web/contract/tool.js';

/** How a tool is doing. */
export const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** The figures that make a grade: one tool's calls of one period. */
export interface GradedStats {
  readonly totalCalls: number;
  /** 0 to 1. */
  readonly successRate: number;
  readonly avgTimeMs: number;
  /** Failures that are their callers' errors. */
  readonly callerErrors?: number;
}

export const healthRules = ['ever_executed', 'minimum_calls', 'success_rate', 'avg_latency'] as const;
export type HealthRule = (typeof healthRules)[number];

/** A rule that decided a grade. Rates are 0 to 1 with four decimals, latencies milliseconds with two. */
export interface HealthReason {
  readonly rule: HealthRule;
  readonly figure: number;
  /** The limit that the figure missed or exceeded; of a healthy tool the one that it kept. */
  readonly threshold: number;
  /** Failures of the tool, and those that are their callers' errors; absent without any of these. */
  readonly toolFaults?: number;
  readonly callerErrors?: number;
}

export interface Grade {
  readonly status: HealthStatus;
  /** The deciding rules: those whose own grade is `status`. */
  readonly why: readonly HealthReason[];
  readonly issues: readonly string[];
  readonly recommendations: readonly string[];
}

/**
 * Grades a tool: the worse of its success rate and its latency decides. Callers' errors do not count; they are named if
 * with them the success rate misses the target.
 */
export function grade(stats: GradedStats, thresholds: ToolThresholds = defaultThresholds): Grade {
  const parts = gradeParts(stats, thresholds);
  const status = overallStatus(parts.map((part) => part.status));
  return {
    status,
    why: parts.flatMap((part) => (part.status === status ? part.why : [])),
    issues: parts.flatMap((part) => part.issues),
    recommendations: parts.flatMap((part) => part.recommendations),
  };
}

function gradeParts(stats: GradedStats, thresholds: ToolThresholds): Grade[] {
  const { totalCalls, successRate, avgTimeMs, callerErrors = 0 } = stats;
  const counted = totalCalls - callerErrors;
  const toolFaults = counted - Math.round(successRate * totalCalls);
  const faults = callerErrors > 0 && { toolFaults, callerErrors };
  const rate = successRate * (totalCalls / counted);
  const parts =
    counted < thresholds.minCalls
      ? [tooFewCalls(counted, thresholds, faults)]
      : [gradeSuccessRate(rate, thresholds, faults), gradeLatency(avgTimeMs, thresholds)];
  if (!faults || successRate >= thresholds.successRateHealthy) return parts;
  const issues = [`${callerErrors} of ${totalCalls} calls failed by callers' errors`];
  const recommendations = ['Check what callers send and how long they wait'];
  return [...parts, { status: 'unknown', why: [], issues, recommendations }];
}

type Faults = false | Pick<HealthReason, 'toolFaults' | 'callerErrors'>;

const tooFewCalls = (counted: number, { minCalls }: ToolThresholds, faults: Faults): Grade => ({
  status: 'unknown',
  why: [{ rule: 'minimum_calls', figure: counted, threshold: minCalls, ...faults }],
  issues: [`Insufficient data (${counted} calls)`],
  recommendations: ['Need more usage data for accurate assessment'],
});

/** The grade of a registered tool that was never called. */
export const neverExecuted: Grade = {
  status: 'unknown',
  why: [{ rule: 'ever_executed', figure: 0, threshold: 1 }],
  issues: ['No execution history'],
  recommendations: ['Tool has not been executed yet'],
};

/** The worst of what is known; unknown tools do not lower it, and only unknown ones leave it unknown. */
export function overallStatus(statuses: readonly HealthStatus[]): HealthStatus {
  return worstFirst.find((status) => statuses.includes(status)) ?? 'unknown';
}

/** How many tools have each status. */
export function countByStatus(statuses: readonly HealthStatus[]): Record<HealthStatus, number> {
  const counts = { healthy: 0, degraded: 0, unhealthy: 0, unknown: 0 };
  for (const status of statuses) counts[status]++;
  return counts;
}

const worstFirst = ['unhealthy', 'degraded', 'healthy'] as const;

function gradeSuccessRate(
  rate: number,
  { successRateHealthy, successRateDegraded }: ToolThresholds,
  faults: Faults,
): Grade {
  const why = (threshold: number): HealthReason[] => [
    { rule: 'success_rate', figure: rounded(rate, 4), threshold, ...faults },
  ];
  if (rate >= successRateHealthy) return healthy(why(successRateHealthy));
  if (rate >= successRateDegraded) {
    return {
      status: 'degraded',
      why: why(successRateHealthy),
      issues: [`Success rate is ${percent(rate)} (target: ≥${percentTarget(successRateHealthy)})`],
      recommendations: ['Investigate recent error patterns'],
    };
  }
  return {
    status: 'unhealthy',
    why: why(successRateDegraded),
    issues: [`Success rate is critically low: ${percent(rate)}`],
    recommendations: ['Urgent: Investigate tool failures'],
  };
}

function gradeLatency(avgMs: number, { latencyHealthyMs, latencyDegradedMs }: ToolThresholds): Grade {
  const why = (threshold: number): HealthReason[] => [
    { rule: 'avg_latency', figure: rounded(avgMs, 2), threshold },
  ];
  if (avgMs <= latencyHealthyMs) return healthy(why(latencyHealthyMs));
  if (avgMs <= latencyDegradedMs) {
    return {
      status: 'degraded',
      why: why(latencyHealthyMs),
      issues: [`Latency is ${fixed(avgMs, 0)}ms (target: ≤${latencyHealthyMs}ms)`],
      recommendations: ['Consider caching or optimization'],
    };
  }
  return {
    status: 'unhealthy',
    why: why(latencyDegradedMs),
    issues: [`Latency is critically high: ${fixed(avgMs, 0)}ms`],
    recommendations: ['Urgent: Investigate performance bottlenecks'],
  };
}

const healthy = (why: readonly HealthReason[]): Grade => ({
  status: 'healthy',
  why,
  issues: [],
  recommendations: [],
});

const percent = (rate: number): string => `${fixed(rate * 100, 1)}%`;

/** A tool's own target may need more digits: 99.95 % is not 100.0 %. */
function percentTarget(rate: number): string {
  const exact = Number((rate * 100).toPrecision(12));
  return `${exact === Number(exact.toFixed(1)) ? exact.toFixed(1) : exact}%`;
}
