import fc from 'fast-check';
import { rounded } from '../../records/executions/queries/rounding.js';
import { defaultThresholds } from '../../web/contract/tool.js';
import { grade, type HealthReason } from './grading.js';

/**
 * The rules of docs/operate/health.md written down a second time, in whole numbers: rates are fractions of calls, latencies
 * sums. It shares no code with the implementation.
 */
interface History {
  readonly calls: number;
  readonly successes: number;
  /** Sum of all durations, milliseconds. */
  readonly totalMs: number;
}

interface Expected {
  readonly status: string;
  readonly issues: string[];
  readonly recommendations: string[];
}

/**
 * A number with so many places, ties to the even digit, as Python's format does: of the very number that the computer
 * holds, taken apart into whole numbers. The number is not negative.
 */
function decimal(value: number, places: number): string {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const exponent = Number((bits.getBigUint64(0) >> 52n) & 0x7ffn);
  const fraction = bits.getBigUint64(0) & 0xfffffffffffffn;
  const mantissa = exponent === 0 ? fraction : fraction | (1n << 52n);
  // value = mantissa / 2^by; numbers of 2^52 and more do not occur
  const by = 1n << BigInt(1075 - Math.max(1, exponent));
  const scaled = mantissa * 10n ** BigInt(places);
  let quotient = scaled / by;
  const twice = (scaled % by) * 2n;
  if (twice > by || (twice === by && quotient % 2n === 1n)) quotient += 1n;
  const digits = String(quotient).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function reference({ calls, successes, totalMs }: History): Expected {
  if (calls < 5) {
    return {
      status: 'unknown',
      issues: [`Insufficient data (${calls} calls)`],
      recommendations: ['Need more usage data for accurate assessment'],
    };
  }
  const issues: string[] = [];
  const recommendations: string[] = [];
  const rate = `${decimal((successes / calls) * 100, 1)}%`;
  let bySuccess = 0;
  if (successes * 100 < calls * 80) {
    bySuccess = 2;
    issues.push(`Success rate is critically low: ${rate}`);
    recommendations.push('Urgent: Investigate tool failures');
  } else if (successes * 100 < calls * 95) {
    bySuccess = 1;
    issues.push(`Success rate is ${rate} (target: ≥95.0%)`);
    recommendations.push('Investigate recent error patterns');
  }
  const mean = `${decimal(totalMs / calls, 0)}ms`;
  let byLatency = 0;
  if (totalMs > calls * 5000) {
    byLatency = 2;
    issues.push(`Latency is critically high: ${mean}`);
    recommendations.push('Urgent: Investigate performance bottlenecks');
  } else if (totalMs > calls * 2000) {
    byLatency = 1;
    issues.push(`Latency is ${mean} (target: ≤2000ms)`);
    recommendations.push('Consider caching or optimization');
  }
  const status = ['healthy', 'degraded', 'unhealthy'][Math.max(bySuccess, byLatency)] ?? '';
  return { status, issues, recommendations };
}

/** Around the limits of 80 % and 95 %, of 2 s and 5 s, and anywhere. */
const histories: fc.Arbitrary<History> = fc.nat(400).chain((calls) => {
  const near = (share: number): fc.Arbitrary<number> =>
    fc
      .integer({ min: -1, max: 1 })
      .map((off) => Math.min(calls, Math.max(0, Math.round(calls * share) + off)));
  const nearMs = (ms: number): fc.Arbitrary<number> =>
    fc.integer({ min: -2, max: 2 }).map((off) => Math.max(0, calls * ms + off));
  return fc.record({
    calls: fc.constant(calls),
    successes: fc.oneof(near(0.8), near(0.95), fc.nat(calls)),
    totalMs: fc.oneof(nearMs(2000), nearMs(5000), fc.nat(calls * 8000)),
  });
});

it('grades as the rules say, whatever happened', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(histories, (history) => {
      const { calls, successes, totalMs } = history;
      const { status, issues, recommendations } = grade({
        totalCalls: calls,
        successRate: calls === 0 ? 0 : successes / calls,
        avgTimeMs: calls === 0 ? 0 : totalMs / calls,
      });
      expect({ status, issues, recommendations }).toEqual(reference(history));
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }),
    { numRuns: 2_000 },
  );
  for (const status of ['healthy', 'degraded', 'unhealthy', 'unknown']) {
    expect(seen.get(status) ?? 0).toBeGreaterThan(50);
  }
});

it('rounds ties to the even digit, whatever the number', () => {
  const numbers = fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    fc.double({ min: 0, max: 2 ** 51, noNaN: true }),
    // Fractions of calls, and what lies on a tie or a bit beside it.
    fc.tuple(fc.nat(5_000), fc.integer({ min: 1, max: 5_000 })).map(([part, of]) => part / of),
    fc
      .tuple(fc.nat(1e7), fc.constantFrom(1e-3, 1e-5), fc.integer({ min: -2, max: 2 }))
      .map(([n, unit, bits]) => Math.max(0, (n * 10 + 5) * unit * (1 + bits * Number.EPSILON))),
    fc.nat(1e8).map((n) => n / 32),
    // Ties among numbers so great that their neighbours are further away than the places that are kept.
    fc.nat(8 * 2 ** 40).map((n) => 2 ** 44 + n / 8),
    fc.nat(2 ** 40).map((n) => 2 ** 49 + n / 8),
  );
  fc.assert(
    fc.property(numbers, fc.constantFrom(2, 4), (value, digits) => {
      expect(rounded(value, digits)).toBe(Number(decimal(value, digits)));
    }),
    { numRuns: 5_000 },
  );
});

describe('a grade', () => {
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
    [0.29, '29.0%'],
    [0.123456, '12.3456%'],
    [1, '100.0%'],
  ])('names a target of %d with the digits that it needs', (successRateHealthy, target) => {
    const own = { ...defaultThresholds, successRateHealthy, successRateDegraded: 0 };
    const { issues } = grade({ totalCalls: 100, successRate: 0.01, avgTimeMs: 1 }, own);
    expect(issues).toEqual([`Success rate is 1.0% (target: ≥${target})`]);
  });

  const urgent = 'Urgent: Investigate tool failures';
  const investigate = 'Investigate recent error patterns';
  const checkCallers = 'Check what callers send and how long they wait';

  // Of 20 calls: successes, callers' errors, and what the grade makes of them.
  it.each<[number, number, string, number, string[]]>([
    [10, 0, 'unhealthy', 0.5, [urgent]],
    [17, 0, 'degraded', 0.85, [investigate]],
    [10, 10, 'healthy', 1, [checkCallers]],
    [19, 1, 'healthy', 1, []],
    [0, 20, 'unknown', 0, ['Need more usage data for accurate assessment', checkCallers]],
    [5, 10, 'unhealthy', 0.5, [urgent, checkCallers]],
    [9, 10, 'degraded', 0.9, [investigate, checkCallers]],
  ])(
    "of %d successes and %d callers' errors is %3$s",
    (successes, callerErrors, status, figure, recommendations) => {
      const graded = grade({ totalCalls: 20, successRate: successes / 20, avgTimeMs: 1, callerErrors });
      expect(graded).toMatchObject({ status, recommendations });
      const faults = { toolFaults: 20 - successes - callerErrors, callerErrors };
      expect(graded.why[0]).toMatchObject({ figure, ...(callerErrors > 0 && faults) });
      const isNamed = recommendations.includes(checkCallers);
      const named = `${callerErrors} of 20 calls failed by callers' errors`;
      expect(graded.issues.includes(named)).toBe(isNamed);
    },
  );

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
});
