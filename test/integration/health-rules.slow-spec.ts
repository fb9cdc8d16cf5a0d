import { Logger } from '@nestjs/common';
import type { CircuitBreakers } from '../../src/call/circuits/circuit-breakers.js';
import { CircuitsService } from '../../src/call/circuits/circuits.service.js';
import { CallEvents } from '../../src/web/contract/call-events.js';
import { RecentCalls } from '../../src/insight/tool-health/recent-calls.js';
import { RefusedCallers } from '../../src/records/executions/rollups/refused-callers.js';
import { HealthEvents, ToolHealthService } from '../../src/insight/tool-health/tool-health.service.js';
import { KnownTools } from '../../src/call/circuits/known-tools.js';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

// Each rule of health by its own name. Real: PostgreSQL, repository, service. Ours: the clock.

const now = Date.now();
const minute = 60_000;
const hour = 60 * minute;
const ago = (ms: number): Date => new Date(now - ms);

let db: TestDatabase;
let metrics: ToolMetricsRepository;
let known: KnownTools;
let health: ToolHealthService;
let refused: RefusedCallers;

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(['log', 'warn', 'error', 'fatal']));

beforeEach(async () => {
  db = await createTestDatabase();
  metrics = new ToolMetricsRepository(db.dataSource);
  known = new KnownTools();
  const clock = { now: () => now };
  const breakers = { notClosed: () => [] } as unknown as CircuitBreakers;
  const circuits = new CircuitsService(breakers, undefined as never, metrics, known, clock);
  refused = new RefusedCallers(new CallEvents(), db.dataSource);
  const recent = new RecentCalls(metrics, known, circuits);
  health = new ToolHealthService(metrics, known, circuits, refused, recent, new HealthEvents(), clock);
});

afterEach(async () => {
  await refused.onApplicationShutdown();
  await db.release();
});

type Row = Partial<ToolMetric>;

async function record(toolName: string, count: number, row: Row = {}): Promise<void> {
  const one = () => newToolMetric({ toolName, recordedAt: ago(minute), ...row });
  await insertBatch(db.dataSource, Array.from({ length: count }, one), 0);
}

const error: Row = { status: 'error', errorType: 'tool_crashed', toolFault: true };
const timeout: Row = { status: 'timeout', errorType: 'timeout', toolFault: true };

describe('checkToolHealth', () => {
  it('looks back one hour unless told otherwise', async () => {
    await record('t', 5, { recordedAt: ago(hour + 1) });
    expect((await health.checkToolHealth('t')).totalCalls).toBe(0);
    expect((await health.checkToolHealth('t', 2)).totalCalls).toBe(5);
  });

  it('under 5 calls: unknown, "Insufficient data (N calls)", "Need more usage data for accurate assessment"', async () => {
    await record('t', 4);
    expect(await health.checkToolHealth('t')).toMatchObject({
      status: 'unknown',
      successRate: 1,
      issues: ['Insufficient data (4 calls)'],
      recommendations: ['Need more usage data for accurate assessment'],
    });
  });

  it.each<[number, number, string, string[], string[]]>([
    [19, 1, 'healthy', [], []],
    [18, 2, 'degraded', ['Success rate is 90.0% (target: ≥95.0%)'], ['Investigate recent error patterns']],
    [16, 4, 'degraded', ['Success rate is 80.0% (target: ≥95.0%)'], ['Investigate recent error patterns']],
    [15, 5, 'unhealthy', ['Success rate is critically low: 75.0%'], ['Urgent: Investigate tool failures']],
  ])(
    'success: ≥ .95 healthy, ≥ .80 degraded, else unhealthy: %d of them and %d errors are %s',
    async (successes, errors, status, issues, recommendations) => {
      await record('t', successes);
      await record('t', errors, error);
      expect(await health.checkToolHealth('t')).toMatchObject({ status, issues, recommendations });
    },
  );

  it.each<[number, string, string[], string[]]>([
    [2000, 'healthy', [], []],
    [2001, 'degraded', ['Latency is 2001ms (target: ≤2000ms)'], ['Consider caching or optimization']],
    [5000, 'degraded', ['Latency is 5000ms (target: ≤2000ms)'], ['Consider caching or optimization']],
    [
      5001,
      'unhealthy',
      ['Latency is critically high: 5001ms'],
      ['Urgent: Investigate performance bottlenecks'],
    ],
  ])(
    'latency: mean ≤ 2000 healthy, ≤ 5000 degraded, else unhealthy: %d ms is %s',
    async (executionTimeMs, status, issues, recommendations) => {
      await record('t', 5, { executionTimeMs });
      expect(await health.checkToolHealth('t')).toMatchObject({ status, issues, recommendations });
    },
  );

  it('the worse of the two is the status, and both speak, success first', async () => {
    await record('t', 9, { executionTimeMs: 6_000 });
    await record('t', 1, { ...error, executionTimeMs: 6_000 });
    expect(await health.checkToolHealth('t')).toMatchObject({
      status: 'unhealthy',
      issues: ['Success rate is 90.0% (target: ≥95.0%)', 'Latency is critically high: 6000ms'],
      recommendations: ['Investigate recent error patterns', 'Urgent: Investigate performance bottlenecks'],
    });
  });

  it('recent errors are errors and timeouts', async () => {
    await record('t', 2, error);
    await record('t', 3, timeout);
    expect((await health.checkToolHealth('t')).recentErrors).toBe(5);
  });

  it('a status that nobody knows counts in the total only', async () => {
    await record('t', 9);
    await record('t', 1, { status: 'odd' });
    expect(await health.checkToolHealth('t')).toMatchObject({
      totalCalls: 10,
      successRate: 0.9,
      recentErrors: 0,
      failureRate: 0,
    });
  });

  it('a report rounds its success rate to 4 places and its mean to 2, and dates itself in ISO 8601', async () => {
    await record('t', 2, { executionTimeMs: 100 });
    await record('t', 4, { executionTimeMs: 101 });
    await record('t', 1, { ...error, executionTimeMs: 101 });
    expect(await health.checkToolHealth('t')).toMatchObject({
      successRate: 0.8571,
      avgLatencyMs: 100.71,
      checkedAt: new Date(now).toISOString(),
    });
  });
});

