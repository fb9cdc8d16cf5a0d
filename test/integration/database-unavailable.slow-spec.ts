import { Logger } from '@nestjs/common';
import { migrations } from '../../migrations/index.js';
import { isDatabaseUnavailable } from '../../src/base/common/errors.js';
import { ApplicationDataSource } from '../../src/base/database/application-data-source.js';
import { startApp, type TestApp } from '../support/app.js';
import { configWith } from '../support/config.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';
import { type Wire, wireTo } from '../support/wire.js';

// real: PostgreSQL, the server, TCP; mock: nothing. What breaks is the way to the database.

const node = { name: 'fresh', command: 'node', description: 'd' };

describe('a server whose database', () => {
  let db: TestDatabase;
  let wire: Wire;
  let tk: TestApp;
  beforeAll(async () => {
    db = await createTestDatabase();
    const way = await wireTo(db.url);
    wire = way.wire;
    tk = await startApp(
      { DATABASE_URL: way.url, DATABASE_POOL_SIZE: '2' },
      {
        database: { connectTimeoutMs: 700, pingMs: 700, queryTimeoutMs: 60_000, statementTimeoutMs: 500 },
      },
    );
    await until(
      async () => {
        await tk.register('kept', { keepAlive: true }).catch(() => undefined);
        return (await tk.http.get('/api/v1/custom-tools/kept')).status === 200;
      },
      { what: 'a registration, for which a slow machine may need longer than the database is given' },
    );
  });
  afterAll(async () => {
    await wire.cut();
    await db.release();
  });

  const routes: readonly (readonly [string, () => Promise<Json>])[] = [
    ['a registration', async () => tk.http.post('/api/v1/custom-tools').send(node)],
    ['a list', async () => tk.http.get('/api/v1/custom-tools')],
    ['a change', async () => tk.http.patch('/api/v1/custom-tools/kept').send({ description: 'x' })],
    ['statistics', async () => tk.http.get('/api/v1/tool-metrics/stats/kept')],
    ['a search', async () => tk.http.get('/api/v1/playbooks')],
    ['a circuit by hand', async () => tk.http.post('/api/v1/tool-health/kept/circuit/open').send({})],
    ['a transaction', async () => tk.http.get('/api/v1/runs')],
  ];
  const expectUnavailable = ({ status, headers, body, type }: Json): void => {
    expect({ status, type, body }).toEqual({
      status: 503,
      type: 'application/problem+json',
      body: {
        type: 'urn:toolkeeper:error:database_unavailable',
        title: 'The database does not answer',
        status: 503,
        detail: expect.any(String),
        code: 'database_unavailable',
        requestId: expect.any(String),
      },
    });
    expect(headers['retry-after']).toBe('5');
    expect(body.detail).not.toMatch(/127\.0\.0\.1|postgres/);
  };
  const isBack = () =>
    until(async () => (await tk.http.get('/api/v1/custom-tools/kept')).status === 200, {
      what: 'the database',
    });

  it('is cut off says so, on every route that needs it, and serves again when it is back', async () => {
    await wire.cut();
    for (const [, ask] of routes) expectUnavailable(await ask());
    await tk.call('kept', { a: 1 }).expect(200, /"status":"success"/);
    await wire.open();
    await isBack();
  });

  it('is known to be away refuses at once what needs it, and goes on with calls', async () => {
    const readiness = () => tk.http.get('/readyz');
    await wire.cut();
    await until(async () => (await readiness()).body.details.database.status === 'degraded', {
      what: 'readiness to show it',
    });
    await readiness().expect(200);
    const keyed = () => tk.call('kept', { a: 1 }).set('idempotency-key', 'one');
    for (const ask of [...routes.map(([, each]) => each), keyed]) {
      const asked = performance.now();
      const answer = await ask();
      expect(answer.status).toBe(503);
      expect(answer.body.code).toBe('database_unavailable');
      // 100 ms on a calm machine; waiting for a connection or a journal would take seconds.
      expect(performance.now() - asked).toBeLessThan(500);
    }
    await tk.call('kept', { a: 1 }).expect(200, /"status":"success"/);
    await wire.open();
    await isBack();
    await until(async () => (await readiness()).body.details.database.status === 'up', { what: 'readiness' });
  });

  it('gives no connection in time says so', async () => {
    wire.goDead();
    wire.breakAll();
    const answers = await Promise.all(routes.map(([, ask]) => ask()));
    for (const answer of answers) expectUnavailable(answer);
    await wire.cut();
    await wire.open();
    await isBack();
  });

  it('goes dead within a statement says so, long before the statement is given up', async () => {
    await isBack();
    wire.goDead();
    const asked = performance.now();
    for (const answer of await Promise.all(routes.map(([, ask]) => ask()))) expectUnavailable(answer);
    // Two pings begin within 700 ms, and are over 700 ms later each; the journals are waited for 2 s at most.
    expect(performance.now() - asked).toBeLessThan(6_000);
    await wire.cut();
    await wire.open();
    await isBack();
  });

  it('is held up by somebody says so, when a statement has taken too long', async () => {
    const holder = db.dataSource.createQueryRunner();
    await holder.startTransaction();
    try {
      await holder.query('LOCK TABLE custom_tools');
      expectUnavailable(await tk.http.get('/api/v1/custom-tools'));
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    await isBack();
  });

  // The last one: it ends the server.
  it('has gone dead stops all the same', async () => {
    wire.goDead();
    await expect(tk.close()).resolves.toBeUndefined();
  });
});

describe('a data source', () => {
  let db: TestDatabase;
  let wire: Wire;
  let dataSource: ApplicationDataSource;
  const lines: string[] = [];
  const record = (level: string) => (line: string) => void lines.push(`${level} ${line}`);

  beforeAll(async () => {
    Logger.overrideLogger({ error: record('error'), warn: record('warn'), log: record('log') });
    db = await createTestDatabase();
    const way = await wireTo(db.url);
    wire = way.wire;
    const config = configWith({ DATABASE_URL: way.url }, { database: { pingMs: 300 } });
    dataSource = await ApplicationDataSource.open({ config, migrations, entities: [] });
  });
  afterAll(async () => {
    await dataSource.destroy();
    await wire.cut();
    await db.release();
    Logger.overrideLogger(undefined as never);
  });
  beforeEach(() => lines.splice(0));

  const failure = async (asked: Promise<unknown>): Promise<unknown> => {
    const error: unknown = await asked.then(
      () => 'no error',
      (reason: unknown) => reason,
    );
    return isDatabaseUnavailable(error) ? 'unavailable' : error;
  };
  const isBack = () =>
    until(async () => (await dataSource.query('SELECT 1')) as unknown, { what: 'the database' });

  it('logs that the database is away, and that it is back, once each', async () => {
    await wire.cut();
    await until(() => lines.length > 0, { what: 'a failed ping' });
    for (let n = 0; n < 5; n++) expect(await failure(dataSource.query('SELECT 1'))).toBe('unavailable');
    await wire.open();
    await isBack();
    const own = () => lines.filter((line) => line.includes('The database'));
    await until(() => own().length > 1, { what: 'a ping that is answered' });
    expect(own()).toEqual([
      expect.stringMatching(/^error The database does not answer: /),
      'log The database answers again',
    ]);
  });

  it('ends a statement that waits for a server that has gone dead, and refuses others at once', async () => {
    const waiting = failure(dataSource.query('SELECT pg_sleep(60)'));
    await until(
      async () =>
        (await db.dataSource.query(`SELECT 1 FROM pg_stat_activity WHERE query LIKE '%sleep(60)'`))[0],
      { what: 'the statement' },
    );
    wire.goDead();
    expect(await waiting).toBe('unavailable');
    const asked = performance.now();
    expect(await failure(dataSource.query('SELECT 1'))).toBe('unavailable');
    expect(performance.now() - asked).toBeLessThan(100);
    await wire.cut();
    await wire.open();
    await isBack();
  });

  it('leaves errors of the statement alone, and names one that took too long', async () => {
    expect(await failure(dataSource.query('SELECT nonsense'))).toMatchObject({ code: '42703' });
    const slow = dataSource.query('SET statement_timeout = 20; SELECT pg_sleep(5)');
    expect(await failure(slow)).toBe('unavailable');
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn A statement was given up: .*statement timeout/),
    );
  });

  it('knows a connection that was lost between two statements of a transaction', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    const [{ pid }] = (await runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    await db.dataSource.query('SELECT pg_terminate_backend($1)', [pid]);
    await until(() => runner.isReleased, { what: 'the end of the connection' });
    expect(await failure(runner.query('SELECT 1'))).toBe('unavailable');
  });
});
