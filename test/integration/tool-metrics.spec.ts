import { AuditModule } from '../../src/web/auth/audit/audit.module.js';
import { type INestApplication, Logger } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance } from 'fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Client } from 'pg';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../../src/base/common/ids.js';
import { ProblemFilter } from '../../src/web/rest/problem.filter.js';
import { DtoPipe } from '../../src/web/rest/dto.pipe.js';
import { ConfigModule } from '../../src/base/config/app-config.js';
import { MetricsModule } from '../../src/base/observability/metrics.module.js';
import { ExecutionRecorder } from '../../src/records/executions/execution-recorder.js';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import type { ExecutionEnd, ExecutionStart } from '../../src/records/executions/execution-record.js';
import { ToolMetricsModule } from '../../src/records/executions/tool-metrics.module.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { type ConfigChanges, configWith } from '../support/config.js';
import { SessionModule } from '../support/session-module.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import { journalText } from '../support/journal-lines.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

const base = '/api/v1/tool-metrics';
/** Older than what is deleted when nothing else is said, younger than what the start deletes below. */
const longAgo = Date.parse('2020-01-01T00:00:00Z');

/** real: Nest on Fastify, the module with its recorder, PostgreSQL */
async function createApp(
  url: string,
  variables: NodeJS.ProcessEnv = {},
  recorder: ConfigChanges['recorder'] = {},
): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [
      ConfigModule.forRoot(configWith({ JOURNAL_DIR: makeTestFolder(), ...variables }, { recorder })),
      MetricsModule.forRoot(),
      TypeOrmModule.forRoot({
        type: 'postgres',
        url,
        autoLoadEntities: true,
        installExtensions: false,
        retryAttempts: 0,
      }),
      SessionModule,
      AuditModule,
      ToolMetricsModule,
    ],
  }).compile();
  const app = module.createNestApplication(new FastifyAdapter(), { logger: false });
  app.useGlobalPipes(new DtoPipe());
  app.useGlobalFilters(new ProblemFilter());
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.principal = { userId: 'u', scopes: new Set(['metrics:read']) };
    done();
  });
  await app.init();
  await (app.getHttpAdapter().getInstance() as { ready(): Promise<void> }).ready();
  return app;
}

const startOf = (fields: Partial<ExecutionStart> = {}): ExecutionStart => ({
  toolName: 't',
  userId: 'u',
  startedAt: Date.now(),
  metadata: {},
  ...fields,
});
const end: ExecutionEnd = { status: 'success', executionTimeMs: 1 };

/** From its start to its end, by way of the journal. */
async function execution(
  recorder: ExecutionRecorder,
  { executionId = newId(), ...fields }: Partial<ExecutionStart> & { executionId?: string } = {},
): Promise<void> {
  await recorder.begin(executionId, startOf(fields));
  await recorder.finish(executionId, end);
}

