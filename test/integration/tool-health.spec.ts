import { AuditModule } from '../../src/web/auth/audit/audit.module.js';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CLOCK } from '../../src/base/common/clock.js';
import { newId } from '../../src/base/common/ids.js';
import { ProblemFilter } from '../../src/web/rest/problem.filter.js';
import { DtoPipe } from '../../src/web/rest/dto.pipe.js';
import { ConfigModule, loadConfig } from '../../src/base/config/app-config.js';
import { MetricsModule } from '../../src/base/observability/metrics.module.js';
import { CircuitBreakers } from '../../src/call/circuits/circuit-breakers.js';
import { CircuitTransitionsRepository } from '../../src/call/circuits/circuit-transitions.repository.js';
import {
  type HealthChange,
  HealthEvents,
  ToolHealthService,
} from '../../src/insight/tool-health/tool-health.service.js';
import { KnownTools } from '../../src/call/circuits/known-tools.js';
import { ToolHealthModule } from '../../src/insight/tool-health/tool-health.module.js';
import { CallEvents, type ExecutedCall } from '../../src/web/contract/call-events.js';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { SessionModule } from '../support/session-module.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/wait.js';

// Real: PostgreSQL, the metrics' repository, the Nest application with its pipe and filter. Ours: the clock.

// Moves by hand alone; the real time is near, for the retention of metrics goes by that.
const now = Date.now();
let later = 0;
const checkedAt = new Date(now).toISOString();
const minute = 60_000;
const hour = 60 * minute;
const ago = (ms: number): Date => new Date(now - ms);
const minuteOf = (time: Date): string => new Date(Math.floor(time.getTime() / minute) * minute).toISOString();

let db: TestDatabase;
let app: NestFastifyApplication;
let metrics: ToolMetricsRepository;
let health: ToolHealthService;
let known: KnownTools;

async function startApp(): Promise<void> {
  const module = await Test.createTestingModule({
    imports: [
      ConfigModule.forRoot(loadConfig({})),
      MetricsModule.forRoot(),
      TypeOrmModule.forRootAsync({
        useFactory: () => ({ type: 'postgres' }),
        dataSourceFactory: async () => db.dataSource,
      }),
      SessionModule,
      AuditModule,
      ToolHealthModule,
    ],
  })
    .overrideProvider(CLOCK)
    .useValue({ now: () => now + later })
    .compile();
  app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  app.useGlobalPipes(new DtoPipe());
  app.useGlobalFilters(new ProblemFilter());
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (visit) => {
      visit.principal = { userId: 'operator', scopes: new Set() };
    });
  metrics = app.get(ToolMetricsRepository);
  health = app.get(ToolHealthService);
  known = app.get(KnownTools);
}

beforeEach(async () => {
  later = 0;
  db = await createTestDatabase();
  await startApp();
});

afterEach(async () => {
  await app.close();
  await db.release();
});

type Row = Partial<ToolMetric>;

async function record(toolName: string, count: number, row: Row = {}): Promise<void> {
  const rows = Array.from({ length: count }, () =>
    newToolMetric({ toolName, recordedAt: ago(minute), ...row }),
  );
  await insertBatch(db.dataSource, rows, 0);
}

const failure: Row = {
  status: 'error',
  errorType: 'tool_crashed',
  errorMessage: 'it crashed',
  toolFault: true,
};
const timeout: Row = { status: 'timeout', errorType: 'timeout', errorMessage: 'no answer', toolFault: true };

interface Answer {
  readonly status: number;
  // Bodies of HTTP replies are untyped by nature.
  readonly body: Record<string, unknown>;
}

/** Starts the application with the first request: what a test records before is its past. */
async function request(method: 'GET' | 'POST', path: string, payload?: object): Promise<Answer> {
  if (!app.getHttpServer().listening) await app.listen(0, '127.0.0.1');
  const reply = await fetch(`${await app.getUrl()}/api/v1/tool-health${path}`, {
    method,
    ...(payload && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(payload) }),
  });
  return { status: reply.status, body: (await reply.json()) as Answer['body'] };
}

