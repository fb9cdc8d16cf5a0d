import { defaultThresholds } from '../tool-contract/tool-thresholds.js';
import { rounded } from '../common/rounding.js';
import {
  countByStatus,
  grade,
  type HealthReason,
  type HealthStatus,
  neverExecuted,
  overallStatus,
} from './grading.js';

describe('grade', () => {
  const critical = 'Urgent: Investigate tool failures';
  const slow = 'Urgent: Investigate performance bottlenecks';

  it.each<[string, number, number, number, HealthStatus, string[], string[]]>([
    ['all is well', 100, 1, 150, 'healthy', [], []],
    ['success at its border', 100, 0.95, 150, 'healthy', [], []],
    [
      'success just below its border',
      1000,
      0.949,
      150,
      'degraded',
      ['Success rate is 94.9% (target: ≥95.0%)'],
      ['Investigate recent error patterns'],
    ],
    [
      'success between the borders',
      100,
      0.85,
      150,
      'degraded',
      ['Success rate is 85.0% (target: ≥95.0%)'],
      ['Investigate recent error patterns'],
    ],
    [
      'success at the lower border',
      10,
      0.8,
      150,
      'degraded',
      ['Success rate is 80.0% (target: ≥95.0%)'],
      ['Investigate recent error patterns'],
    ],
    [
      'success just below the lower border',
      1000,
      0.799,
      150,
      'unhealthy',
      ['Success rate is critically low: 79.9%'],
      [critical],
    ],
    ['low success', 10, 0.6, 150, 'unhealthy', ['Success rate is critically low: 60.0%'], [critical]],
    ['latency at its border', 100, 1, 2000, 'healthy', [], []],
    [
      'latency just over its border',
      100,
      1,
      2000.01,
      'degraded',
      ['Latency is 2000ms (target: ≤2000ms)'],
      ['Consider caching or optimization'],
    ],
    [
      'latency between the borders',
      100,
      1,
      3500,
      'degraded',
      ['Latency is 3500ms (target: ≤2000ms)'],
      ['Consider caching or optimization'],
    ],
    [
      'latency at the upper border',
      100,
      1,
      5000,
      'degraded',
      ['Latency is 5000ms (target: ≤2000ms)'],
      ['Consider caching or optimization'],
    ],
    [
      'latency just over the upper border',
      100,
      1,
      5000.01,
      'unhealthy',
      ['Latency is critically high: 5000ms'],
      [slow],
    ],
    ['high latency', 100, 1, 6000, 'unhealthy', ['Latency is critically high: 6000ms'], [slow]],
    [
      'both degraded: success is named first',
      100,
      0.85,
      3500,
      'degraded',
      ['Success rate is 85.0% (target: ≥95.0%)', 'Latency is 3500ms (target: ≤2000ms)'],
      ['Investigate recent error patterns', 'Consider caching or optimization'],
    ],
    [
      'the worse of the two decides: success',
      100,
      0.6,
      3500,
      'unhealthy',
      ['Success rate is critically low: 60.0%', 'Latency is 3500ms (target: ≤2000ms)'],
      [critical, 'Consider caching or optimization'],
    ],
    [
      'the worse of the two decides: latency',
      100,
      0.85,
      6000,
      'unhealthy',
      ['Success rate is 85.0% (target: ≥95.0%)', 'Latency is critically high: 6000ms'],
      ['Investigate recent error patterns', slow],
    ],
    [
      'four calls are too few',
      4,
      0,
      9000,
      'unknown',
      ['Insufficient data (4 calls)'],
      ['Need more usage data for accurate assessment'],
    ],
    [
      'no calls',
      0,
      0,
      0,
      'unknown',
      ['Insufficient data (0 calls)'],
      ['Need more usage data for accurate assessment'],
    ],
    ['five calls are enough', 5, 1, 10, 'healthy', [], []],
  ])('%s', (_case, totalCalls, successRate, avgTimeMs, status, issues, recommendations) => {
    expect(grade({ totalCalls, successRate, avgTimeMs })).toMatchObject({ status, issues, recommendations });
  });

  it("follows a tool's own thresholds, also in its texts", () => {
    const own = {
      ...defaultThresholds,
      successRateHealthy: 0.999,
      latencyHealthyMs: 100,
      latencyDegradedMs: 200,
      minCalls: 1,
    };
    expect(grade({ totalCalls: 2, successRate: 0.99, avgTimeMs: 150.4 }, own).issues).toEqual([
      'Success rate is 99.0% (target: ≥99.9%)',
      'Latency is 150ms (target: ≤100ms)',
    ]);
  });

  it.each([
    [0.9995, '99.95%'],
    [0.999, '99.9%'],
    [0.29, '29.0%'],
    [0.07, '7.0%'],
    [0.123456, '12.3456%'],
    [1, '100.0%'],
  ])('names a target of %d with the digits that it needs', (successRateHealthy, target) => {
    const own = { ...defaultThresholds, successRateHealthy, successRateDegraded: 0 };
    const { issues } = grade({ totalCalls: 100, successRate: 0.01, avgTimeMs: 1 }, own);
    expect(issues).toEqual([`Success rate is 1.0% (target: ≥${target})`]);
  });

  it.each<[string, number, number, number, HealthReason[]]>([
    [
      'of a healthy tool both rules',
      10,
      0.99,
      150.555,
      [
        { rule: 'success_rate', figure: 0.99, threshold: 0.95 },
        { rule: 'avg_latency', figure: 150.56, threshold: 2000 },
      ],
    ],
    ['degraded by its success', 10, 0.9, 1, [{ rule: 'success_rate', figure: 0.9, threshold: 0.95 }]],
    ['degraded by its latency', 10, 1, 3000, [{ rule: 'avg_latency', figure: 3000, threshold: 2000 }]],
    [
      'degraded by both',
      10,
      0.9,
      3000,
      [
        { rule: 'success_rate', figure: 0.9, threshold: 0.95 },
        { rule: 'avg_latency', figure: 3000, threshold: 2000 },
      ],
    ],
    [
      'unhealthy: only what made it so',
      10,
      1 / 3,
      3000,
      [{ rule: 'success_rate', figure: 0.3333, threshold: 0.8 }],
    ],
    ['unhealthy by its latency', 10, 0.9, 6000, [{ rule: 'avg_latency', figure: 6000, threshold: 5000 }]],
    ['too few calls', 3, 1, 1, [{ rule: 'minimum_calls', figure: 3, threshold: 5 }]],
  ])('says why: %s', (_case, totalCalls, successRate, avgTimeMs, why) => {
    expect(grade({ totalCalls, successRate, avgTimeMs }).why).toEqual(why);
  });

  it('rounds exact ties to the even digit, as the seed does', () => {
    expect(grade({ totalCalls: 16, successRate: 13 / 16, avgTimeMs: 1 }).issues[0]).toContain(' 81.2% ');
    expect(grade({ totalCalls: 16, successRate: 15 / 16, avgTimeMs: 1 }).issues[0]).toContain(' 93.8% ');
    expect(grade({ totalCalls: 16, successRate: 1, avgTimeMs: 3500.5 }).issues[0]).toContain(' 3500ms ');
    expect(grade({ totalCalls: 16, successRate: 1, avgTimeMs: 3501.5 }).issues[0]).toContain(' 3502ms ');
  });
});

