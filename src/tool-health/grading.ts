import { defaultThresholds, type ToolThresholds } from '../tool-contract/tool-thresholds.js';

/** How a tool is doing (seed 000). */
export const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** What a grade is made of: one tool's calls of one period. */
export interface GradedStats {
  readonly totalCalls: number;
  /** 0 to 1. */
  readonly successRate: number;
  readonly avgTimeMs: number;
}

export interface Grade {
  readonly status: HealthStatus;
  readonly issues: readonly string[];
  readonly recommendations: readonly string[];
}

/** Grades a tool: the worse of its success rate and its latency decides (seed 000). */
export function grade(stats: GradedStats, thresholds: ToolThresholds = defaultThresholds): Grade {
  if (stats.totalCalls < thresholds.minCalls) {
    return {
      status: 'unknown',
      issues: [`Insufficient data (${stats.totalCalls} calls)`],
      recommendations: ['Need more usage data for accurate assessment'],
    };
  }
  const parts = [gradeSuccessRate(stats.successRate, thresholds), gradeLatency(stats.avgTimeMs, thresholds)];
  return {
    status: worst(parts.map((part) => part.status)),
    issues: parts.flatMap((part) => part.issues),
    recommendations: parts.flatMap((part) => part.recommendations),
  };
}

/** The grade of a registered tool that was never called. */
export const neverExecuted: Grade = {
  status: 'unknown',
  issues: ['No execution history'],
  recommendations: ['Tool has not been executed yet'],
};

/** The worst of what is known; unknown tools do not lower it, and only unknown ones leave it unknown. */
export function overallStatus(statuses: readonly HealthStatus[]): HealthStatus {
  return worst(statuses);
}

/** How many tools have each status. */
export function countByStatus(statuses: readonly HealthStatus[]): Record<HealthStatus, number> {
  const counts = { healthy: 0, degraded: 0, unhealthy: 0, unknown: 0 };
  for (const status of statuses) counts[status]++;
  return counts;
}

const healthy: Grade = { status: 'healthy', issues: [], recommendations: [] };
const worstFirst = ['unhealthy', 'degraded', 'healthy'] as const;

function worst(statuses: readonly HealthStatus[]): HealthStatus {
  return worstFirst.find((status) => statuses.includes(status)) ?? 'unknown';
}

function gradeSuccessRate(rate: number, { successRateHealthy, successRateDegraded }: ToolThresholds): Grade {
  if (rate >= successRateHealthy) return healthy;
  if (rate >= successRateDegraded) {
    return {
      status: 'degraded',
      issues: [`Success rate is ${percent(rate)} (target: ≥${percent(successRateHealthy)})`],
      recommendations: ['Investigate recent error patterns'],
    };
  }
  return {
    status: 'unhealthy',
    issues: [`Success rate is critically low: ${percent(rate)}`],
    recommendations: ['Urgent: Investigate tool failures'],
  };
}

function gradeLatency(avgMs: number, { latencyHealthyMs, latencyDegradedMs }: ToolThresholds): Grade {
  if (avgMs <= latencyHealthyMs) return healthy;
  if (avgMs <= latencyDegradedMs) {
    return {
      status: 'degraded',
      issues: [`Latency is ${fixed(avgMs, 0)}ms (target: ≤${latencyHealthyMs}ms)`],
      recommendations: ['Consider caching or optimization'],
    };
  }
  return {
    status: 'unhealthy',
    issues: [`Latency is critically high: ${fixed(avgMs, 0)}ms`],
    recommendations: ['Urgent: Investigate performance bottlenecks'],
  };
}

const percent = (rate: number): string => `${fixed(rate * 100, 1)}%`;

/** The value with so many decimal places, rounded as the seed does. */
export const rounded = (value: number, digits: number): number => Number(fixed(value, digits));

/**
 * As `toFixed`, except that an exact tie goes to the even digit (81.25 → 81.2), as in the seed's Python. A tie can
 * only be a value that needs just one binary digit more than it may keep, which multiplying by a power of two shows
 * exactly. Values are not negative.
 */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const tie = (value * 2 ** (digits + 1)) % 2 === 1;
  const odd = Number(text.at(-1)) % 2 === 1;
  return tie && odd ? (value - 10 ** -(digits + 1)).toFixed(digits) : text;
}