describe('checkToolHealth', () => {
  it('grades the calls of the period', async () => {
    await record('search', 17, { executionTimeMs: 100 });
    await record('search', 2, { ...failure, executionTimeMs: 150 });
    await record('search', 1, { ...timeout, executionTimeMs: 301 });
    await record('search', 50, { recordedAt: ago(2 * hour) });
    await record('search', 50, { ...failure, isTest: true });
    await record('other', 50, failure);
    expect(await health.checkToolHealth('search')).toEqual({
      toolName: 'search',
      status: 'degraded',
      successRate: 0.85,
      avgLatencyMs: 115.05,
      totalCalls: 20,
      recentErrors: 3,
      failureRate: 0.15,
      slowCallRate: 0,
      slowCallMs: 5_000,
      p50LatencyMs: expect.closeTo(100, -0.3),
      p95LatencyMs: expect.closeTo(150, -0.5),
      p99LatencyMs: 301,
      semanticFailures: 0,
      findings: 0,
      issues: ['Success rate is 85.0% (target: ≥95.0%)'],
      recommendations: ['Investigate recent error patterns'],
      why: [{ rule: 'success_rate', figure: 0.85, threshold: 0.95, since: minuteOf(ago(0)) }],
      checkedAt,
    });
    expect(await health.checkToolHealth('search', 3)).toMatchObject({ totalCalls: 70, successRate: 0.9571 });
  });

  it('counts both ends of the period in', async () => {
    await record('search', 5, { recordedAt: ago(hour) });
    await record('search', 1, { recordedAt: ago(0) });
    await record('search', 1, { recordedAt: ago(hour + 1) });
    expect(await health.checkToolHealth('search')).toMatchObject({ totalCalls: 6 });
  });

  it("follows a tool's own thresholds", async () => {
    known.set([{ name: 'slow', thresholds: { latencyHealthyMs: 10_000, latencyDegradedMs: 20_000 } }]);
    await record('slow', 5, { executionTimeMs: 9_000 });
    expect(await health.checkToolHealth('slow')).toMatchObject({ status: 'healthy', issues: [] });
  });

  it('dates a first grade from its first failure, not from the successes before it', async () => {
    await record('search', 20, { recordedAt: ago(50 * minute) });
    await record('search', 20, { ...failure, recordedAt: ago(10 * minute) });
    expect(await health.checkToolHealth('search')).toMatchObject({
      status: 'unhealthy',
      why: [{ since: minuteOf(ago(9 * minute)) }],
    });
  });

  it('shows slow calls beside failures, by the limit of the tool', async () => {
    known.set([{ name: 'lenient', thresholds: { slowCallMs: 9_000 } }, { name: 'usual' }]);
    for (const tool of ['lenient', 'usual']) {
      await record(tool, 7, { executionTimeMs: 100 });
      await record(tool, 2, { executionTimeMs: 6_000 });
      await record(tool, 1, { ...timeout, executionTimeMs: 30_000 });
    }
    const figures = { successRate: 0.9, failureRate: 0.1, semanticFailures: 0 };
    expect(await health.checkToolHealth('usual')).toMatchObject({ ...figures, slowCallRate: 0.3 });
    expect(await health.checkToolHealth('lenient')).toMatchObject({
      ...figures,
      slowCallRate: 0.1,
      slowCallMs: 9_000,
    });
  });

  it('shows semantic failures as their own figure: they are successes still', async () => {
    await record('search', 9);
    const { metricId } = await metrics.record(newToolMetric({ toolName: 'search', recordedAt: ago(minute) }));
    const before = await health.checkToolHealth('search');
    expect(before).toMatchObject({ status: 'healthy', successRate: 1, semanticFailures: 0 });
    await metrics.markSemanticFailure(metricId, 'It answered a question that nobody had asked');
    expect(await health.checkToolHealth('search')).toEqual({
      ...before,
      ...{ semanticFailures: 1, findings: 1 },
      issues: ['1 of 10 results report an error or were marked as wrong'],
      recommendations: ['Read the executions with a finding: callers got them as successes'],
    });
  });

  it("tells a tool's faults from its callers' errors, whatever the period is read from", async () => {
    const callers: Row[] = [
      { status: 'error', errorType: 'tool_error' },
      { status: 'timeout', errorType: 'timeout' },
      { status: 'error', errorType: 'cancelled' },
    ];
    const others: Row[] = [
      { status: 'error', errorType: 'interrupted' },
      { status: 'error', errorType: 'upstream_unavailable' },
    ];
    const faults: Row[] = [failure, timeout, { status: 'error', errorType: 'tool_error', toolFault: true }];
    for (const recordedAt of [ago(0), ago(30 * minute), ago(26 * hour)]) {
      for (const row of [...callers, ...others, ...faults]) await record('mixed', 2, { ...row, recordedAt });
      await record('mixed', 8, { recordedAt });
      await record('called_badly', 4, { ...callers[0], recordedAt });
      await record('called_badly', 4, { recordedAt });
    }
    const why = { rule: 'success_rate', figure: 0.4444, toolFaults: 20, callerErrors: 12 };
    expect(await health.checkToolHealth('mixed')).toMatchObject({
      status: 'unhealthy',
      successRate: 0.3333,
      why: [why],
    });
    expect(await health.checkToolHealth('mixed', 48)).toMatchObject({
      why: [{ ...why, toolFaults: 30, callerErrors: 18 }],
    });
    expect(await health.checkToolHealth('called_badly')).toMatchObject({
      status: 'healthy',
      successRate: 0.5,
      issues: ["8 of 16 calls failed by callers' errors"],
      recommendations: ['Check what callers send and how long they wait'],
    });
  });

  it('says since when the tool has its grade of the last hour, and tells each change once', async () => {
    const heard: HealthChange[] = [];
    app.get(HealthEvents).subscribe((change) => heard.push(change));
    await record('search', 4, { executionTimeMs: 3_000, recordedAt: ago(20 * minute) });
    expect(await health.checkToolHealth('search')).toMatchObject({ why: [{ since: null }] });
    await record('search', 1, { executionTimeMs: 3_000 });
    const first = minuteOf(ago(19 * minute));
    expect(await health.checkToolHealth('search', 7)).toMatchObject({ why: [{ since: null }] });
    const reports = await Promise.all([health.checkToolHealth('search'), health.checkToolHealth('search')]);
    expect(reports.map(({ why }) => why[0]?.since)).toEqual([first, first]);
    expect(await health.checkToolHealth('nobody')).toMatchObject({ why: [{ since: null }] });
    await record('search', 5, failure);
    await health.checkAllToolsHealth();
    expect(await health.checkAllToolsHealth()).toMatchObject({
      // Degraded and unhealthy are one bad time.
      toolReports: [{ why: [{ since: first }] }],
    });
    const search = { tool: 'search' };
    expect(heard).toEqual([
      {
        ...search,
        from: 'unknown',
        to: 'degraded',
        at: Date.parse(first),
        why: 'Latency is 3000ms (target: ≤2000ms)',
      },
      {
        ...search,
        from: 'degraded',
        to: 'unhealthy',
        at: now,
        why: 'Success rate is critically low: 50.0%',
      },
    ]);
  });
});