describe('rounded', () => {
  it.each([
    [0, 4, 0],
    [2 / 3, 4, 0.6667],
    [0.96875, 4, 0.9688],
    [0.90625, 4, 0.9062],
    [150.125, 2, 150.12],
    [150.126, 2, 150.13],
    [2.675, 2, 2.67],
  ])('%d with %d places is %d', (value, digits, expected) => {
    expect(rounded(value, digits)).toBe(expected);
  });
});

describe('overallStatus', () => {
  it.each<[HealthStatus[], HealthStatus]>([
    [[], 'unknown'],
    [['unknown', 'unknown'], 'unknown'],
    [['unknown', 'healthy'], 'healthy'],
    [['healthy', 'degraded', 'unknown'], 'degraded'],
    [['degraded', 'healthy', 'unhealthy'], 'unhealthy'],
  ])('of %j is %s', (statuses, expected) => {
    expect(overallStatus(statuses)).toBe(expected);
  });
});

it('counts tools by status', () => {
  expect(countByStatus(['healthy', 'unknown', 'healthy', 'degraded'])).toEqual({
    healthy: 2,
    degraded: 1,
    unhealthy: 0,
    unknown: 1,
  });
});

it('says of a tool that was never executed that it was not', () => {
  expect(neverExecuted).toEqual({
    status: 'unknown',
    issues: ['No execution history'],
    recommendations: ['Tool has not been executed yet'],
    why: [{ rule: 'ever_executed', figure: 0, threshold: 1 }],
  });
});
