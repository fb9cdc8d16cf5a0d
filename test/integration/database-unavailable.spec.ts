import { DataSource } from 'typeorm';
import { DatabaseUnavailable } from '../../src/common/errors.js';
import { DatabaseReach } from '../../src/database/database-reach.js';
import { startApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';
import { Wire } from '../support/wire.js';

// real: PostgreSQL, the server, TCP; mock: nothing. What breaks is the way to the database.

const wireTo = async (url: string): Promise<{ wire: Wire; url: string }> => {
  const target = new URL(url);
  const wire = new Wire({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(await wire.open());
  return { wire, url: target.toString() };
};
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
        database: { connectTimeoutMs: 700, patienceMs: 300, queryTimeoutMs: 60_000, statementTimeoutMs: 500 },
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
    await db.drop();
  });

  const routes: readonly (readonly [string, () => Promise<Json>])[] = [
    ['a registration', async () => tk.http.post('/api/v1/custom-tools').send(node)],
    ['a list', async () => tk.http.get('/api/v1/custom-tools')],
    ['a change', async () => tk.http.patch('/api/v1/custom-tools/kept').send({ description: 'x' })],
    ['statistics', async () => tk.http.get('/api/v1/tool-metrics/stats/kept')],
    ['a search', async () => tk.http.get('/api/v1/playbooks')],
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
    // A look begins after 300 ms, and is over 300 ms later; the journals are waited for 2 s at most.
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

describe('DatabaseReach', () => {
  let db: TestDatabase;
  let wire: Wire;
  let dataSource: DataSource;
  const lines: string[] = [];
  const say = (level: string) => (line: string) => void lines.push(`${level} ${line}`);
  let now = 0;
  const reach = new DatabaseReach({ error: say('error'), warn: say('warn'), log: say('log') }, () => now);

  beforeAll(async () => {
    db = await createTestDatabase();
    const way = await wireTo(db.url);
    wire = way.wire;
    const { url } = way;
    dataSource = await new DataSource({ type: 'postgres', url, installExtensions: false }).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await wire.cut();
    await db.drop();
  });
  beforeEach(() => lines.splice(0));

  const ask = async (sql: string): Promise<unknown> => {
    const runner = reach.watch(dataSource.createQueryRunner());
    try {
      return await runner.query(sql);
    } finally {
      await runner.release();
    }
  };

  it('logs that the database is away, and that it is back, once each', async () => {
    await wire.cut();
    for (let n = 0; n < 5; n++) await expect(ask('SELECT 1')).rejects.toThrow(DatabaseUnavailable);
    await wire.open();
    for (let n = 0; n < 5; n++) await expect(ask('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    expect(lines).toEqual([
      expect.stringMatching(/^error The database cannot be asked: /),
      'log The database answers again',
    ]);
  });

  it('writes no line for each change of a database that comes and goes', async () => {
    const flap = async (): Promise<void> => {
      await wire.cut();
      await expect(ask('SELECT 1')).rejects.toThrow(DatabaseUnavailable);
      await wire.open();
      await ask('SELECT 1');
    };
    for (let n = 0; n < 3; n++) await flap();
    expect(lines).toEqual([]);
    now += 10_000;
    await flap();
    expect(lines).toHaveLength(2);
  });

  it('leaves errors of the statement alone, and names one that took too long', async () => {
    await expect(ask('SELECT nonsense')).rejects.toMatchObject({ name: 'QueryFailedError', code: '42703' });
    expect(lines).toEqual([]);
    await expect(ask('SET statement_timeout = 20; SELECT pg_sleep(5)')).rejects.toThrow(DatabaseUnavailable);
    expect(lines).toEqual([expect.stringMatching(/^warn A statement was given up: .*statement timeout/)]);
  });

  it('knows a connection that was lost between two statements of a transaction', async () => {
    const runner = reach.watch(dataSource.createQueryRunner());
    await runner.startTransaction();
    const [{ pid }] = (await runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    await db.dataSource.query('SELECT pg_terminate_backend($1)', [pid]);
    await until(() => runner.isReleased, { what: 'the end of the connection' });
    await expect(runner.query('SELECT 1')).rejects.toThrow(DatabaseUnavailable);
  });
});
