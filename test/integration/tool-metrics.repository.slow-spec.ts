import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { newId } from '../../src/base/common/ids.js';
import { countedColumns, rollUp } from '../../src/records/executions/rollups/rollup.sql.js';
import {
  insertBatch,
  isRowFault,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const minute = 60_000;
const noon = new Date('2026-01-23T12:00:00.000Z');
const at = (minutes: number): Date => new Date(noon.getTime() + minutes * minute);
/** As PostgreSQL keeps it. */
const visible = (text: string): string => text.replaceAll('\0', '\uFFFD');
const names = (rows: readonly ToolMetric[]): string[] => rows.map(({ userId }) => userId);

/** real: PostgreSQL with the migrated table */
describe('ToolMetricsRepository', () => {
  let database: TestDatabase;
  let repository: ToolMetricsRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    repository = new ToolMetricsRepository(database.dataSource);
  });
  beforeEach(() => database.dataSource.query('TRUNCATE tool_metrics'));
  afterAll(() => database.release());

  const recordMany = (rows: readonly ToolMetric[]): Promise<void> =>
    insertBatch(database.dataSource, rows, 0);
  /** Rows of the tool `t`, told apart by their user. */
  const record = (...rows: Partial<ToolMetric>[]): Promise<void> =>
    recordMany(rows.map((row) => newToolMetric({ toolName: 't', recordedAt: noon, ...row })));

  const full: ToolMetric = {
    metricId: newId(Date.parse('2026-01-23T10:30:00.123Z')),
    toolName: 'log_summary',
    userId: 'user-123',
    sessionId: 'sess-456',
    requestId: 'req-1',
    investigationId: 'inv-1',
    runId: 'run-1',
    traceId: 'a'.repeat(32),
    parentSpanId: 'b'.repeat(16),
    status: 'error',
    executionTimeMs: 150,
    errorType: 'tool_error',
    errorMessage: 'It said: "no", {a,b} \\ NULL',
    parametersHash: 'ab'.repeat(32),
    inputSize: 10,
    outputSize: 20,
    metadata: { attempts: 2, labels: { 'a"b': ['x', null, 1.5] }, text: 'tab\t and \\ and ünï' },
    isTest: true,
    toolFault: true,
    semanticFailure: 'It answered another question',
    kind: 'tool',
    recordedAt: new Date('2026-01-23T10:30:00.123Z'),
  };

  describe('record', () => {
    it('gives back every field as it was', async () => {
      await expect(repository.record(full)).resolves.toBe(full);
      await expect(repository.getExecution(full.metricId)).resolves.toEqual({ ...full, project: 'default' });
    });

    it('leaves a row that is there as it is', async () => {
      await repository.record(full);
      await recordMany([{ ...full, status: 'success' }, newToolMetric({ toolName: 'other' })]);
      expect((await repository.getExecution(full.metricId))?.status).toBe('error');
      expect(await repository.getAllToolNames()).toEqual(['log_summary', 'other']);
    });

    it('keeps executions of other kinds, and counts none of them', async () => {
      await recordMany([{ ...full, kind: 'resource', toolName: 'files__/mcp' }]);
      await record({ kind: 'prompt' }, { kind: 'completion' });
      expect(await repository.getExecution(full.metricId)).toMatchObject({ kind: 'resource' });
      expect(await repository.getExecutions({ kind: 'prompt', limit: 100 })).toHaveLength(1);
      expect(await repository.getAllToolNames()).toEqual([]);
      await record({});
      expect(await repository.getAllToolNames()).toEqual(['t']);
    });

    it('takes the same id twice in one statement', async () => {
      await recordMany([full, full]);
      expect(await repository.getExecutions({ tool: 'log_summary', limit: 100 })).toHaveLength(1);
    });

    it('shows where PostgreSQL cannot store a character, in text and in metadata', async () => {
      const odd = {
        ...full,
        errorMessage: 'a\0b',
        userId: 'half \ud800',
        metadata: { stderrTail: '\0\udfff', path: 'C:\\u0000' },
      };
      await repository.record(odd);
      expect(await repository.getExecution(odd.metricId)).toMatchObject({
        errorMessage: 'a\uFFFDb',
        userId: 'half \uFFFD',
        metadata: { stderrTail: '\uFFFD\uFFFD', path: 'C:\\u0000' },
      });
    });

    it('stores any text and any metadata', async () => {
      const text = fc.string({
        unit: fc.oneof(
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          fc.constantFrom(...'\\"{},\n\t\b '),
        ),
      });
      // Not the bare text: V8 13.6's JSON.parse, which reads the row, loses a key that is one escape beside an empty key.
      const key = text.map((rest) => `k${rest}`);
      const metadata = fc.dictionary(key, text, { maxKeys: 3 });
      const rows = fc.array(fc.record({ userId: text, errorMessage: fc.option(text), metadata }), {
        minLength: 1,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(rows, async (given) => {
          const metrics = given.map((row) => newToolMetric({ toolName: 'any', ...row }));
          await recordMany(metrics);
          for (const { metricId, userId, errorMessage, metadata: stored } of metrics) {
            expect(await repository.getExecution(metricId)).toMatchObject({
              userId: visible(userId),
              errorMessage: errorMessage === null ? null : visible(errorMessage),
              metadata: Object.fromEntries(
                Object.entries(stored).map(([key, value]) => [visible(key), visible(String(value))]),
              ),
            });
          }
        }),
        { numRuns: 60, seed: 20_779 },
      );
    });

    it('keeps numbers within what the column holds', async () => {
      await record({
        metricId: full.metricId,
        recordedAt: full.recordedAt,
        executionTimeMs: 12.6,
        inputSize: 2 ** 40,
        outputSize: NaN,
      });
      expect(await repository.getExecution(full.metricId)).toMatchObject({
        executionTimeMs: 13,
        inputSize: 2_147_483_647,
        outputSize: 0,
      });
    });

    it('accepts an empty list', async () => {
      await expect(recordMany([])).resolves.toBeUndefined();
    });
  });

  describe('isRowFault', () => {
    const failure = (metric: Partial<ToolMetric>): Promise<unknown> =>
      record(metric).catch((error: unknown) => error);

    it('blames values that no repetition can write', async () => {
      const circular: Record<string, unknown> = {};
      circular['self'] = circular;
      for (const bad of [
        { metricId: 'no uuid' },
        { metadata: circular },
        { recordedAt: new Date(NaN) },
        { toolName: Array.from({ length: 2_000 }, () => newId()).join('') },
      ]) {
        const error = await failure(bad);
        expect(error).toBeInstanceOf(Error);
        expect(isRowFault(error)).toBe(true);
      }
    });

    it('does not blame rows for a database that is wrong or away', async () => {
      const gone = new DataSource({ type: 'postgres', url: database.url, installExtensions: false });
      await gone.initialize();
      await gone.destroy();
      const away = await new ToolMetricsRepository(gone).record(full).catch((error: unknown) => error);
      const wrong = await database.dataSource
        .query('SELECT * FROM no_such_table')
        .catch((error: unknown) => error);
      expect([away, wrong]).toEqual([expect.any(Error), expect.any(Error)]);
      expect([isRowFault(away), isRowFault(wrong)]).toEqual([false, false]);
    });
  });

  describe('getToolStats', () => {
    const range = { since: at(-10), until: at(10) };
    const period = { since: '2026-01-23T11:50:00.000Z', until: '2026-01-23T12:10:00.000Z' };

    it('counts, rates and sums; the average has two decimals', async () => {
      await record(
        { executionTimeMs: 100, inputSize: 2_000_000_000, outputSize: 5 },
        { executionTimeMs: 100, inputSize: 2_000_000_000, outputSize: 6 },
        { executionTimeMs: 101, status: 'error' },
        { executionTimeMs: 50, status: 'timeout' },
        { executionTimeMs: 500, status: 'strange' },
        { executionTimeMs: 9_999, isTest: true },
        { executionTimeMs: 9_999, toolName: 'other' },
      );
      expect(await repository.getToolStats('t', range)).toStrictEqual({
        toolName: 't',
        totalCalls: 5,
        successCount: 2,
        errorCount: 1,
        timeoutCount: 1,
        successRate: 0.4,
        avgTimeMs: 170.2,
        findingCount: 0,
        minTimeMs: 50,
        maxTimeMs: 500,
        totalInputBytes: 4_000_000_000,
        totalOutputBytes: 11,
        period,
        p50TimeMs: 100.5,
        p95TimeMs: 500,
        p99TimeMs: 500,
        semanticFailureCount: 0,
        errorTypes: { unknown: 3 },
      });
    });

    it.each([
      [[1, 2, 2], 1.67],
      [[1, 1, 2], 1.33],
      [[10, 10, 10], 10],
    ])('rounds the average of %j to %d', async (times, average) => {
      await record(...times.map((executionTimeMs) => ({ executionTimeMs })));
      expect((await repository.getToolStats('t', range)).avgTimeMs).toBe(average);
    });

    it('includes both ends of the period and nothing beyond', async () => {
      const ms = (date: Date, by: number): Date => new Date(date.getTime() + by);
      await record(
        { recordedAt: range.since },
        { recordedAt: range.until },
        { recordedAt: ms(range.since, -1) },
        { recordedAt: ms(range.until, 1) },
      );
      expect((await repository.getToolStats('t', range)).totalCalls).toBe(2);
    });

    it('has only the short form without calls', async () => {
      await record({ isTest: true });
      const empty = { toolName: 't', totalCalls: 0, successRate: 0, avgTimeMs: 0, period };
      await expect(repository.getToolStats('t', range)).resolves.toStrictEqual(empty);
      await expect(repository.getToolStats('no\0such', range)).resolves.toStrictEqual({
        ...empty,
        toolName: 'no\0such',
      });
    });

    it('is about the last 24 hours unless told otherwise', async () => {
      const ago = (hours: number): Date => new Date(Date.now() - hours * 60 * minute);
      await record({ recordedAt: ago(0.1) }, { recordedAt: ago(23.9) }, { recordedAt: ago(24.1) });
      const stats = await repository.getToolStats('t');
      expect(stats.totalCalls).toBe(2);
      expect(Date.parse(stats.period.until) - Date.parse(stats.period.since)).toBe(24 * 60 * minute);
      expect((await repository.getToolStats('t', { since: ago(25) })).totalCalls).toBe(3);
    });

    it('gives the figures of all tools that were called, or of some, test calls apart', async () => {
      await record(
        { executionTimeMs: 7 },
        { status: 'error' },
        { toolName: 'b', inputSize: 3 },
        { toolName: 'tried', isTest: true },
        { toolName: 'old', recordedAt: at(-11) },
      );
      const all = await repository.getFigures(range.since, range.until, { latency: false });
      expect([...all.keys()].sort()).toEqual(['b', 't']);
      expect(all.get('t')).toMatchObject({ totalCalls: 2, errorCount: 1, successRate: 0.5, avgTimeMs: 3.5 });
      expect(all.get('t')).not.toHaveProperty('latency');
      const some = { latency: true, tools: ['tried', 't'] };
      const ofSome = await repository.getFigures(range.since, range.until, some);
      expect([...ofSome.keys()]).toEqual(['t']);
      expect(ofSome.get('t')?.latency?.countFrom(0)).toBe(2);
      await expect(repository.getFigures(range.until, range.since, some)).resolves.toEqual(new Map());
    });
  });

  describe('lists', () => {
    it('getRecentErrors: errors and timeouts, newest first, test calls with their mark', async () => {
      await record(
        { userId: 'error', status: 'error', recordedAt: at(1) },
        { userId: 'success', recordedAt: at(2) },
        { userId: 'timeout', status: 'timeout', recordedAt: at(3) },
        { userId: 'test', status: 'error', isTest: true, recordedAt: at(4) },
        { userId: 'strange', status: 'strange', recordedAt: at(5) },
        { userId: 'other', status: 'error', toolName: 'other', recordedAt: at(6) },
      );
      const all = await repository.getRecentErrors();
      expect(names(all)).toEqual(['other', 'test', 'timeout', 'error']);
      expect(all.map(({ isTest }) => isTest)).toEqual([false, true, false, false]);
      expect(names(await repository.getRecentErrors('t'))).toEqual(['test', 'timeout', 'error']);
      expect(names(await repository.getRecentErrors(undefined, 1))).toEqual(['other']);
      expect(await repository.getRecentErrors('nobody')).toEqual([]);
    });

    it('getRecentErrors gives ten by default', async () => {
      await record(...Array.from({ length: 12 }, () => ({ status: 'error' })));
      expect(await repository.getRecentErrors()).toHaveLength(10);
    });

    it('getAllToolNames: every tool once, sorted by code point', async () => {
      expect(await repository.getAllToolNames()).toEqual([]);
      await record(...['b', 'a', 'B', 'ä', 'a', 'b_1'].map((toolName) => ({ toolName })), {
        toolName: 'x',
        isTest: true,
      });
      expect(await repository.getAllToolNames()).toEqual(['B', 'a', 'b', 'b_1', 'x', 'ä']);
    });

    it('getLastUses: the newest execution of each tool, test calls apart', async () => {
      await record(
        { recordedAt: at(1) },
        { recordedAt: at(2) },
        { recordedAt: at(3), isTest: true },
        { toolName: 'tried', isTest: true },
      );
      expect(await repository.getLastUses()).toEqual(new Map([['t', at(2)]]));
    });

    it('getLastUses: also of tools that were not used for days, whatever comes late, and none of what was deleted', async () => {
      const ago = (days: number): Date => new Date(Date.now() - days * 24 * 60 * minute);
      const [recent, old, older, oldest] = [ago(0), ago(3), ago(5), ago(9)];
      await record({ toolName: 'dormant', recordedAt: old }, { toolName: 'gone', recordedAt: oldest });
      await record({ recordedAt: recent }, { recordedAt: oldest });
      await record({ toolName: 'dormant', recordedAt: older }, { toolName: 'other', recordedAt: older });
      const left = [
        ['t', recent],
        ['dormant', old],
        ['other', older],
      ] as const;
      expect(await repository.getLastUses()).toEqual(new Map<string, Date>([...left, ['gone', oldest]]));
      await repository.cleanupOldMetrics(7);
      expect(await repository.getLastUses()).toEqual(new Map(left));
      const known = await database.dataSource.query<unknown[]>('SELECT FROM tool_last_days');
      expect(known).toHaveLength(left.length);
      await record({ toolName: 'gone', recordedAt: recent });
      expect(await repository.getLastUses()).toEqual(new Map<string, Date>([...left, ['gone', recent]]));
    });

    it('getSlowExecutions: from the threshold on, slowest first', async () => {
      await record(
        { userId: 'below', executionTimeMs: 4_999 },
        { userId: 'at', executionTimeMs: 5_000 },
        { userId: 'slowest', executionTimeMs: 9_000 },
        { userId: 'slower', executionTimeMs: 6_000 },
      );
      expect(names(await repository.getSlowExecutions())).toEqual(['slowest', 'slower', 'at']);
      expect(names(await repository.getSlowExecutions(4_999, 4))).toEqual([
        'slowest',
        'slower',
        'at',
        'below',
      ]);
      expect(names(await repository.getSlowExecutions(0, 1))).toEqual(['slowest']);
      await record({ userId: 'test', executionTimeMs: 20_000, isTest: true });
      expect(names(await repository.getSlowExecutions(9_000))).toEqual(['test', 'slowest']);
      expect(names(await repository.getSlowExecutions(9_000, 20, false))).toEqual(['slowest']);
    });

    it('getExecutions: of one tool, newest first', async () => {
      await record(
        { userId: '1', recordedAt: at(1) },
        { userId: '3', recordedAt: at(3), isTest: true },
        { userId: '2', recordedAt: at(2), status: 'error' },
        { userId: 'other', toolName: 'other' },
      );
      expect(names(await repository.getExecutions({ tool: 't', limit: 100 }))).toEqual(['3', '2', '1']);
      expect(names(await repository.getExecutions({ tool: 't', limit: 2 }))).toEqual(['3', '2']);
    });

    it('getExecutions: pages meet every row once, also among equal times', async () => {
      const ids = Array.from({ length: 25 }, () => newId()).sort();
      const rows = ids.map((metricId, i) => ({ metricId, recordedAt: at(Math.floor(i / 10)) }));
      await record(...rows);
      for (const tool of ['t', undefined]) {
        const seen: string[] = [];
        let after: ToolMetric | undefined;
        for (;;) {
          const page = await repository.getExecutions({ tool, limit: 4, after });
          seen.push(...page.map(({ metricId }) => metricId));
          after = page.at(-1);
          if (!after) break;
        }
        expect(seen).toEqual(ids.toReversed());
      }
    });

    it('getExecution: nothing for an unknown id, or for what is none', async () => {
      await expect(repository.getExecution(newId())).resolves.toBeUndefined();
      await expect(repository.getExecution("x'; --")).resolves.toBeUndefined();
    });
  });

  describe('cleanupOldMetrics', () => {
    it('deletes the days that ended so long ago and says how many executions those had', async () => {
      const daysAgo = (days: number): Date => new Date(Date.now() - days * 24 * 60 * minute);
      await record(
        { recordedAt: daysAgo(29) },
        { recordedAt: daysAgo(31) },
        { recordedAt: daysAgo(90) },
        { recordedAt: daysAgo(5) },
      );
      await expect(repository.cleanupOldMetrics()).resolves.toBe(2);
      await expect(repository.cleanupOldMetrics()).resolves.toBe(0);
      await expect(repository.cleanupOldMetrics(10)).resolves.toBe(1);
      await expect(repository.cleanupOldMetrics(0)).resolves.toBe(1);
      await record({ recordedAt: daysAgo(0) });
      await expect(repository.cleanupOldMetrics(0)).resolves.toBe(0);
    });

    it('deletes any number, and two that clean at once count each row once', async () => {
      await database.dataSource.query(`
        INSERT INTO tool_metrics (tool_name, user_id, recorded_at)
        SELECT 't', 'u', now() - interval '60 days' FROM generate_series(1, 25000)`);
      const counts = await Promise.all([repository.cleanupOldMetrics(), repository.cleanupOldMetrics()]);
      const rest = await repository.cleanupOldMetrics();
      expect(counts.reduce((sum, count) => sum + count, rest)).toBe(25_000);
      expect(await repository.getAllToolNames()).toEqual([]);
    });
  });

  describe('for health and circuits', () => {
    it('getFaultSamples: what ended in the window and is somebody’s doing, oldest first', async () => {
      const error = { status: 'error', errorType: 'tool_error' };
      await record(
        { recordedAt: at(2) },
        { ...error, recordedAt: at(1), toolFault: true },
        { ...error, recordedAt: at(3), executionTimeMs: 500 },
        { ...error, errorType: 'interrupted', recordedAt: at(4) },
        { ...error, errorType: 'cancelled', recordedAt: at(4) },
        { ...error, errorType: 'upstream_unavailable', recordedAt: at(4) },
        { ...error, toolFault: true, recordedAt: at(4), isTest: true },
        { recordedAt: at(0) },
        {
          toolName: 'long',
          status: 'timeout',
          errorType: 'timeout',
          toolFault: true,
          recordedAt: at(-1),
          executionTimeMs: 90_000,
        },
      );
      await expect(repository.getFaultSamples(noon)).resolves.toStrictEqual([
        { tool: 'long', at: at(0.5), fault: true },
        { tool: 't', at: at(1), fault: true },
        { tool: 't', at: at(2), fault: false },
        { tool: 't', at: new Date(at(3).getTime() + 500), fault: false },
      ]);
    });

    it('countFailures: errors and timeouts since then, included', async () => {
      await record(
        { status: 'error' },
        { status: 'timeout', recordedAt: at(1) },
        { status: 'error', recordedAt: at(-1) },
        { status: 'strange', recordedAt: at(1) },
        { status: 'error', recordedAt: at(1), isTest: true },
        { recordedAt: at(1) },
      );
      await expect(repository.countFailures('t', noon)).resolves.toBe(2);
      await expect(repository.countFailures('nobody', noon)).resolves.toBe(0);
    });

    it('getFailureGroups: all that is no success, test calls apart', async () => {
      await record(
        { status: 'error', errorType: 'a', errorMessage: 'try 1', recordedAt: at(1) },
        { status: 'error', errorType: 'a', errorMessage: 'try 2', recordedAt: at(2) },
        { status: 'strange', recordedAt: at(3) },
        { status: 'error', isTest: true, recordedAt: at(3) },
        { recordedAt: at(4) },
        { status: 'error', recordedAt: at(5) },
      );
      const newest = (n: number, message: string | null) => ({
        ...{ id: expect.any(String), at: at(n).getTime() / 1_000, message },
      });
      await expect(repository.getFailureGroups('t', at(1), at(4))).resolves.toStrictEqual([
        {
          ...{ errorType: 'a', count: 2, firstSeen: at(1), lastSeen: at(2) },
          newest: [newest(2, 'try 2'), newest(1, 'try 1')],
        },
        {
          ...{ errorType: 'unknown', count: 1, firstSeen: at(3), lastSeen: at(3) },
          newest: [newest(3, null)],
        },
      ]);
    });

    it('getRecentOutcomes: the newest of all time, test calls apart', async () => {
      await record(
        { recordedAt: at(1) },
        { status: 'error', errorMessage: 'no', recordedAt: at(2) },
        { isTest: true, recordedAt: at(3) },
      );
      await expect(repository.getRecentOutcomes('t')).resolves.toStrictEqual([
        { status: 'error', errorMessage: 'no', recordedAt: at(2) },
        { status: 'success', errorMessage: null, recordedAt: at(1) },
      ]);
    });
  });

  it('answers from its indexes, not by walking the table', async () => {
    // 14 hours before a fixed noon: two days hold enough to be worth an index, at whatever time of day this runs.
    const days = ['2026-01-22', '2026-01-23'];
    for (const day of days) await database.dataSource.query('SELECT make_tool_metrics_day($1)', [day]);
    await database.dataSource.query(
      `INSERT INTO tool_metrics (
        tool_name, user_id, status, execution_time_ms, recorded_at, investigation_id, run_id, parameters_hash
      )
      SELECT 't' || i % 50, 'u' || i % 1000, CASE WHEN i % 20 = 0 THEN 'error' ELSE 'success' END, i % 7000,
             $1::timestamptz - i * interval '1 second', 'i' || i % 1000, 'r' || i % 1000, i % 9
      FROM generate_series(1, 50000) AS i`,
      [noon],
    );
    await database.dataSource.query(rollUp(`SELECT ${countedColumns} FROM tool_metrics`, '0'));
    await database.dataSource.query('ANALYZE tool_metrics, tool_metric_rollups');
    const plans: string[] = [];
    const explaining = Object.assign(Object.create(database.dataSource) as DataSource, {
      query: async (sql: string, parameters: unknown[]) => {
        const plan = await database.dataSource.query<Record<string, string>[]>(`EXPLAIN ${sql}`, parameters);
        plans.push(plan.map((row) => row['QUERY PLAN']).join('\n'));
        return [];
      },
    });
    const explained = new ToolMetricsRepository(explaining);
    const since = at(-5);
    const id = newId(at(-1).getTime());
    await explained.getToolStats('t1', { since });
    await explained.getFigures(since, noon, { latency: true });
    await explained.getFigures(since, noon, { latency: true, tools: ['t1', 't2'] });
    await explained.getRecentErrors();
    await explained.getRecentErrors('t1');
    await explained.getAllToolNames();
    await explained.getLastUses();
    await explained.getSlowExecutions();
    await explained.getExecutions({ tool: 't1', limit: 100 });
    await explained.getExecutions({ limit: 10, after: { recordedAt: since, metricId: id } });
    await explained.getExecution(id);
    await explained.getFaultSamples(since);
    await explained.getFaultSamplesOf('t1', since, 100);
    await explained.countFailures('t1', since);
    await explained.getFailureGroups('t1', since, noon);
    await explained.getRecentOutcomes('t1');
    for (const only of [{ userId: 'u1' }, { runId: 'r1' }, { investigationId: 'i1' }, { errorType: 'x' }]) {
      await explained.getExecutions({ ...only, limit: 10 });
    }
    await explained.getDuplicates({ since, until: noon, limit: 10, investigationId: 'i1' });
    await explained.markSemanticFailure(id, 'wrong');
    await explained.getCallers({ by: 'investigation', tool: 't1', since, until: noon, limit: 10 });
    await explained.getExecutions({ finding: true, tool: 't1', limit: 10 });
    expect(plans).toHaveLength(24);
    expect(plans.at(-1)).toContain('using tool_metrics_20260123_recorded_at_metric_id_tool_name_idx');
    // Days without executions, and names of tools out of one row a tool and day, are walked at no cost.
    const walk = new RegExp(`Seq Scan on tool_metrics_(${days.join('|').replaceAll('-', '')}) `);
    expect(plans.join('\n')).toMatch(/Index Scan .*on tool_metrics_20260123/);
    expect(plans.filter((plan) => walk.test(plan))).toEqual([]);
  });
});
