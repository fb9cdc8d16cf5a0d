import fc from 'fast-check';
import { newId } from '../../src/base/common/ids.js';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { LatencyHistogram } from '../../src/records/executions/queries/tool-figures.js';
import { MetricPartitions } from '../../src/records/executions/rollups/metric-partitions.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const hour = 3_600_000;
const day = 24 * hour;
/** 00:00 UTC of a day that has a partition, and beyond the days that have none. */
const today = Math.floor(Date.now() / day) * day;

type Row = Pick<
  ToolMetric,
  | 'toolName'
  | 'status'
  | 'errorType'
  | 'executionTimeMs'
  | 'inputSize'
  | 'outputSize'
  | 'isTest'
  | 'toolFault'
> & { readonly at: number; readonly wrong: boolean };

/** The statistics, counted from the plain list: no cell, no bucket, none of the program's code. */
function naive(rows: readonly Row[], tool: string, since: number, until: number) {
  const of = rows.filter((row) => row.toolName === tool && !row.isTest && row.at >= since && row.at <= until);
  const times = of.map((row) => row.executionTimeMs).sort((a, b) => a - b);
  const count = (status: string): number => of.filter((row) => row.status === status).length;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const types: Record<string, number> = {};
  for (const { status, errorType } of of) {
    if (status !== 'success') types[errorType ?? 'unknown'] = (types[errorType ?? 'unknown'] ?? 0) + 1;
  }
  return {
    times,
    figures: {
      totalCalls: of.length,
      successCount: count('success'),
      errorCount: count('error'),
      timeoutCount: count('timeout'),
      successRate: count('success') / of.length,
      minTimeMs: times[0],
      maxTimeMs: times.at(-1),
      totalInputBytes: sum(of.map((row) => row.inputSize)),
      totalOutputBytes: sum(of.map((row) => row.outputSize)),
      semanticFailureCount: of.filter((row) => row.wrong).length,
      findingCount: of.filter((row) => row.wrong).length,
      errorTypes: types,
    },
    callerErrors: of.filter(
      ({ status, errorType, toolFault }) =>
        status !== 'success' &&
        !toolFault &&
        ['tool_error', 'timeout', 'cancelled'].includes(errorType ?? ''),
    ).length,
    average: sum(times) / of.length,
  };
}

const rowsOf = fc.array(
  fc.record({
    toolName: fc.constantFrom('a', 'b'),
    status: fc.constantFrom('success', 'success', 'error', 'timeout', 'strange'),
    errorType: fc.constantFrom(null, 'tool_error', 'timeout', 'cancelled', 'upstream_unavailable'),
    toolFault: fc.boolean(),
    executionTimeMs: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 2_147_483_647 })),
    inputSize: fc.nat(2_147_483_647),
    outputSize: fc.nat(1_000),
    isTest: fc.constantFrom(false, false, false, true),
    wrong: fc.constantFrom(false, false, true),
    // Around borders of minutes, hours and days, and anywhere in four days.
    at: fc.oneof(
      fc
        .tuple(
          fc.constantFrom(60_000, 600_000, hour, 6 * hour, day),
          fc.nat(20),
          fc.integer({ min: -2, max: 2 }),
        )
        .map(([span, times, off]) => today - day + ((span * times) % (3 * day)) + off),
      fc.integer({ min: today - 2 * day, max: today + 2 * day }),
    ),
  }),
  { minLength: 1, maxLength: 60 },
);

