import { Logger } from '@nestjs/common';
import { MetricPartitions } from '../../src/records/executions/rollups/metric-partitions.js';
import { insertBatch, newToolMetric } from '../../src/records/executions/execution-record.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const day = 86_400_000;
const today = Math.floor(Date.now() / day) * day;
const suffix = (start: number): string => new Date(start).toISOString().slice(0, 10).replaceAll('-', '');

/** real: PostgreSQL */
describe('the days of tool_metrics', () => {
  beforeAll(() => Logger.overrideLogger(false));

  let database: TestDatabase;
  let repository: ToolMetricsRepository;
  let partitions: MetricPartitions;

  beforeEach(async () => {
    database = await createTestDatabase();
    repository = new ToolMetricsRepository(database.dataSource);
    partitions = new MetricPartitions(database.dataSource);
  });
  afterEach(() => database.release());

  const record = (...times: number[]): Promise<void> =>
    insertBatch(
      database.dataSource,
      times.map((time) => newToolMetric({ toolName: 't', executionTimeMs: 5, recordedAt: new Date(time) })),
      0,
    );
  const tables = async (): Promise<string[]> => {
    const rows = await database.dataSource.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE relkind = 'r' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const totalOf = async (since: number, until: number): Promise<number> =>
    (await repository.getToolStats('t', { since: new Date(since), until: new Date(until) })).totalCalls;

  /** Days from today to so many ahead that are not there: the run's template may be of yesterday. */
  const missing = async (ahead: number): Promise<number> => {
    const made = await tables();
    const wanted = Array.from({ length: ahead + 1 }, (_, n) => suffix(Date.now() + n * day));
    return wanted.filter((each) => !made.includes(`tool_metrics_${each}`)).length;
  };

  it('are made ahead once, of executions and of what counts them', async () => {
    const last = suffix(Date.now() + 9 * day);
    const count = await missing(9);
    expect(count).toBeGreaterThan(0);
    expect(await partitions.makeAhead(9)).toBe(count);
    expect(await partitions.makeAhead(9)).toBe(0);
    expect(await tables()).toEqual(
      expect.arrayContaining([`tool_metrics_${last}`, `tool_metric_rollups_${last}`]),
    );
  });

  it('are made by two replicas at once', async () => {
    const count = await missing(12);
    expect(count).toBeGreaterThan(0);
    const made = await Promise.all([partitions.makeAhead(12), partitions.makeAhead(12)]);
    expect(made.reduce((sum, each) => sum + each)).toBe(count);
  });

  it('take over what had to wait in the default partition', async () => {
    const [first, second] = [today + 8 * day + 1, today + 9 * day + 2];
    await record(first, second, second);
    expect(await partitions.countInDefault()).toBe(3);
    await partitions.makeAhead(8);
    expect(await partitions.countInDefault()).toBe(2);
    await partitions.makeAhead(9);
    expect(await partitions.countInDefault()).toBe(0);
    expect(await totalOf(today, today + 20 * day)).toBe(3);
    expect(await totalOf(first, second - 1)).toBe(1);
  });

  it('go as a whole once all of it is old', async () => {
    for (const ago of [1, 2, 3]) {
      await database.dataSource.query('SELECT make_tool_metrics_day($1::date)', [
        new Date(today - ago * day).toISOString(),
      ]);
    }
    const now = Date.now();
    await record(now - 3 * day, today - 2 * day - 1, today - 2 * day, now - 2 * day, now - day, now);
    await expect(repository.cleanupOldMetrics(2)).resolves.toBe(2);
    expect(await tables()).not.toContain(`tool_metrics_${suffix(now - 3 * day)}`);
    expect(await tables()).not.toContain(`tool_metric_rollups_${suffix(now - 3 * day)}`);
    expect(await tables()).toContain(`tool_metrics_${suffix(now - 2 * day)}`);
    expect(await totalOf(now - 9 * day, now)).toBe(4);
  });

  it('two that clean at once, while others write and read, count each execution once', async () => {
    await database.dataSource.query('SELECT make_tool_metrics_day($1::date)', [
      new Date(today - day).toISOString(),
    ]);
    await record(...Array.from({ length: 500 }, (_, i) => today - day + i * 1_000));
    let busy = true;
    const others = [1, 2].map(async () => {
      while (busy) {
        await record(Date.now());
        await totalOf(today - 2 * day, Date.now());
      }
    });
    const removed = await Promise.all([1, 2].map(() => partitions.dropBefore(new Date(today))));
    busy = false;
    await Promise.all(others);
    expect(removed.reduce((sum, count) => sum + count)).toBe(500);
    expect(await totalOf(today - 2 * day, today - 1)).toBe(0);
  });
});
