/**
 * By which a tool is graded and advised on. Rates are 0 to 1, latencies milliseconds; each limit still belongs to the
 * better grade.
 */
export interface ToolThresholds {
  /** Healthy from here on. */
  readonly successRateHealthy: number;
  /** Degraded from here on, unhealthy below. */
  readonly successRateDegraded: number;
  /** A mean up to here is healthy. */
  readonly latencyHealthyMs: number;
  /** A mean up to here is degraded, unhealthy beyond. */
  readonly latencyDegradedMs: number;
  /** Below this number of calls nothing is said. */
  readonly minCalls: number;
  /** Errors and timeouts in the window from which a break is advised. */
  readonly errorThreshold: number;
  readonly windowMinutes: number;
  /** A call that took this long is slow. */
  readonly slowCallMs: number;
}

/** The thresholds of tools that name no others. */
export const defaultThresholds: ToolThresholds = {
  successRateHealthy: 0.95,
  successRateDegraded: 0.8,
  latencyHealthyMs: 2000,
  latencyDegradedMs: 5000,
  minCalls: 5,
  errorThreshold: 5,
  windowMinutes: 5,
  slowCallMs: 5000,
};
