import { manifest } from '../../src/base/common/project.js';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { openApp, startApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { mountSmallDisk } from '../support/small-disk.js';
import { makeTestFolder } from '../support/test-folder.js';
import { query } from '../support/test-server.js';
import { until } from '../support/wait.js';
import { Gate } from '../fixtures/tools/gate.js';

// real: the whole server, PostgreSQL, the tools' processes, HTTP; mock: nothing

/** 'secrets' in ASCII, as the renewal of secrets has it. */
const secretsLock = 0x73656372657473n;

/** Answers of a probe. */
const ask = async ({ http }: TestApp, probe: string): Promise<{ status: number; body: Json }> => {
  const { status, body } = await http.get(`/${probe}`);
  return { status, body };
};
const statusesOf = async (tk: TestApp): Promise<Record<string, number>> => {
  const probes = ['livez', 'startupz', 'readyz'];
  const answers = await Promise.all(probes.map((probe) => ask(tk, probe)));
  return Object.fromEntries(probes.map((probe, n) => [probe, answers[n]?.status ?? 0]));
};
const ready = (tk: TestApp): Promise<unknown> =>
  until(async () => (await ask(tk, 'readyz')).status === 200, { what: 'a server that is ready' });

describe('a server that starts', () => {
  let before: TestDatabase;
  beforeAll(async () => {
    before = await createTestDatabase();
    const first = await startApp({ DATABASE_URL: before.url });
    await first.register('stored');
    await first.close();
  });
  afterAll(() => before.release());

  /** Runs statements in a transaction. @returns what ends it */
  const hold = async (...statements: string[]): Promise<() => Promise<void>> => {
    const runner = before.dataSource.createQueryRunner();
    await runner.startTransaction();
    for (const each of statements) await runner.query(each);
    return async () => {
      await runner.commitTransaction();
      await runner.release();
    };
  };

  it('lives at once, is ready when it knows its tools, and loads one that is called before', async () => {
    const names = await hold('LOCK TABLE custom_tools');
    // A replica that finds this lock taken leaves secrets alone, which stand in the other table, too.
    const rest = await hold(
      `SELECT pg_advisory_xact_lock(${secretsLock})`,
      'LOCK TABLE custom_tool_revisions',
    );
    const tk = await openApp({ DATABASE_URL: before.url });
    try {
      const { body, headers } = await tk.http.get('/livez').expect(200);
      expect(body).toEqual({ status: 'ok', info: {}, error: {}, details: {} });
      expect(headers['cache-control']).toContain('no-store');
      expect((await ask(tk, 'startupz')).body.error.startup.status).toBe('down');
      expect((await ask(tk, 'readyz')).body.error.server).toMatchObject({
        status: 'down',
        state: 'starting',
      });

      tk.app.get(Lifecycle).ready();
      expect(await statusesOf(tk)).toEqual({ livez: 200, startupz: 503, readyz: 503 });
      expect((await ask(tk, 'startupz')).body.error).toMatchObject({
        startup: { status: 'down', parts: { 'custom tools': 'running' } },
      });
      const { tools } = (await ask(tk, 'readyz')).body.error;
      expect(tools).toEqual({ status: 'down', registered: expect.any(Number), message: 'still loading' });

      await names();
      await ready(tk);
      const started = { status: 'up', parts: { 'custom tools': 'done', playbooks: 'done' } };
      const { startup } = (await ask(tk, 'startupz')).body.info;
      expect(startup).toMatchObject({ ...started, message: 'loaded 0 of 1 tools' });
      const { body: listed } = await tk.http.get('/api/v1/tools/stored').expect(200);
      expect(listed).toMatchObject({ name: 'stored', inputSchema: expect.any(Object) });
      const late = await tk.call('stored', {}, { timeoutMs: 100 });
      expect([late.status, late.body.code]).toEqual([503, 'tool_unavailable']);
      expect(late.body.detail).toContain('stored is not loaded yet');

      const called = tk.call('stored', { a: 1 }).then((answer) => answer.body.status);
      await rest();
      expect(await called).toBe('success');
      expect((await ask(tk, 'startupz')).body.info.startup.message).toBe('loaded 1 of 1 tools');
    } finally {
      await tk.close();
    }
  });

  it('serves, and says so without asking for a key, when a part of its start failed', async () => {
    const db = await createTestDatabase();
    await db.dataSource.query('ALTER TABLE playbook_catalog RENAME TO elsewhere');
    const tk = await startApp({
      DATABASE_URL: db.url,
      ADMIN_API_KEY: 'a-key-of-enough-length',
      PLAYBOOKS_DIR: 'playbooks',
    });
    try {
      const { status, body } = await ask(tk, 'startupz');
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'degraded',
        details: { startup: { parts: { playbooks: 'failed', 'custom tools': 'done' } } },
      });
      await ready(tk);
    } finally {
      await tk.close();
      await db.release();
    }
  });
});