describe('tool-metrics', () => {
  let database: TestDatabase;
  const count = async (): Promise<number> => {
    const [row] = await database.dataSource.query<{ n: number }[]>(
      'SELECT count(*)::int AS n FROM tool_metrics',
    );
    return row?.n ?? 0;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  beforeEach(() => database.dataSource.query('TRUNCATE tool_metrics'));
  afterAll(() => database.release());

  describe('over REST', () => {
    let app: INestApplication;
    let http: ReturnType<typeof supertest>;
    const record = (...rows: Partial<ToolMetric>[]): Promise<void> =>
      insertBatch(
        database.dataSource,
        rows.map((row) => newToolMetric({ toolName: 't', ...row })),
        0,
      );

    beforeAll(async () => {
      // What is recorded long ago here shall not go at the start.
      app = await createApp(database.url, { METRICS_RETENTION_DAYS: '3650' });
      http = supertest(app.getHttpServer());
    });
    afterAll(() => app.close());

    it('answers statistics with and without calls', async () => {
      await record(
        { executionTimeMs: 10 },
        { executionTimeMs: 15, status: 'error', recordedAt: new Date('2026-01-01T12:00:00Z') },
      );
      const { body } = await http.get(`${base}/stats/t`).expect(200);
      expect(body).toMatchObject({
        toolName: 't',
        totalCalls: 1,
        successCount: 1,
        successRate: 1,
        avgTimeMs: 10,
      });
      const dated = await http
        .get(`${base}/stats/t?since=2026-01-01T12:00:00Z&until=2026-01-01T12:00:00`)
        .expect(200);
      expect(dated.body).toMatchObject({
        totalCalls: 1,
        errorCount: 1,
        period: { since: '2026-01-01T12:00:00.000Z', until: '2026-01-01T12:00:00.000Z' },
      });
      const empty = await http.get(`${base}/stats/nobody?since=2026-01-01&until=2026-01-02`).expect(200);
      expect(empty.body).toStrictEqual({
        toolName: 'nobody',
        totalCalls: 0,
        successRate: 0,
        avgTimeMs: 0,
        period: { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' },
      });
    });

    it('answers errors, slow executions and names', async () => {
      await record(
        { userId: 'ok', executionTimeMs: 6_000 },
        { userId: 'bad', status: 'timeout', toolName: 'b' },
      );
      const errors = await http.get(`${base}/errors?tool=b&limit=5`).expect(200);
      expect(errors.body).toMatchObject({ data: [{ userId: 'bad', status: 'timeout' }], nextCursor: null });
      const slow = await http.get(`${base}/slow?thresholdMs=6000`).expect(200);
      expect(slow.body).toMatchObject({ data: [{ userId: 'ok', executionTimeMs: 6_000 }], nextCursor: null });
      expect((await http.get(`${base}/slow?thresholdMs=6001`)).body.data).toEqual([]);
      const names = await http.get(`${base}/tools`).expect(200);
      expect(names.body).toStrictEqual({ data: ['b', 't'], nextCursor: null });
    });

    it('pages through executions', async () => {
      await record(
        ...Array.from({ length: 5 }, (_, i) => ({
          userId: `u${i}`,
          recordedAt: new Date(longAgo + i * 1_000),
        })),
      );
      const seen: string[] = [];
      let cursor = '';
      for (let page = 0; page < 3; page += 1) {
        const { body } = await http.get(`${base}/executions?tool=t&limit=2${cursor}`).expect(200);
        seen.push(...body.data.map((row: ToolMetric) => row.userId));
        cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
      }
      expect(seen).toEqual(['u4', 'u3', 'u2', 'u1', 'u0']);
      expect(cursor).toBeNull();
      expect((await http.get(`${base}/executions`)).body.data).toHaveLength(5);
      expect((await http.get(`${base}/executions?limit=5`)).body.nextCursor).toBeNull();
    });

    it('lists the executions that every filter lets through', async () => {
      const one = { toolName: 'b', investigationId: 'i', runId: 'r', userId: 'u', executionTimeMs: 2_000 };
      const recordedAt = new Date('2026-01-01T12:00:00Z');
      await record(
        { ...one, sessionId: 'all', status: 'error', errorType: 'tool_error', recordedAt },
        { ...one, sessionId: 'good' },
        { sessionId: 'other', status: 'timeout', errorType: 'timeout', executionTimeMs: 500 },
      );
      const listed = async (query: string): Promise<string[]> => {
        const { body } = await http.get(`${base}/executions?${query}`).expect(200);
        return body.data.map((row: ToolMetric) => row.sessionId).sort();
      };
      expect(await listed('status=error')).toEqual(['all']);
      expect(await listed('status=success')).toEqual(['good']);
      expect(await listed('errorType=timeout')).toEqual(['other']);
      expect(await listed('investigationId=i')).toEqual(['all', 'good']);
      expect(await listed('runId=r&slowMs=2000')).toEqual(['all', 'good']);
      expect(await listed('userId=u&status=error')).toEqual(['all']);
      expect(await listed('userId=anonymous')).toEqual(['other']);
      expect(await listed('slowMs=500')).toEqual(['all', 'good', 'other']);
      expect(await listed('slowMs=501')).toEqual(['all', 'good']);
      expect(await listed('until=2026-01-01T12:00:00Z&since=2026-01-01T12:00:00Z')).toEqual(['all']);
      expect(await listed('since=2026-01-01T12:00:00.001Z')).toEqual(['good', 'other']);
      expect(
        await listed('tool=b&status=error&errorType=tool_error&investigationId=i&runId=r&userId=u&slowMs=1'),
      ).toEqual(['all']);
      expect(await listed('tool=b&errorType=timeout')).toEqual([]);
    });

    it('counts how often the same input came again', async () => {
      const call = (parametersHash: string, investigationId: string | null, isTest = false) => ({
        parametersHash,
        investigationId,
        isTest,
      });
      await record(
        ...['x', 'x', 'x', 'y'].map((hash) => call(hash, 'i')),
        ...['x', 'y'].map((hash) => call(hash, null)),
        call('x', 'i', true),
        { toolName: 'b', parametersHash: 'x', investigationId: 'i', recordedAt: new Date(longAgo) },
      );
      const again = { toolName: 't', calls: 4, distinctCalls: 2, duplicateCalls: 2, duplicateShare: 0.5 };
      const once = { toolName: 't', calls: 2, distinctCalls: 2, duplicateCalls: 0, duplicateShare: 0 };
      const all = await http.get(`${base}/duplicates`).expect(200);
      expect(all.body).toStrictEqual({
        data: [
          { ...again, investigationId: 'i' },
          { ...once, investigationId: null },
        ],
        nextCursor: null,
      });
      const filtered = await http
        .get(`${base}/duplicates?tool=b&investigationId=i&since=1970-01-01`)
        .expect(200);
      expect(filtered.body.data).toMatchObject([{ toolName: 'b', calls: 1, duplicateShare: 0 }]);
    });

    it('marks an execution as wrong in what it answered, and takes that back', async () => {
      const metric = newToolMetric({ toolName: 't' });
      await record(metric, {});
      const mark = `${base}/executions/${metric.metricId}/semantic-failure`;
      const seen = async (): Promise<unknown[]> => [
        (await http.get(`${base}/executions/${metric.metricId}`)).body.semanticFailure,
        (await http.get(`${base}/stats/t`)).body.semanticFailureCount,
        (await http.get(`${base}/stats/t`)).body.successRate,
      ];
      await http.post(mark).send({ reason: 'empty' }).expect(204);
      await http.post(mark).send({ reason: 'the answer is empty' }).expect(204);
      expect(await seen()).toEqual(['the answer is empty', 1, 1]);
      await http.delete(mark).expect(204);
      await http.delete(mark).expect(204);
      expect(await seen()).toEqual([null, 0, 1]);
      await http.post(`${base}/executions/${newId()}/semantic-failure`).send({ reason: 'x' }).expect(404);
      for (const body of [{}, { reason: '' }, { reason: 'x'.repeat(501) }]) {
        await http.post(mark).send(body).expect(400);
      }
    });

    it('answers one execution, or that there is none', async () => {
      const metric = newToolMetric({ toolName: 't', metadata: { attempts: 1 } });
      await record(metric);
      const { body } = await http.get(`${base}/executions/${metric.metricId}`).expect(200);
      expect(body).toStrictEqual({
        ...metric,
        project: 'default',
        recordedAt: metric.recordedAt.toISOString(),
      });
      for (const id of [newId(), 'no-id']) {
        const missing = await http.get(`${base}/executions/${id}`).expect(404);
        expect(missing.body.code).toBe('not_found');
        expect(missing.headers['content-type']).toContain('application/problem+json');
      }
    });

    it('shows an execution that is still in the journal', async () => {
      const executionId = newId();
      await execution(app.get(ExecutionRecorder), { executionId });
      await http.get(`${base}/executions/${executionId}`).expect(200);
    });

    it('deletes old metrics and says how many', async () => {
      await record({}, { recordedAt: new Date(longAgo) }, { recordedAt: new Date(longAgo + 1) });
      expect((await http.delete(base).expect(200)).body).toStrictEqual({ deleted: 2 });
      expect((await http.delete(`${base}?olderThanDays=0`).expect(200)).body).toStrictEqual({ deleted: 0 });
      expect(await count()).toBe(1);
    });

    it.each([
      ['get', 'stats/t?since=yesterday', '/since'],
      ['get', 'stats/t?since=2026-13-45', '/since'],
      ['get', 'stats/t?until=5', '/until'],
      ['get', 'stats/t?since=2026-01-02&until=2026-01-01', '/since'],
      ['get', 'stats/t?period=1', '/period'],
      ['get', `errors?tool=${'x'.repeat(257)}`, '/tool'],
      ['get', 'errors?limit=0', '/limit'],
      ['get', 'errors?limit=1001', '/limit'],
      ['get', 'errors?limit=1.5', '/limit'],
      ['get', 'errors?tool=', '/tool'],
      ['get', 'errors?tool=a&tool=b', '/tool'],
      ['get', 'slow?thresholdMs=-1', '/thresholdMs'],
      ['get', 'slow?limit=many', '/limit'],
      ['get', 'executions?cursor=x', '/cursor'],
      ['get', 'executions?status=bad', '/status'],
      ['get', 'executions?slowMs=-1', '/slowMs'],
      ['get', 'executions?since=2026-01-02&until=2026-01-01', '/since'],
      ['get', 'duplicates?limit=0', '/limit'],
      [
        'get',
        `executions?cursor=${Buffer.from('2026-13-45T00:00:00.000Z|x').toString('base64url')}`,
        '/cursor',
      ],
      ['delete', '?olderThanDays=-1', '/olderThanDays'],
      ['delete', '?olderThanDays=all', '/olderThanDays'],
    ] as const)('refuses %s %s, naming %s', async (method, path, pointer) => {
      await record({ recordedAt: new Date(longAgo) });
      const { body } = await http[method](path.startsWith('?') ? base + path : `${base}/${path}`).expect(400);
      expect(body.code).toBe('invalid_request');
      expect(new Set(body.errors.map((error: { pointer: string }) => error.pointer))).toEqual(
        new Set([pointer]),
      );
      expect(await count()).toBe(1);
    });
  });

  describe('the recorder', () => {
    it('writes 5,000 records in batches while it is asked to flush, each exactly once', async () => {
      const app = await createApp(database.url, {}, { batchSize: 300, flushIntervalMs: 5 });
      const recorder = app.get(ExecutionRecorder);
      for (let i = 0; i < 5_000; i += 100) {
        const some = Array.from({ length: 100 }, (_, n) =>
          execution(recorder, { toolName: `t${n % 7}`, metadata: { n } }),
        );
        await Promise.all(some);
        if (i % 500 === 0) await recorder.flush();
      }
      await until(() => recorder.state().depth === 0, { what: 'an empty journal' });
      expect(await count()).toBe(5_000);
      await app.close();
    });

    it('writes everything at shutdown and leaves no journal', async () => {
      const folder = makeTestFolder();
      const app = await createApp(database.url, { JOURNAL_DIR: folder }, { flushIntervalMs: 60_000 });
      const recorder = app.get(ExecutionRecorder);
      await Promise.all(Array.from({ length: 1_499 }, () => execution(recorder)));
      expect(await count()).toBeLessThan(1_499);
      const last = newId();
      await recorder.begin(last, startOf());
      const closed = app.close();
      await recorder.finish(last, end);
      await closed;
      expect([await count(), readdirSync(folder)]).toEqual([1_500, []]);
    });

    it('sets a row aside that cannot be stored, says so, and writes the others', async () => {
      const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
      const app = await createApp(database.url);
      const recorder = app.get(ExecutionRecorder);
      for (const executionId of [newId(), 'no uuid', newId()]) await execution(recorder, { executionId });
      await recorder.flush();
      expect([await count(), recorder.state().depth]).toEqual([2, 0]);
      expect(logged.mock.calls).toMatchObject([
        [{ event: 'execution_quarantined', executionId: 'no uuid' }, expect.any(String)],
      ]);
      const [aside] = await database.dataSource.query<{ metric_id: string; record: string }[]>(
        'SELECT * FROM tool_metrics_quarantine',
      );
      expect(aside?.metric_id).toBe('no uuid');
      expect(JSON.parse(aside?.record ?? '')).toMatchObject({ metricId: 'no uuid', status: 'success' });
      logged.mockRestore();
      await app.close();
    });

    it('gives a dead gateway’s executions their rows, interrupted where they had no end', async () => {
      const folder = makeTestFolder();
      const [ended, interrupted] = [newId(), newId()];
      writeFileSync(
        join(folder, '0000000007.journal'),
        journalText([
          { id: interrupted, start: startOf() },
          { id: ended, start: startOf() },
          { id: ended, end },
        ]),
      );
      const app = await createApp(database.url, { JOURNAL_DIR: folder });
      await app.get(ExecutionRecorder).replayed;
      const rows = await app.get(ToolMetricsRepository).getExecutions({ limit: 10 });
      expect(rows).toHaveLength(2);
      expect(rows).toContainEqual(expect.objectContaining({ metricId: ended, status: 'success' }));
      expect(rows).toContainEqual(
        expect.objectContaining({ metricId: interrupted, status: 'error', errorType: 'interrupted' }),
      );
      await app.close();
      expect(readdirSync(folder)).toEqual([]);
    });

    it('refuses a journal that another gateway has open', async () => {
      const folder = makeTestFolder();
      const app = await createApp(database.url, { JOURNAL_DIR: folder });
      await expect(createApp(database.url, { JOURNAL_DIR: folder })).rejects.toThrow('JOURNAL_DIR');
      await app.close();
    });

    it('outlasts a table that is locked or a connection that is cut', async () => {
      const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
      const app = await createApp(database.url, {}, { flushIntervalMs: 5 });
      const recorder = app.get(ExecutionRecorder);
      const admin = new Client({ connectionString: database.url });
      await admin.connect();
      await admin.query('BEGIN; LOCK TABLE tool_metrics IN ACCESS EXCLUSIVE MODE');
      await execution(recorder);
      await until(
        async () => {
          const blocked = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%INSERT INTO tool_metrics (%'`;
          // Not by the one that holds the lock: within its transaction it always sees the same activity.
          return (await database.dataSource.query<unknown[]>(blocked)).length > 0;
        },
        { what: 'a blocked write' },
      );
      await until(() => warned.mock.calls.length > 0, { what: 'the report of a failed write' });
      expect(recorder.state().depth).toBe(1);
      await admin.query('COMMIT');
      await until(() => recorder.state().depth === 0, { what: 'the repetition' });
      expect(await count()).toBe(1);
      expect(warned.mock.calls[0]?.[0]).toMatchObject({ event: 'recorder_retry', delayMs: 100 });
      warned.mockRestore();
      await admin.end();
      await app.close();
    });
  });

  describe('retention', () => {
    it('drops the days that ended METRICS_RETENTION_DAYS ago after the start', async () => {
      const day = 86_400_000;
      const begun = Math.floor(Date.now() / day - 3) * day;
      await database.dataSource.query('SELECT make_tool_metrics_day($1::date)', [new Date(begun - 1)]);
      const repository = new ToolMetricsRepository(database.dataSource);
      const rows = [
        newToolMetric({ toolName: 'of_no_day', recordedAt: new Date(begun - 2 * day) }),
        newToolMetric({ toolName: 'of_the_old_day', recordedAt: new Date(begun - 1) }),
        newToolMetric({ toolName: 'of_a_day_that_is_not_over', recordedAt: new Date(begun) }),
      ];
      await insertBatch(database.dataSource, rows, 0);
      const app = await createApp(database.url, { METRICS_RETENTION_DAYS: '3' });
      await until(async () => (await count()) === 1, { what: 'the old rows to go' });
      expect(await repository.getAllToolNames()).toEqual(['of_a_day_that_is_not_over']);
      await app.close();
    });

    it('does not keep the server from starting and stopping when it fails', async () => {
      const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
      const failing = jest
        .spyOn(ToolMetricsRepository.prototype, 'cleanupOldMetrics')
        .mockRejectedValue(new Error('database is away'));
      const app = await createApp(database.url);
      await until(() => logged.mock.calls.length > 0, { what: 'the report' });
      await app.close();
      expect(logged.mock.calls[0]).toEqual([
        new Error('database is away'),
        'old metrics could not be deleted',
      ]);
      logged.mockRestore();
      failing.mockRestore();
    });
  });
});
