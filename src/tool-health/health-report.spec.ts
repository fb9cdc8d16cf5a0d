import { defaultThresholds } from '../tool-contract/tool-thresholds.js';
import { LatencyHistogram } from '../tool-metrics/rollups/latency-histogram.js';
import type { FilledToolStats } from '../tool-metrics/queries/tool-stats.js';
import { grade, neverExecuted } from './grading.js';
import { reportOf } from './health-report.js';

const now = Date.parse('2026-01-23T10:30:00.000Z');

/** 20 calls: 17 successes, 2 errors, 1 timeout. */
const stats: FilledToolStats = {
  toolName: 'search',
  totalCalls: 20,
  successCount: 17,
  errorCount: 2,
  timeoutCount: 1,
  successRate: 0.85,
  avgTimeMs: 115.05,
  minTimeMs: 100,
  maxTimeMs: 301,
  totalInputBytes: 0,
  totalOutputBytes: 0,
  p50TimeMs: 100,
  p95TimeMs: 150.456,
  p99TimeMs: 301,
  semanticFailureCount: 4,
  errorTypes: { timeout: 1, tool_error: 2 },
  period: { since: '', until: '' },
  latency: new LatencyHistogram(),
};

const report = (
  of: FilledToolStats | undefined,
  graded = of ? grade(of) : neverExecuted,
  since: number | null = now,
) => reportOf('search', of, defaultThresholds, graded, { now, since });

describe('a report', () => {
  it('shows semantic failures as their own figure: they touch neither rates nor grade', () => {
    const { semanticFailures, ...rest } = report(stats);
    expect(semanticFailures).toBe(4);
    expect(report({ ...stats, semanticFailureCount: 0 })).toMatchObject(rest);
    expect(rest).toMatchObject({ status: 'degraded', successRate: 0.85, failureRate: 0.15, recentErrors: 3 });
  });

  it('counts timeouts among the recent errors', () => {
    expect(report({ ...stats, errorCount: 0, timeoutCount: 7 }).recentErrors).toBe(7);
  });

  it('rounds rates to four places, latencies to two', () => {
    const odd = { ...stats, successRate: 2 / 3, avgTimeMs: 115.126, totalCalls: 7 };
    expect(report(odd)).toMatchObject({
      successRate: 0.6667,
      failureRate: 0.4286,
      avgLatencyMs: 115.13,
      p95LatencyMs: 150.46,
    });
  });

  it('says why with the time, or without where nobody knows it', () => {
    const reason = { rule: 'success_rate', figure: 0.85, threshold: 0.95 };
    expect(report(stats).why).toEqual([{ ...reason, since: '2026-01-23T10:30:00.000Z' }]);
    expect(report(stats, grade(stats), null).why).toEqual([{ ...reason, since: null }]);
  });

  it('has zeros where there were no calls', () => {
    expect(report(undefined)).toMatchObject({
      totalCalls: 0,
      successRate: 0,
      failureRate: 0,
      slowCallRate: 0,
      p99LatencyMs: 0,
      semanticFailures: 0,
    });
  });
});