describe('how a tool is doing now', () => {
  const nowOf = async (tool: string) => (await health.reportTool(tool)).now;
  /** Calls of the minute that is so many before this one. */
  const inMinute = (back: number): Date =>
    new Date((Math.floor(now / minute) - back) * minute + (back === 0 ? now % minute : 30_000));

  it('names an outage, its start and its last error beside an hour that is mostly good', async () => {
    await record('orders', 300, { recordedAt: ago(30 * minute) });
    await record('orders', 7, { recordedAt: new Date(inMinute(4).getTime() - 1) });
    for (const back of [4, 3, 2, 1]) await record('orders', 5, { ...failure, recordedAt: inMinute(back) });
    await record('orders', 2, { status: 'error', errorType: 'tool_error', recordedAt: inMinute(1) });
    await record('fine', 5, { recordedAt: inMinute(1) });
    const outage = {
      calls: 27,
      failures: 20,
      failureRate: 0.7407,
      p95LatencyMs: 0,
      failingSince: inMinute(4).toISOString(),
      recoveringSince: null,
      callsSince: 20,
      failuresSince: 20,
      callersSince: 1,
      findings: 0,
      lastError: {
        at: inMinute(1).toISOString(),
        executionId: expect.any(String),
        errorType: 'tool_crashed',
        message: 'it crashed',
      },
    };
    expect(await health.checkToolHealth('orders')).toMatchObject({ status: 'degraded' });
    expect(await nowOf('orders')).toEqual(outage);
    const { toolReports } = await health.checkAllToolsHealth();
    expect(toolReports.map((report) => [report.toolName, report.now])).toEqual([
      ['fine', expect.objectContaining({ calls: 5, failures: 0, failingSince: null, lastError: null })],
      ['orders', outage],
    ]);
    expect((await request('GET', '/orders')).body).toMatchObject({ toolName: 'orders', now: outage });
  });

  it('says that it recovers while the grade of the hour is still bad', async () => {
    for (const back of [9, 8, 7]) await record('orders', 10, { ...failure, recordedAt: inMinute(back) });
    for (const back of [6, 5, 2]) await record('orders', 10, { recordedAt: inMinute(back) });
    expect(await health.reportTool('orders')).toMatchObject({
      status: 'unhealthy',
      now: {
        failures: 0,
        failingSince: null,
        recoveringSince: inMinute(7).toISOString(),
        callsSince: 30,
        failuresSince: 0,
        lastError: { message: 'it crashed' },
      },
    });
  });

  it('keeps the moment of the last failure, however long nobody called afterwards', async () => {
    await record('orders', 20, { ...failure, recordedAt: inMinute(9) });
    await record('orders', 2, { recordedAt: new Date(inMinute(9).getTime() + 1) });
    const recoveringSince = inMinute(9).toISOString();
    expect(await nowOf('orders')).toMatchObject({ recoveringSince, callsSince: 2, failuresSince: 0 });
    await record('orders', 16, { recordedAt: inMinute(2) });
    expect(await nowOf('orders')).toMatchObject({ recoveringSince, callsSince: 18, failuresSince: 0 });
  });

  it('counts no failure of the outage in the minute in which it ended', async () => {
    await record('orders', 20, { ...failure, recordedAt: inMinute(9) });
    const end = inMinute(8);
    await record('orders', 1, { ...failure, recordedAt: end });
    await record('orders', 30, { recordedAt: new Date(end.getTime() + 1) });
    const recovered = { recoveringSince: end.toISOString(), callsSince: 30, failuresSince: 0 };
    expect(await nowOf('orders')).toMatchObject(recovered);
    await record('orders', 1, { ...failure, recordedAt: inMinute(5) });
    expect(await nowOf('orders')).toMatchObject({ callsSince: 32, failuresSince: 2 });
  });

  it('begins with the last failed probe of an open circuit, though successes follow in its minute', async () => {
    await record('orders', 20, { ...failure, recordedAt: inMinute(9) });
    for (const back of [8, 6]) await record('orders', 1, { ...failure, recordedAt: inMinute(back) });
    await record('orders', 30, { recordedAt: new Date(inMinute(6).getTime() + 1) });
    await record('orders', 50, { recordedAt: inMinute(3) });
    const recoveringSince = inMinute(6).toISOString();
    expect(await nowOf('orders')).toMatchObject({ recoveringSince, callsSince: 80, failuresSince: 0 });
    await record('orders', 1, { ...failure, recordedAt: inMinute(2) });
    expect(await nowOf('orders')).toMatchObject({ recoveringSince: minuteOf(inMinute(6)) });
  });

  it.each([
    ['three failures in a row end it', 0, 3, 'failing'],
    ['two may be chance', 0, 2, 'recovering'],
    ['three may be chance where a fifth fails', 20, 3, 'recovering'],
    ['eight are none', 20, 8, 'failing'],
  ])('a recovery in which all newest calls fail: %s', async (_, failuresBefore, inARow, state) => {
    await record('orders', 60, { ...failure, recordedAt: inMinute(40) });
    for (const back of [30, 20]) {
      await record('orders', failuresBefore, { ...failure, recordedAt: inMinute(back) });
      await record('orders', 100 - failuresBefore, { recordedAt: new Date(inMinute(back).getTime() + 1) });
    }
    // The minute of the second outage has many successes before it.
    await record('orders', 50, { recordedAt: inMinute(1) });
    expect(await nowOf('orders')).toMatchObject({ failingSince: null, recoveringSince: expect.any(String) });
    const again = new Date(inMinute(1).getTime() + 1);
    await record('orders', inARow, { ...failure, recordedAt: again });
    const outage = { callsSince: inARow, failuresSince: inARow, callersSince: 1, recoveringSince: null };
    expect(await nowOf('orders')).toMatchObject(
      state === 'failing'
        ? { failingSince: again.toISOString(), ...outage }
        : { failingSince: null, recoveringSince: expect.any(String) },
    );
    await record('orders', 1, { recordedAt: new Date(again.getTime() + 1) });
    expect(await nowOf('orders')).toMatchObject({ failingSince: null, recoveringSince: expect.any(String) });
  });

  it('leaves a steady share of failures at its threshold to the grade', async () => {
    for (const [back, failures] of [1, 3, 2, 1, 4, 2, 1, 3, 2].entries()) {
      await record('weather', failures, { ...failure, recordedAt: inMinute(back) });
      await record('weather', 10 - failures, { recordedAt: inMinute(back) });
    }
    expect(await health.reportTool('weather')).toMatchObject({
      status: 'unhealthy',
      now: { failingSince: null, recoveringSince: null, lastError: null },
    });
  });

  it('recovers with the first success after a total outage, within the minute of its last failure', async () => {
    await record('orders', 20, { ...failure, recordedAt: inMinute(1) });
    expect(await nowOf('orders')).toMatchObject({ recoveringSince: null, callsSince: 20 });
    await record('orders', 1, { recordedAt: new Date(inMinute(1).getTime() + 1) });
    expect(await nowOf('orders')).toMatchObject({
      failingSince: null,
      recoveringSince: inMinute(1).toISOString(),
      callsSince: 1,
      failuresSince: 0,
    });
  });

  it('dates an outage of more than an hour from its beginning', async () => {
    await record('orders', 5, { recordedAt: ago(4 * hour) });
    for (const back of [170, 120, 58, 30, 1])
      await record('orders', 3, { ...failure, recordedAt: inMinute(back) });
    expect(await nowOf('orders')).toMatchObject({
      failingSince: inMinute(170).toISOString(),
      failuresSince: 15,
    });
  });

  it('has zeros for a tool without calls', async () => {
    expect(await nowOf('nobody')).toMatchObject({
      calls: 0,
      failures: 0,
      p95LatencyMs: null,
      lastError: null,
    });
  });
});

