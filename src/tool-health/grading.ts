import { fixed, rounded } from '../common/rounding.js';
import type { FailureCauses } from '../tool-metrics/queries/tool-figures.js';
import { defaultThresholds, type ToolThresholds } from '../tool-contract/tool-thresholds.js';

/** How a tool is doing. */
export const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** The figures that make a grade: one tool's calls of one period. */
export interface GradedStats {
  readonly totalCalls: number;
  /** 0 to 1. */
  readonly successRate: number;
  readonly avgTimeMs: number;
  /** Absent: all failures are the tool's. */
  readonly failures?: FailureCauses;
}

export const healthRules = ['ever_executed', 'minimum_calls', 'success_rate', 'avg_latency'] as const;
export type HealthRule = (typeof healthRules)[number];

/** A rule that decided a grade. Rates are 0 to 1 with four decimals, latencies milliseconds with two. */
export interface HealthReason {
  readonly rule: HealthRule;
  readonly figure: number;
  /** The limit that the figure missed or exceeded; of a healthy tool the one that it kept. */
  readonly threshold: number;
  /** Calls without success by what is to blame. */
  readonly failures?: FailureCauses;
}

export interface Grade {
  readonly status: HealthStatus;
  /** Which rules decided: those whose own grade is `status`. */
  readonly why: readonly HealthReason[];
  readonly issues: readonly string[];
  readonly recommendations: readonly string[];
}

/** Grades a tool: the worse of its success rate and its latency decides. Callers' errors count in neither direction. */
export function grade(stats: GradedStats, thresholds: ToolThresholds = defaultThresholds): Grade {
  const { inputErrors, abandoned } = stats.failures ?? noFailures;
  const counted = stats.totalCalls - inputErrors - abandoned;
  if (counted < thresholds.minCalls) {
    const causes = causesOf(stats, thresholds);
    return {
      status: 'unknown',
      why: [{ rule: 'minimum_calls', figure: counted, threshold: thresholds.minCalls, ...failed(stats) }],
      issues: [`Insufficient data (${counted} calls)`, ...causes.issues],
      recommendations: ['Need more usage data for accurate assessment', ...causes.recommendations],
    };
  }
  const parts = [gradeSuccessRate(stats, counted, thresholds), gradeLatency(stats.avgTimeMs, thresholds)];
  const status = overallStatus(parts.map((part) => part.status));
  return {
    status,
    why: parts.flatMap((part) => (part.status === status ? part.why : [])),
    issues: parts.flatMap((part) => part.issues),
    recommendations: parts.flatMap((part) => part.recommendations),
  };
}

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

/** @param counted calls that are not their callers' errors */
function gradeSuccessRate(stats: GradedStats, counted: number, thresholds: ToolThresholds): Grade {
  const { successRateHealthy, successRateDegraded } = thresholds;
  const rate = stats.successRate * (stats.totalCalls / counted);
  const causes = causesOf(stats, thresholds);
  const reason = (threshold: number): HealthReason => ({
    rule: 'success_rate',
    figure: rounded(rate, 4),
    threshold,
    ...failed(stats),
  });
  if (rate >= successRateHealthy) return { ...causes, status: 'healthy', why: [reason(successRateHealthy)] };
  // The rate without failures that have another cause.
  const toolRate = rate + (stats.failures?.others ?? 0) / counted;
  const isDegraded = rate >= successRateDegraded;
  const advice =
    toolRate >= successRateDegraded
      ? 'Investigate recent error patterns'
      : 'Urgent: Investigate tool failures';
  const issue = isDegraded
    ? `Success rate is ${percent(rate)} (target: ≥${percentTarget(successRateHealthy)})`
    : `Success rate is critically low: ${percent(rate)}`;
  return {
    status: isDegraded ? 'degraded' : 'unhealthy',
    why: [reason(isDegraded ? successRateHealthy : successRateDegraded)],
    issues: [issue, ...causes.issues],
    recommendations: [...(toolRate < successRateHealthy ? [advice] : []), ...causes.recommendations],
  };
}

const noFailures: FailureCauses = { toolFaults: 0, inputErrors: 0, abandoned: 0, others: 0 };

const failed = ({ failures, successRate }: GradedStats): Pick<HealthReason, 'failures'> =>
  failures && successRate < 1 ? { failures } : {};

/** Failures that are not the tool's, if the rate over all calls misses the target. */
function causesOf(
  { totalCalls, successRate, failures = noFailures }: GradedStats,
  { successRateHealthy }: ToolThresholds,
): Pick<Grade, 'issues' | 'recommendations'> {
  const blamed = otherCauses.filter(({ cause }) => failures[cause] > 0);
  if (successRate >= successRateHealthy || blamed.length === 0) return { issues: [], recommendations: [] };
  const counts = blamed.map(({ cause, what }) => `${failures[cause]} ${what}`);
  return {
    issues: [`${totalCalls} calls: ${[`${failures.toolFaults} tool faults`, ...counts].join(', ')}`],
    recommendations: blamed.map(({ recommendation }) => recommendation),
  };
}

const otherCauses = [
  {
    cause: 'inputErrors',
    what: 'inputs refused by the tool',
    recommendation: "Check what callers send against the tool's description",
  },
  {
    cause: 'abandoned',
    what: 'ended by their callers',
    recommendation: 'Check how long callers wait, and whether the tool has enough processes',
  },
  {
    cause: 'others',
    what: 'ended by the gateway or without an upstream',
    recommendation: 'Check the gateway and what the tool depends on',
  },
] as const;

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