/** real: PostgreSQL, the statement that journals write with */
describe('statistics', () => {
  let database: TestDatabase;
  let repository: ToolMetricsRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    repository = new ToolMetricsRepository(database.dataSource);
  });
  beforeEach(() => database.dataSource.query('TRUNCATE tool_metrics'));
  afterAll(() => database.release());

  /** In batches by several writers, some of them sent twice; then the marks. */
  async function write(rows: readonly Row[], size: number): Promise<void> {
    const metrics = rows.map((row) => ({
      ...newToolMetric({ ...row, recordedAt: new Date(row.at), metricId: newId(row.at) }),
      wrong: row.wrong,
    }));
    for (let i = 0; i < metrics.length; i += size) {
      const batch = metrics.slice(i, i + size);
      await insertBatch(database.dataSource, batch, i % 3);
      if (i % 2 === 0) await insertBatch(database.dataSource, batch, (i + 1) % 3);
    }
    for (const { metricId, wrong } of metrics) {
      if (wrong) for (const reason of ['no', 'wrong']) await repository.markSemanticFailure(metricId, reason);
      else if (metricId.endsWith('0')) {
        await repository.markSemanticFailure(metricId, 'by mistake');
        await repository.markSemanticFailure(metricId, null);
      }
    }
  }

  async function expectSame(rows: readonly Row[], from: number, to: number): Promise<void> {
    const [since, until] = [new Date(from), new Date(to)];
    const [all, none, some] = [
      await repository.getFigures(since, until, { latency: true }),
      await repository.getFigures(since, until, { latency: false }),
      await repository.getFigures(since, until, { latency: true, tools: ['b', 'c'] }),
    ];
    for (const tool of ['a', 'b']) {
      const { figures, callerErrors, times, average } = naive(rows, tool, from, to);
      const stats = await repository.getToolStats(tool, { since, until });
      expect(stats.totalCalls).toBe(times.length);
      const figuresOfAll = all.get(tool);
      if (!figuresOfAll) {
        for (const figuresOfTools of [none, some]) expect(figuresOfTools.has(tool)).toBe(false);
        expect(times).toHaveLength(0);
        continue;
      }
      expect(stats).toMatchObject(figures);
      const { firstMs, firstFailureMs, latency } = figuresOfAll;
      const counted = rows.filter(
        (row) => row.toolName === tool && !row.isTest && row.at >= from && row.at <= to,
      );
      const failed = counted.filter(({ status }) => status !== 'success');
      for (const [start, of] of [
        [firstMs, counted],
        [firstFailureMs, failed],
      ] as const) {
        const first = Math.min(...of.map(({ at }) => at));
        expect(start).toBeLessThanOrEqual(first);
        if (of.length > 0) expect(start).toBeGreaterThan(first - (to - from < day ? hour : day));
      }
      expect(Object.keys(stats.errorTypes ?? {}).length).toBe(Object.keys(figures.errorTypes).length);
      expect(Math.abs(stats.avgTimeMs - average)).toBeLessThan(0.005 + average * 1e-12);
      for (const [share, name] of [
        [0.5, 'p50TimeMs'],
        [0.95, 'p95TimeMs'],
        [0.99, 'p99TimeMs'],
      ] as const) {
        const exact = times[Math.ceil(share * times.length) - 1] ?? 0;
        expect(Math.abs((stats[name] ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.02);
      }
      const { totalCalls, successCount, errorCount, timeoutCount, successRate, avgTimeMs, findingCount } =
        stats;
      const counts = { totalCalls, successCount, errorCount, timeoutCount, findingCount };
      const graded = { ...counts, successRate, avgTimeMs };
      const withoutLatency = {
        ...graded,
        semanticFailureCount: stats.semanticFailureCount,
        callerErrors,
        firstMs,
        firstFailureMs,
      };
      const { p50TimeMs, p95TimeMs, p99TimeMs } = stats;
      const withLatency = { ...withoutLatency, p50TimeMs, p95TimeMs, p99TimeMs, latency };
      expect(all.get(tool)).toStrictEqual(withLatency);
      expect(none.get(tool)).toStrictEqual(withoutLatency);
      expect(some.get(tool)).toStrictEqual(tool === 'b' ? withLatency : undefined);
    }
  }

  it('are those of the plain rows, for any history and any period', async () => {
    await fc.assert(
      fc.asyncProperty(
        rowsOf,
        fc.integer({ min: 1, max: 25 }),
        fc.array(fc.tuple(fc.nat(99), fc.nat(99), fc.integer({ min: -1, max: 1 })), {
          minLength: 3,
          maxLength: 6,
        }),
        async (rows, size, periods) => {
          await database.dataSource.query('TRUNCATE tool_metrics');
          await write(rows, size);
          await expectSame(rows, today - 5 * day, today + 5 * day);
          for (const [from, to, off] of periods) {
            // Bounds lie on executions, or a millisecond beside them.
            const ends = [rows[from % rows.length]?.at ?? 0, (rows[to % rows.length]?.at ?? 0) + off];
            await expectSame(rows, Math.min(...ends), Math.max(...ends));
          }
        },
      ),
      { numRuns: 25, seed: 20_779 },
    );
  });

  it('stay those of the rows that are left when old ones are deleted, by whole days', async () => {
    await fc.assert(
      fc.asyncProperty(rowsOf, fc.nat(99), fc.integer({ min: 0, max: 1 }), async (rows, at, off) => {
        await database.dataSource.query('TRUNCATE tool_metrics');
        await write(rows, 7);
        const moment = (rows[at % rows.length]?.at ?? 0) + off;
        const cut = Math.floor(moment / day) * day;
        const partitions = new MetricPartitions(database.dataSource);
        const removed = await partitions.dropBefore(new Date(moment));
        expect(removed).toBe(rows.filter((row) => row.at < cut).length);
        await partitions.makeAhead(3);
        const left = rows.filter((row) => row.at >= cut);
        await expectSame(left, today - 5 * day, today + 5 * day);
        await expectSame(left, cut, cut + hour);
        const names = [...new Set(left.map((row) => row.toolName))].sort();
        expect(await repository.getAllToolNames()).toEqual(names);
      }),
      { numRuns: 25, seed: 20_779 },
    );
  });

  const latencyOf = async (tool: string, since: Date, until: Date): Promise<LatencyHistogram | undefined> =>
    (await repository.getFigures(since, until, { latency: true })).get(tool)?.latency;

  it('count on when many executions of one bucket meet, more than an entry holds', async () => {
    const entry = async (bucket: number, calls: number): Promise<Buffer> => {
      const [row] = await database.dataSource.query<{ entry: Buffer }[]>(
        'SELECT metric_latency_compacted(metric_latency_entry($1, $2) || metric_latency_entry($1, $2)) AS entry',
        [bucket, calls],
      );
      return row?.entry ?? Buffer.alloc(0);
    };
    for (const calls of [1, 524_288, 1_048_575, 1_048_576, 3e9, 2 ** 45 + 1]) {
      for (const bucket of [0, 1, 511, 548]) {
        expect(new LatencyHistogram().add(await entry(bucket, calls)).countFrom(0)).toBe(2 * calls);
      }
    }
  });

  it('say how many took at least a threshold', async () => {
    const times = Array.from({ length: 2_000 }, (_, i) => i * 3);
    await insertBatch(
      database.dataSource,
      times.map((executionTimeMs) => newToolMetric({ toolName: 'a', executionTimeMs })),
      0,
    );
    const stats = await latencyOf('a', new Date(today), new Date(Date.now() + 1_000));
    for (const threshold of [0, 1, 100, 2_000, 5_000]) {
      const [least, most] = [1.02, 0.98].map(
        (factor) => times.filter((time) => time >= threshold * factor).length,
      );
      expect(stats?.countFrom(threshold)).toBeGreaterThanOrEqual(least ?? 0);
      expect(stats?.countFrom(threshold)).toBeLessThanOrEqual(most ?? 0);
    }
    expect(stats?.countFrom(6_500)).toBe(0);
  });

  it('compact a cell that is written again and again, and lose nothing', async () => {
    const recordedAt = new Date(today + 1);
    for (let i = 0; i < 60; i += 1) {
      const times = Array.from({ length: 100 }, (_, j) => 100 + j * 10);
      await insertBatch(
        database.dataSource,
        times.map((executionTimeMs) => newToolMetric({ toolName: 'a', executionTimeMs, recordedAt })),
        0,
      );
    }
    const [cell] = await database.dataSource.query<{ size: number; calls: number }[]>(
      'SELECT length(latency) AS size, calls::int FROM tool_metric_rollups WHERE seconds = 86400',
    );
    expect(cell?.calls).toBe(6_000);
    expect(cell?.size).toBeLessThan(1_024 + 400);
    const stats = await latencyOf('a', recordedAt, recordedAt);
    const whole = await latencyOf('a', new Date(today), new Date(today + day));
    expect(whole).toEqual(stats);
  });
});