describe('a tool at its threshold', () => {
  const changes = (): string[] => {
    const heard: string[] = [];
    app.get(HealthEvents).subscribe(({ from, to }) => heard.push(`${from} ${to}`));
    return heard;
  };

  it('emits one change, when it has lasted two minutes', async () => {
    const heard = changes();
    await record('search', 95, { recordedAt: ago(50 * minute) });
    await record('search', 5, { ...failure, recordedAt: ago(50 * minute) });
    await health.updateGrades();
    const healthySince = (await health.checkToolHealth('search')).why[0]?.since;
    for (let step = 0; step < 6; step++) {
      // 94.9 % and 95.0 % in turn.
      await record('search', step % 2 === 0 ? 1 : 19, step % 2 === 0 ? failure : {});
      later += minute;
      const { status, why } = await health.checkToolHealth('search');
      expect([status, why[0]?.since]).toEqual(
        step % 2 === 0 ? ['degraded', null] : ['healthy', healthySince],
      );
    }
    expect(heard).toEqual(['unknown healthy']);
    await record('search', 1, failure);
    const seen = new Date(now + later).toISOString();
    await health.updateGrades();
    later += 2 * minute;
    expect(await health.checkToolHealth('search')).toMatchObject({ why: [{ since: seen }] });
    expect(heard).toEqual(['unknown healthy', 'healthy degraded']);
  });

  it('emits a clear change at once, and keeps its start through an improvement', async () => {
    const heard = changes();
    await record('search', 20);
    await health.updateGrades();
    await record('search', 20, failure);
    const { why } = await health.checkToolHealth('search');
    expect(why).toMatchObject([{ figure: 0.5, since: checkedAt }]);
    await record('search', 150);
    later = minute;
    expect(await health.checkToolHealth('search')).toMatchObject({
      status: 'degraded',
      why: [{ since: checkedAt }],
    });
    expect(heard).toEqual(['unknown healthy', 'healthy unhealthy', 'unhealthy degraded']);
  });

  it('goes on with the bad period from before the start of the server', async () => {
    const grades = [
      ['unknown', 'healthy', ago(50 * minute)],
      ['healthy', 'degraded', ago(40 * minute)],
      ['degraded', 'unhealthy', ago(30 * minute)],
    ];
    for (const values of grades)
      await db.dataSource.query(
        `INSERT INTO grade_changes (tool, from_status, to_status, why, at) VALUES ('search', $1, $2, '', $3)`,
        values,
      );
    await record('search', 20, failure);
    await app.init();
    expect(await health.checkToolHealth('search')).toMatchObject({
      status: 'unhealthy',
      why: [{ since: ago(40 * minute).toISOString() }],
    });
  });
});

describe('checkAllToolsHealth', () => {
  it('reports registered and executed tools by name; unknown ones do not lower the whole', async () => {
    health.setRegisteredTools(['b_registered', 'c_tried']);
    await record('a_healthy', 5);
    await record('d_old', 5, { recordedAt: ago(48 * hour) });
    await record('c_tried', 5, { isTest: true });
    const { status, summary, toolReports } = await health.checkAllToolsHealth();
    expect(status).toBe('healthy');
    expect(summary).toEqual({ healthy: 1, degraded: 0, unhealthy: 0, unknown: 3 });
    expect(
      toolReports.map(({ toolName, issues, recommendations }) => [toolName, issues, recommendations]),
    ).toEqual([
      ['a_healthy', [], []],
      ['b_registered', ['No execution history'], ['Tool has not been executed yet']],
      ['c_tried', ['No execution history'], ['Tool has not been executed yet']],
      ['d_old', ['Insufficient data (0 calls)'], ['Need more usage data for accurate assessment']],
    ]);
  });

  it('tells the course of the calls of each tool, when it was used last, and its limits', async () => {
    await record('search', 3, { recordedAt: ago(2 * minute) });
    await record('search', 2, { ...failure, recordedAt: ago(50 * minute) });
    await record('search', 4, { recordedAt: ago(90 * minute) });
    health.setRegisteredTools(['idle']);
    const { toolReports } = await health.checkAllToolsHealth();
    const [idle, search] = toolReports;
    expect(idle).toMatchObject({ toolName: 'idle', lastUsed: null, trend: null });
    expect(search).toMatchObject({
      minSuccessRate: 0.95,
      maxAvgLatencyMs: 2_000,
      lastUsed: ago(2 * minute).toISOString(),
    });
    const { bucketMs, calls = [], failures = [] } = search?.trend ?? {};
    expect([bucketMs, calls.length, failures.length]).toEqual([120_000, 30, 30]);
    expect(calls.slice(0, 10).reduce((sum, each) => sum + each)).toBe(2);
    expect(calls.slice(-3).reduce((sum, each) => sum + each)).toBe(3);
    expect(failures.reduce((sum, each) => sum + each)).toBe(2);
  });
});