describe('a server that runs', () => {
  let gate: Gate;
  let db: TestDatabase;
  let tk: TestApp;

  beforeAll(async () => {
    gate = new Gate();
    db = await createTestDatabase({ connect: false });
    // The journal is full with the records of two calls that run.
    tk = await startApp({ DATABASE_URL: db.url, JOURNAL_MAX_BYTES: '500' });
  });
  afterAll(async () => {
    await tk.close();
    await db.release();
    gate.close();
  });

  it('is ready and names its parts', async () => {
    await ready(tk);
    expect((await ask(tk, 'readyz')).body.details).toEqual({
      server: { status: 'up', state: 'ready', version: manifest().version },
      database: { status: 'up', responseTime: expect.any(Number) },
      clock: { status: 'up' },
      budgets: { status: 'up' },
      files: { status: 'up', id: expect.any(String) },
      embeddings: { status: 'up', provider: 'lexical', vectors: 0 },
      tools: { status: 'up', registered: expect.any(Number) },
      sandbox: expect.objectContaining({ enabled: true, policy: 'enforce' }),
      recorder: { status: 'up', depth: 0, oldestMs: 0, bytes: 0, dropped: 0, damagedLines: 0 },
    });
  });

  it('is not ready while calls are refused because their records cannot be promised', async () => {
    await tk.register('gated', { ...gate.access, poolSize: 2 });
    const keys = ['first', 'second'];
    const calls = keys.map((key) => tk.call('gated', gate.input(key)).expect(200).then());
    await Promise.all(keys.map((key) => gate.running(key)));
    const { status, body } = await ask(tk, 'readyz');
    expect({ status, error: body.error }).toEqual({
      status: 503,
      error: {
        recorder: expect.objectContaining({
          status: 'down',
          message: 'the journal is at its cap: calls are refused (recorder_full)',
        }),
      },
    });
    await tk.call('gated').expect(503, /"code":"recorder_full"/);
    await Promise.all([...keys.map((key) => gate.open(key)), ...calls]);
    await ready(tk);
  });

  it('is not ready while its journal cannot be written, and is ready again by itself', async () => {
    const disk = join(makeTestFolder(), 'journal');
    const unmount = mountSmallDisk(disk);
    const other = await startApp({ JOURNAL_DIR: disk });
    try {
      await other.register('called');
      await other.call('called').expect(200);
      await ready(other);
      // Nothing can be filled where nothing can be mounted: the disk is everybody's.
      if (!unmount) return;
      const ballast = openSync(join(disk, 'ballast'), 'w');
      expect(() => {
        for (;;) writeSync(ballast, Buffer.alloc(4_096));
      }).toThrow('ENOSPC');
      closeSync(ballast);
      const refused = async (): Promise<boolean> => (await other.call('called')).status === 503;
      await until(refused, { what: 'a call that is refused' });
      await other.call('called').expect(503, /"code":"recorder_full"/);
      const { status, body } = await ask(other, 'readyz');
      const message = 'the journal cannot be written (JOURNAL_DIR): calls are refused (recorder_full)';
      expect({ status, error: body.error }).toEqual({
        status: 503,
        error: { recorder: expect.objectContaining({ status: 'down', message }) },
      });
      expect(await statusesOf(other)).toMatchObject({ livez: 200, startupz: 200 });
      rmSync(join(disk, 'ballast'));
      await ready(other);
      await other.call('called').expect(200);
    } finally {
      await other.close();
      unmount?.();
      rmSync(dirname(disk), { recursive: true, force: true });
    }
  });

  it('is degraded without its database, and well again with it', async () => {
    const name = new URL(db.url).pathname.slice(1);
    const server = process.env['TEST_DATABASE_SERVER'] ?? '';
    await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await query(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    const { status, body } = await until(
      async () => {
        const answer = await ask(tk, 'readyz');
        return answer.body.details.database.status === 'degraded' ? answer : undefined;
      },
      { what: 'readiness to say so' },
    );
    // Calls go on: a balancer that took out every replica would take away what still works.
    expect(status).toBe(200);
    expect(body.details.database).toEqual({
      status: 'degraded',
      message: 'does not answer',
      responseTime: expect.any(Number),
    });
    expect(await statusesOf(tk)).toMatchObject({ livez: 200, startupz: 200 });
    await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await until(async () => (await ask(tk, 'readyz')).body.details.database.status === 'up', {
      what: 'the database',
    });
  });

  it('is not ready while it drains, but lives and has started', async () => {
    tk.app.get(Lifecycle).drain();
    expect((await ask(tk, 'readyz')).body.error).toMatchObject({
      server: { status: 'down', state: 'draining' },
    });
    expect(await statusesOf(tk)).toEqual({ livez: 200, startupz: 200, readyz: 503 });
  });
});