describe('checkAllToolsHealth', () => {
  const names = async () => (await health.checkAllToolsHealth()).toolReports.map(({ toolName }) => toolName);

  it('names are the registered ones and those ever executed, once each, sorted', async () => {
    health.setRegisteredTools(['c', 'a']);
    await record('b', 1, { recordedAt: ago(1_000 * hour) });
    await record('a', 1);
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('registered and never executed: unknown, "No execution history", "Tool has not been executed yet"', async () => {
    health.setRegisteredTools(['a']);
    expect((await health.checkAllToolsHealth()).toolReports).toMatchObject([
      {
        status: 'unknown',
        issues: ['No execution history'],
        recommendations: ['Tool has not been executed yet'],
      },
    ]);
  });

  it('executed, but not in the period: insufficient data, not "never executed"', async () => {
    health.setRegisteredTools(['a']);
    await record('a', 9, { recordedAt: ago(2 * hour) });
    expect((await health.checkAllToolsHealth()).toolReports[0]?.issues).toEqual([
      'Insufficient data (0 calls)',
    ]);
  });

  it('overall: any unhealthy, else any degraded, else any healthy, else unknown', async () => {
    const overall = async () => (await health.checkAllToolsHealth()).status;
    health.setRegisteredTools(['idle']);
    expect(await overall()).toBe('unknown');
    await record('well', 5);
    expect(await overall()).toBe('healthy');
    await record('slow', 5, { executionTimeMs: 3_000 });
    expect(await overall()).toBe('degraded');
    await record('ill', 5, error);
    expect(await overall()).toBe('unhealthy');
    expect((await health.checkAllToolsHealth()).summary).toEqual({
      healthy: 1,
      degraded: 1,
      unhealthy: 1,
      unknown: 1,
    });
  });

  it('no tools: unknown with a summary of zeros', async () => {
    expect(await health.checkAllToolsHealth()).toMatchObject({
      status: 'unknown',
      toolReports: [],
      summary: { healthy: 0, degraded: 0, unhealthy: 0, unknown: 0 },
    });
  });
});

describe('shouldCircuitBreak', () => {
  const breaks = (errorThreshold?: number, windowMinutes?: number) =>
    health.shouldCircuitBreak('t', errorThreshold, windowMinutes);

  it('5 errors or timeouts in 5 minutes break, whatever the number of calls', async () => {
    await record('t', 10_000);
    await record('t', 2, error);
    await record('t', 2, timeout);
    expect(await breaks()).toBe(false);
    await record('t', 1, timeout);
    expect(await breaks()).toBe(true);
  });

  it('a tool without rows does not break', async () => {
    expect(await breaks()).toBe(false);
  });

  it('old errors age out of the window', async () => {
    await record('t', 9, { ...error, recordedAt: ago(5 * minute + 1) });
    expect(await breaks()).toBe(false);
    expect(await breaks(5, 6)).toBe(true);
    expect(await breaks(10, 6)).toBe(false);
  });

  it('says circuit_breaker_triggered in the log when it breaks, and only then', async () => {
    const lines: unknown[] = [];
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation((line) => void lines.push(line));
    try {
      await record('t', 4, error);
      await breaks();
      expect(lines).toEqual([]);
      await record('t', 1, error);
      await breaks();
      expect(lines).toEqual([
        expect.objectContaining({ event: 'circuit_breaker_triggered', tool: 't', errors: 5 }),
      ]);
    } finally {
      warn.mockRestore();
    }
  });
});

describe('getErrorPatterns', () => {
  it('counts all of the last hour that were no success', async () => {
    await record('t', 30, { ...error, recordedAt: ago(5_000 * hour) });
    await record('t', 30, { ...error, recordedAt: ago(hour) });
    await record('t', 3, { status: 'odd', errorType: 'odd', recordedAt: ago(minute) });
    await record('t', 30);
    expect(await health.getErrorPatterns('t')).toMatchObject({
      totalErrors: 33,
      patterns: [
        { errorType: 'tool_crashed', count: 30 },
        { errorType: 'odd', count: 3 },
      ],
    });
  });

  it('an error without a type is "unknown"', async () => {
    await record('t', 1, { status: 'error' });
    expect((await health.getErrorPatterns('t')).patterns).toEqual([{ errorType: 'unknown', count: 1 }]);
  });

  it('recent messages are those that are not empty among the first 5, and present without any error', async () => {
    const at = (n: number): Row => ({ ...error, recordedAt: ago(n * minute) });
    await record('t', 1, { ...at(1), errorMessage: 'first' });
    await record('t', 1, { ...at(2), errorMessage: '' });
    await record('t', 1, at(3));
    await record('t', 1, { ...at(4), errorMessage: 'fourth' });
    await record('t', 1, { ...at(5), errorMessage: 'fifth' });
    await record('t', 1, { ...at(6), errorMessage: 'sixth' });
    expect((await health.getErrorPatterns('t')).recentMessages).toEqual(['first', 'fourth', 'fifth']);
    expect((await health.getErrorPatterns('nobody')).recentMessages).toEqual([]);
  });
});

describe('getDashboardSummary', () => {
  it('looks back one hour', async () => {
    await record('in', 5, { recordedAt: ago(hour) });
    await record('out', 5, { recordedAt: ago(hour + 1) });
    expect((await health.getDashboardSummary()).summary).toMatchObject({ healthy: 1, unknown: 1 });
  });

  it('tools needing attention are all that are not healthy, unknown ones too, as whole reports', async () => {
    await record('well', 5);
    await record('ill', 5, error);
    await record('rare', 1);
    const { toolsNeedingAttention } = await health.getDashboardSummary();
    const reports = [await health.checkToolHealth('ill'), await health.checkToolHealth('rare')];
    expect(toolsNeedingAttention).toEqual(reports);
  });

  it('slow executions are the 10 slowest of all time from 5000 ms on, with three fields', async () => {
    await record('t', 1, { executionTimeMs: 4_999 });
    await record('t', 1, { executionTimeMs: 5_000, recordedAt: ago(5_000 * hour) });
    expect((await health.getDashboardSummary()).slowExecutions).toEqual([
      { toolName: 't', executionTimeMs: 5_000, recordedAt: ago(5_000 * hour).toISOString() },
    ]);
    await record('t', 12, { executionTimeMs: 7_000 });
    const { slowExecutions } = await health.getDashboardSummary();
    expect(slowExecutions.map(({ executionTimeMs }) => executionTimeMs)).toEqual(Array(10).fill(7_000));
  });
});

describe('getHealthSummary', () => {
  it('last used is the last use, not the time of the check; null without one', async () => {
    health.setRegisteredTools(['idle']);
    await record('t', 1, { recordedAt: ago(3 * hour) });
    const { tools } = await health.getHealthSummary();
    expect([tools['t']?.lastUsed, tools['idle']?.lastUsed]).toEqual([ago(3 * hour).toISOString(), null]);
  });
});

describe('getToolHealth', () => {
  it('is null without a call in 24 hours', async () => {
    await record('t', 5, { recordedAt: ago(24 * hour + 1) });
    expect(await health.getToolHealth('t')).toBeNull();
  });

  it('counts successes and failures over the last 100 of all time, which may disagree with the total', async () => {
    await record('t', 150, { ...error, errorMessage: 'old', recordedAt: ago(30 * hour) });
    await record('t', 30);
    expect(await health.getToolHealth('t')).toMatchObject({
      totalCalls: 30,
      successRate: 1,
      successfulCalls: 30,
      failedCalls: 70,
      lastFailure: ago(30 * hour).toISOString(),
      lastError: 'old',
    });
  });
});

describe('recordExecution', () => {
  it('takes ids of sessions and requests as text', async () => {
    const { metricId } = await health.recordExecution({
      toolName: 't',
      userId: 'user-123',
      sessionId: 'sess-456',
      requestId: 'req/7',
    });
    expect(await metrics.getExecution(metricId)).toMatchObject({ sessionId: 'sess-456', requestId: 'req/7' });
  });
});