describe('getErrorPatterns', () => {
  const seen = (since: number, example: string) => {
    const at = ago(since).toISOString();
    return { firstSeen: at, lastSeen: at, example, executionId: expect.any(String) };
  };

  it('counts all failures of the period', async () => {
    await record('search', 1, { ...failure, recordedAt: ago(48 * hour) });
    await record('search', 3, { ...failure, recordedAt: ago(50 * minute) });
    await record('search', 2, { ...timeout, recordedAt: ago(2 * minute) });
    await record('search', 1, { status: 'error', recordedAt: ago(minute) });
    await record('search', 9);
    expect(await health.getErrorPatterns('search')).toEqual({
      toolName: 'search',
      totalErrors: 6,
      patterns: [
        { errorType: 'tool_crashed', count: 3 },
        { errorType: 'timeout', count: 2 },
        { errorType: 'unknown', count: 1 },
      ],
      recentMessages: ['no answer', 'no answer', 'it crashed', 'it crashed'],
      messages: [
        { errorType: 'tool_crashed', message: 'it crashed', count: 3, ...seen(50 * minute, 'it crashed') },
        { errorType: 'timeout', message: 'no answer', count: 2, ...seen(2 * minute, 'no answer') },
        { errorType: 'unknown', message: '', count: 1, ...seen(minute, '') },
      ],
    });
    expect(await health.getErrorPatterns('search', 1, 49)).toMatchObject({
      totalErrors: 7,
      messages: [{ count: 4, firstSeen: ago(48 * hour).toISOString() }],
    });
    expect(await health.getErrorPatterns('nobody')).toMatchObject({
      totalErrors: 0,
      patterns: [],
      recentMessages: [],
    });
  });

  it('folds what differs from one failure to the next, however many there are', async () => {
    const rows = Array.from({ length: 6_000 }, (_, n) =>
      newToolMetric({
        toolName: 'search',
        ...failure,
        errorMessage: `no row ${n} in /tables/${n}`,
        recordedAt: ago(n),
      }),
    );
    await insertBatch(db.dataSource, rows, 0);
    await record('search', 2, { ...timeout, errorMessage: 'no answer in 5 s' });
    const { totalErrors, recentMessages, messages } = await health.getErrorPatterns('search');
    expect(totalErrors).toBe(6_002);
    expect(recentMessages).toHaveLength(5);
    expect(messages).toMatchObject([
      {
        errorType: 'tool_crashed',
        message: 'no row <n> in <path>',
        count: 6_000,
        firstSeen: ago(5_999).toISOString(),
        lastSeen: checkedAt,
        example: 'no row 0 in /tables/0',
        executionId: rows[0]?.metricId,
      },
      { errorType: 'timeout', message: 'no answer in <n> s', count: 2 },
    ]);
  });
});

describe('summaries', () => {
  it('getDashboardSummary names what needs attention in the last hour and the slowest of all time', async () => {
    health.setRegisteredTools(['c_idle']);
    await record('a_well', 5, { recordedAt: ago(50 * minute) });
    await record('a_well', 50, { ...failure, recordedAt: ago(70 * minute) });
    await record('b_slow', 5, { executionTimeMs: 4_999 });
    await record('d_slowest', 6, { executionTimeMs: 8_000, recordedAt: ago(72 * hour) });
    await record('d_slowest', 6, { executionTimeMs: 5_000, recordedAt: ago(72 * hour) });
    const { toolsNeedingAttention, slowExecutions, ...rest } = await health.getDashboardSummary();
    expect(rest).toEqual({
      overallStatus: 'degraded',
      summary: { healthy: 1, degraded: 1, unhealthy: 0, unknown: 2 },
      checkedAt,
    });
    expect(toolsNeedingAttention.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['b_slow', 'degraded'],
      ['c_idle', 'unknown'],
      ['d_slowest', 'unknown'],
    ]);
    expect(slowExecutions.map(({ executionTimeMs }) => executionTimeMs)).toEqual([
      ...Array<number>(6).fill(8_000),
      ...Array<number>(4).fill(5_000),
    ]);
    expect(await health.getDashboardSummary(24)).toMatchObject({ overallStatus: 'unhealthy' });
    expect(slowExecutions[0]).toEqual({
      toolName: 'd_slowest',
      executionTimeMs: 8_000,
      recordedAt: ago(72 * hour).toISOString(),
    });
  });

  it('getHealthSummary says when each tool was last used', async () => {
    health.setRegisteredTools(['idle']);
    await record('search', 4, { executionTimeMs: 150 });
    await record('search', 1, { ...failure, executionTimeMs: 151 });
    await record('old', 1, { recordedAt: ago(48 * hour) });
    expect(await health.getHealthSummary()).toEqual({
      overallStatus: 'degraded',
      tools: {
        idle: {
          status: 'unknown',
          successRate: 0,
          lastUsed: null,
          avgLatencyMs: 0,
          totalCalls: 0,
          recentErrors: 0,
        },
        old: {
          status: 'unknown',
          successRate: 0,
          lastUsed: ago(48 * hour).toISOString(),
          avgLatencyMs: 0,
          totalCalls: 0,
          recentErrors: 0,
        },
        search: {
          status: 'degraded',
          successRate: 0.8,
          lastUsed: ago(minute).toISOString(),
          avgLatencyMs: 150.2,
          totalCalls: 5,
          recentErrors: 1,
        },
      },
      checkedAt,
    });
  });
});

describe('getToolHealth', () => {
  it('has the grade of the last hour, totals of 24 hours and results of the last 100 executions', async () => {
    await record('search', 60, { recordedAt: ago(48 * hour), ...failure });
    await record('search', 45, { executionTimeMs: 10, recordedAt: ago(3 * minute) });
    await record('search', 5, { ...timeout, executionTimeMs: 20, recordedAt: ago(2 * minute) });
    expect(await health.getToolHealth('search')).toEqual({
      status: 'degraded',
      totalCalls: 50,
      successfulCalls: 45,
      failedCalls: 55,
      successRate: 0.9,
      avgLatencyMs: 11,
      lastSuccess: ago(3 * minute).toISOString(),
      lastFailure: ago(2 * minute).toISOString(),
      lastError: 'no answer',
    });
  });

  it('has no last failure of a tool that never failed, and no last success of one that always did', async () => {
    await record('well', 1);
    await record('ill', 1, { status: 'error', toolFault: true });
    expect(await health.getToolHealth('well')).toMatchObject({
      lastFailure: null,
      lastError: null,
      failedCalls: 0,
    });
    expect(await health.getToolHealth('ill')).toMatchObject({
      lastSuccess: null,
      lastError: null,
      failedCalls: 1,
    });
  });
});

describe('recordExecution', () => {
  it('writes one metric', async () => {
    const written = await health.recordExecution({
      toolName: 'search',
      userId: 'user-123',
      sessionId: 'sess-456',
      executionTimeMs: 150,
    });
    expect(written).toMatchObject({ status: 'success', toolFault: false, recordedAt: new Date(now) });
    await health.recordExecution({
      toolName: 'search',
      userId: 'user-123',
      status: 'error',
      errorType: 'validation',
    });
    await health.recordExecution({
      toolName: 'search',
      userId: 'user-123',
      status: 'error',
      errorType: 'cancelled',
    });
    const rows = await metrics.getExecutions({ tool: 'search', limit: 100 });
    expect(
      rows.map(({ userId, status, errorType, toolFault }) => [userId, status, errorType, toolFault]),
    ).toEqual(
      expect.arrayContaining([
        ['user-123', 'success', null, false],
        ['user-123', 'error', 'validation', true],
        ['user-123', 'error', 'cancelled', false],
      ]),
    );
    expect(await metrics.getExecution(written.metricId)).toMatchObject({
      sessionId: 'sess-456',
      executionTimeMs: 150,
    });
  });
});

describe('over REST', () => {
  it('answers for all tools, static names before tool names', async () => {
    await record('search', 5, { recordedAt: ago(2 * hour) });
    const all = await request('GET', '?periodHours=3');
    expect(all).toMatchObject({ status: 200, body: { status: 'healthy', summary: { healthy: 1 } } });
    expect(await request('GET', '')).toMatchObject({ body: { status: 'unknown' } });
    for (const path of ['/dashboard', '/summary']) {
      expect(await request('GET', path)).toMatchObject({ status: 200, body: { overallStatus: 'unknown' } });
      const earlier = await request('GET', `${path}?periodHours=3`);
      expect(earlier).toMatchObject({ status: 200, body: { overallStatus: 'healthy' } });
    }
    expect(await request('GET', '/search/info')).toMatchObject({
      body: { status: 'unknown', totalCalls: 5 },
    });
  });

  it('answers for one tool', async () => {
    await record('search', 5, failure);
    expect(await request('GET', '/search')).toMatchObject({ status: 200, body: { status: 'unhealthy' } });
    expect(await request('GET', '/search?periodHours=24')).toMatchObject({
      status: 200,
      body: { totalCalls: 5 },
    });
    expect(await request('GET', '/nobody')).toMatchObject({ status: 200, body: { status: 'unknown' } });
    const patterns = await request('GET', '/search/error-patterns?limit=2&periodHours=2');
    expect(patterns).toMatchObject({ status: 200, body: { totalErrors: 5 } });
    expect(await request('GET', '/search/info')).toMatchObject({ status: 200, body: { failedCalls: 5 } });
    expect(await request('GET', '/nobody/info')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it.each([
    ['?periodHours=0', '/periodHours'],
    ['?periodHours=soon', '/periodHours'],
    ['/search?periodHours=1.5', '/periodHours'],
    ['/search?hours=1', '/hours'],
    ['/search/error-patterns?limit=0', '/limit'],
    [`/${'x'.repeat(65)}?periodHours=9999`, '/periodHours'],
  ])('refuses %s and names the field', async (path, pointer) => {
    const { status, body } = await request('GET', path);
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'invalid_request' });
    const errors = body['errors'] as { pointer: string }[];
    expect(new Set(errors.map((error) => error.pointer))).toEqual(new Set([pointer]));
  });

  it('shows a circuit and lets it be overridden', async () => {
    known.set([{ name: 'search' }]);
    expect(await request('GET', '/search/circuit')).toMatchObject({ status: 200, body: { state: 'closed' } });
    const opened = await request('POST', '/search/circuit/open', { by: 'alice', reason: 'maintenance' });
    expect(opened).toMatchObject({
      status: 200,
      body: { state: 'open', by: 'alice', reason: 'maintenance', heldByHand: true, nextProbeAt: null },
    });
    expect(await request('POST', '/search/circuit/close')).toMatchObject({
      status: 200,
      body: { state: 'closed', by: 'operator', reason: 'Closed by hand', heldByHand: false },
    });
    expect(await request('POST', '/search/circuit/reset', {})).toMatchObject({
      status: 200,
      body: { state: 'closed', history: [{ to: 'open' }, { to: 'closed' }, { to: 'closed' }] },
    });
    const { body } = await request('GET', '/search/circuit?limit=2');
    expect(body).toMatchObject({
      historyComplete: true,
      history: [
        { from: 'open', to: 'closed', by: 'operator', reason: 'Closed by hand', at: checkedAt },
        { from: 'closed', to: 'closed', by: 'operator', reason: 'Reset by hand', at: checkedAt },
      ],
    });
  });

  it('shows a circuit, and obeys, while its history cannot be read', async () => {
    known.set([{ name: 'search' }]);
    await request('GET', '/search/circuit');
    await db.dataSource.query('ALTER TABLE circuit_transitions RENAME TO elsewhere');
    expect(await request('POST', '/search/circuit/open', {})).toMatchObject({
      status: 200,
      body: { state: 'open', history: [{ to: 'open' }], historyComplete: false },
    });
    await db.dataSource.query('ALTER TABLE elsewhere RENAME TO circuit_transitions');
    expect(await request('GET', '/search/circuit')).toMatchObject({
      body: { state: 'open', history: [{ to: 'open', by: 'operator' }], historyComplete: true },
    });
  });

  it("advises by the count of errors, with the tool's own thresholds as defaults", async () => {
    await record('search', 6, failure);
    const advice = { tool: 'search', errors: 6, errorThreshold: 5, windowMinutes: 5, shouldBreak: true };
    expect(await request('GET', '/search/circuit/advice')).toEqual({ status: 200, body: advice });
    known.set([{ name: 'search', thresholds: { errorThreshold: 7, windowMinutes: 10 } }]);
    expect(await request('GET', '/search/circuit/advice')).toEqual({
      status: 200,
      body: { ...advice, errorThreshold: 7, windowMinutes: 10, shouldBreak: false },
    });
    const asked = await request('GET', '/search/circuit/advice?errorThreshold=6&windowMinutes=1');
    expect(asked.body).toMatchObject({ errorThreshold: 6, windowMinutes: 1, shouldBreak: true });
  });

  it('refuses to override with a bad reason, or the circuit of no tool', async () => {
    known.set([{ name: 'search' }]);
    expect(await request('POST', '/search/circuit/open', { reason: 7 })).toMatchObject({
      status: 400,
      body: { errors: expect.arrayContaining([expect.objectContaining({ pointer: '/reason' })]) },
    });
    expect(await request('GET', '/search/circuit')).toMatchObject({ body: { state: 'closed' } });
    for (const action of ['open', 'close', 'reset']) {
      expect(await request('POST', `/nobody/circuit/${action}`, {})).toMatchObject({ status: 404 });
    }
    expect(await request('GET', '/nobody/circuit')).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });
});

describe('circuits', () => {
  it('take over the last window from the database at start; test calls and interrupted calls do not count', async () => {
    await record('failing', 5, { ...failure, recordedAt: ago(10_000) });
    await record('interrupted', 5, { status: 'error', errorType: 'interrupted', recordedAt: ago(10_000) });
    await record('tried', 5, { ...failure, isTest: true, recordedAt: ago(10_000) });
    await record('recovered', 5, { ...failure, recordedAt: ago(20_000) });
    await record('recovered', 3, { recordedAt: ago(10_000) });
    known.set(['failing', 'interrupted', 'tried', 'recovered'].map((name) => ({ name })));
    expect(await request('GET', '/failing/circuit')).toMatchObject({
      body: { state: 'open', nextProbeAt: new Date(now + 20_000).toISOString(), faultsInWindow: 5 },
    });
    for (const tool of ['interrupted', 'tried']) {
      expect(await request('GET', `/${tool}/circuit`)).toMatchObject({
        body: { state: 'closed', callsInWindow: 0 },
      });
    }
    expect(await request('GET', '/recovered/circuit')).toMatchObject({
      body: { state: 'closed', faultsInWindow: 5 },
    });
  });

  const anew = async (): Promise<void> => {
    await app.close();
    if (!db.dataSource.isInitialized) await db.dataSource.initialize();
    await startApp();
    known.set([{ name: 'search' }]);
  };

  it('stay open by hand across a restart, and closed by hand in spite of the faults before', async () => {
    known.set([{ name: 'search' }]);
    await request('POST', '/search/circuit/open', { by: 'alice', reason: 'maintenance' });
    await anew();
    expect(await request('GET', '/search/circuit')).toMatchObject({
      body: {
        state: 'open',
        heldByHand: true,
        by: 'alice',
        reason: 'maintenance',
        history: [{ to: 'open' }],
      },
    });
    await record('search', 9, { ...failure, recordedAt: ago(10_000) });
    await request('POST', '/search/circuit/close', {});
    await anew();
    expect(await request('GET', '/search/circuit')).toMatchObject({
      body: { state: 'closed', faultsInWindow: 0, history: [{ to: 'open' }, { to: 'closed' }] },
    });
  });

  it('forget their history with the metrics of its time, but never who holds one open', async () => {
    const transitions = app.get(CircuitTransitionsRepository);
    const old = (tool: string, to: 'open' | 'closed', by: string | null) => ({
      id: newId(),
      tool,
      from: 'closed' as const,
      to,
      reason: 'long ago',
      by,
      at: now - 31 * 24 * hour,
      openings: 1,
    });
    await transitions.insert([
      old('held', 'closed', 'alice'),
      old('held', 'open', 'alice'),
      old('held', 'open', null),
      old('held', 'closed', null),
      { ...old('held', 'open', null), at: now, openings: 4 },
      old('calm', 'open', null),
      old('calm', 'closed', null),
    ]);
    await transitions.deleteOlder(ago(30 * 24 * hour));
    expect((await transitions.newest('held', 10)).map(({ to, by }) => [to, by])).toEqual([
      ['open', 'alice'],
      ['open', null],
    ]);
    expect(await transitions.newest('calm', 10)).toHaveLength(1);
    expect((await transitions.histories()).get('held')).toMatchObject({
      last: { to: 'open', openings: 4 },
      held: { by: 'alice', reason: 'long ago' },
    });
  });

  it('write a transition once, however often its batch is repeated', async () => {
    const transitions = app.get(CircuitTransitionsRepository);
    const one = {
      id: newId(),
      tool: 'search',
      from: 'closed',
      to: 'open',
      reason: 'r\0',
      by: 'a',
      at: now,
      openings: 2,
    } as const;
    await transitions.insert([one]);
    await transitions.insert([one]);
    expect(await transitions.newest('search', 10)).toEqual([{ ...one, reason: 'r\uFFFD' }]);
  });

  const say = (times: number, end: Partial<ExecutedCall> & Pick<ExecutedCall, 'status' | 'fault'>) => {
    for (let n = 0; n < times; n++) {
      const context = { userId: 'u', requestId: 'r', projectId: 'default' };
      const call = { executionId: newId(), tool: 'search', executionTimeMs: 10, at: now, context, input: {} };
      app.get(CallEvents).emit({ kind: 'executed', ...call, test: false, probe: false, ...end });
    }
  };
  const timedOut = { status: 'timeout', errorType: 'timeout', fault: true } as const;
  const circuitOf = async (tool: string) => (await request('GET', `/${tool}/circuit`)).body;

  it('hear what the recorder says of each tool', async () => {
    await app.init();
    say(5, timedOut);
    say(4, { ...timedOut, tool: 'other' });
    expect(await circuitOf('search')).toMatchObject({ state: 'open', opensAt: { faults: 5 } });
    expect(await circuitOf('other')).toMatchObject({ state: 'closed', faultsInWindow: 4 });
  });

  it.each<[string, number, Partial<ExecutedCall>]>([
    ["count the tool's own -32602 as the answer of a tool that lives", 6, { errorType: 'tool_error' }],
    ['ignore a caller who left', 0, { errorType: 'cancelled' }],
    ['ignore a gateway that died', 0, { errorType: 'interrupted' }],
    ['ignore an upstream that is away', 0, { errorType: 'upstream_unavailable' }],
    ['ignore test calls', 0, { ...timedOut, test: true }],
  ])('%s', async (_what, callsInWindow, end) => {
    known.set([{ name: 'search' }]);
    await app.init();
    say(6, { status: 'error', fault: false, ...end });
    expect(await circuitOf('search')).toMatchObject({ state: 'closed', faultsInWindow: 0, callsInWindow });
  });

  it("follow a tool's own thresholds, also when they change", async () => {
    known.set([{ name: 'search' }]);
    await app.init();
    say(3, timedOut);
    known.set([{ name: 'search', thresholds: { errorThreshold: 4, windowMinutes: 1 } }]);
    expect(await circuitOf('search')).toMatchObject({
      state: 'closed',
      faultsInWindow: 3,
      opensAt: { faults: 4, minFailureRate: 0.5, windowMs: 60_000 },
    });
    say(1, timedOut);
    expect(await circuitOf('search')).toMatchObject({ state: 'open' });
    known.set([{ name: 'search' }]);
    expect(await circuitOf('search')).toMatchObject({ opensAt: { faults: 5, windowMs: 300_000 } });
  });

  it('judge the past of a tool that is registered later by its own thresholds and window', async () => {
    await record('touchy', 2, { ...failure, recordedAt: ago(10_000) });
    await record('patient', 10, { ...failure, recordedAt: ago(10_000) });
    await record('slow', 4, { ...failure, recordedAt: ago(50 * minute) });
    await record('slow', 1, failure);
    await app.init();
    known.set([
      { name: 'touchy', thresholds: { errorThreshold: 2 } },
      { name: 'patient', thresholds: { errorThreshold: 50 } },
      { name: 'slow', thresholds: { windowMinutes: 60 } },
    ]);
    expect(await circuitOf('touchy')).toMatchObject({ state: 'open', faultsInWindow: 2 });
    expect(await circuitOf('patient')).toMatchObject({ state: 'closed', faultsInWindow: 10 });
    const slow = await until(
      async () => {
        const body = await circuitOf('slow');
        return body['faultsInWindow'] === 5 && body;
      },
      { what: 'the longer past to be read' },
    );
    expect(slow).toMatchObject({ state: 'half_open' });
  });

  it('that are held open can be closed while their tool is disabled', async () => {
    known.set([{ name: 'search' }]);
    await request('POST', '/search/circuit/open', { by: 'alice', reason: 'maintenance' });
    await anew();
    known.set([]);
    expect(await circuitOf('search')).toMatchObject({ state: 'open', heldByHand: true });
    await request('POST', '/search/circuit/close', {});
    expect(await circuitOf('search')).toMatchObject({ state: 'closed' });
  });

  it('start closed when their past cannot be read', async () => {
    await db.dataSource.query('ALTER TABLE circuit_transitions RENAME TO elsewhere');
    known.set([{ name: 'search' }]);
    expect(await circuitOf('search')).toMatchObject({ state: 'closed', historyComplete: false });
  });

  it('of tools that are gone make room, but for those that are held open', async () => {
    known.set([{ name: 'decided' }]);
    await app.init();
    const circuits = app.get(CircuitBreakers);
    await circuits.override('decided', 'openByHand', { by: 'alice', reason: 'maintenance' });
    known.set([]);
    for (let n = 0; n < 10_001; n++) circuits.admit(`gone-${n}`, 'call');
    expect(await request('GET', '/gone-0/circuit')).toMatchObject({ status: 404 });
    expect(await circuitOf('gone-10000')).toMatchObject({ state: 'closed' });
    expect(await circuitOf('decided')).toMatchObject({ state: 'open', heldByHand: true });
  });

  it('of registered tools are figures', async () => {
    known.set([{ name: 'search' }, { name: 'idle' }]);
    await app.listen(0, '127.0.0.1');
    say(5, timedOut);
    say(5, { ...timedOut, tool: 'gone' });
    const text = await (await fetch(`${await app.getUrl()}/metrics`)).text();
    for (const line of [
      'toolkeeper_circuit_state{tool="search",state="open"} 1',
      'toolkeeper_circuit_state{tool="search",state="closed"} 0',
      'toolkeeper_circuit_state{tool="idle",state="closed"} 1',
      'toolkeeper_circuit_transitions_total{tool="search",to="open"} 1',
      'toolkeeper_circuit_transitions_total{tool="idle",to="open"} 0',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toContain('gone');
  });
});
