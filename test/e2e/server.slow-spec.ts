import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures } from '../support/app.js';
import type { Json } from '../support/json.js';
import { createTestDatabase } from '../support/database.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { processesWith } from '../support/processes.js';
import { launchServer, type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

const send = (url: string, body: unknown, key = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key },
    body: JSON.stringify(body),
  });

/** Registers a tool of the flexible fixture. */
const register = async ({ url, key }: ServerProcess, tool: object): Promise<void> => {
  const answer = await send(`${url}/api/v1/custom-tools`, { command: 'node', ...tool }, key);
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)]);
};

async function json(url: string, body?: unknown): Promise<Json> {
  const answer = await (body === undefined ? fetch(url) : send(url, body));
  return answer.json();
}

describe('the built server on its embedded database', () => {
  const folder = makeTestFolder();
  const variables = { TOOLKEEPER_DATA_DIR: folder, PLAYBOOKS_DIR: shippedPlaybooks };
  let server: ServerProcess | undefined;

  afterAll(async () => {
    await server?.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  it('is ready with the examples active, and they work', async () => {
    server = await startServer(variables);
    expect(server.log()).toContain(`export TOOLKEEPER_KEY=$(cat ${join(folder, 'admin.key')})`);
    const [, once = ''] = /\/console\/#once=([\w-]{43})/.exec(server.log()) ?? [];
    expect((await send(`${server.url}/api/v1/session`, { once })).status).toBe(201);
    expect(server.log()).not.toContain(server.key.authorization.slice('Bearer '.length));
    const { data } = await json(`${server.url}/api/v1/custom-tools`);
    expect(data.map(({ name, status }: Json) => [name, status])).toEqual([
      ['disk_usage', 'active'],
      ['json_diff', 'active'],
      ['log_summary', 'active'],
    ]);
    const call = (tool: string, input: object) =>
      json(`${server?.url}/api/v1/tools/${tool}/execute`, { input });
    expect((await call('disk_usage', { path: '/' })).result.usedPercent).toBeGreaterThanOrEqual(0);
    expect(await call('json_diff', { before: { a: 1 }, after: { a: 2 } })).toMatchObject({
      status: 'success',
    });
    expect((await call('log_summary', { text: 'ERROR x' })).result.levels.error).toBe(1);
    expect((await call('get_playbooks', { query: 'pod OOMKilled' })).result.total_results).toBeGreaterThan(0);
    for (const probe of ['livez', 'readyz', 'startupz'])
      expect((await fetch(`${server.url}/${probe}`)).status).toBe(200);
  });

  it('comes up again after kill -9: data kept, one PostgreSQL running', async () => {
    const { dev, ino } = statSync(join(folder, 'postgres', 'data'));
    const postgres = () => processesWith(`-c cluster_name=toolkeeper-${dev}-${ino} `);
    // A backend that was forked just now still has the command line of its postmaster.
    const theOnly = (): Promise<number> =>
      until(
        () => {
          const [one, ...more] = postgres();
          return more.length === 0 ? one : undefined;
        },
        { what: 'one PostgreSQL' },
      );
    const running = await theOnly();
    // Reading writes what is buffered: what was said to be recorded survives.
    const before = await json(`${server?.url}/api/v1/tool-metrics/executions`);
    expect(before.data).toHaveLength(4);
    const key = server?.key;
    expect(await server?.end('SIGKILL')).toBeNull();
    server = await startServer(variables);
    expect(server.key).toEqual(key);
    expect(await theOnly()).toBe(running);
    const { data } = await json(`${server.url}/api/v1/tool-metrics/executions`);
    expect(data).toEqual(before.data);
    const { data: tools } = await json(`${server.url}/api/v1/custom-tools?status=active`);
    expect(tools).toHaveLength(3);
  });

  it('takes a second Ctrl-C as the first', async () => {
    const first = server as ServerProcess;
    server = undefined;
    first.child.kill('SIGINT');
    expect(await first.end('SIGINT')).toBe(0);
    expect(processesWith(folder)).toEqual([]);
  });
});

describe('a drain', () => {
  let gate: Gate;
  beforeAll(() => {
    gate = new Gate();
  });
  afterAll(() => gate.close());

  it('lets 10 running and 40 waiting calls answer, writes their rows and leaves no process', async () => {
    const db = await createTestDatabase();
    const folder = makeTestFolder();
    const server = await startServer({
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_DIR: folder,
      DRAIN_TIMEOUT_MS: '60000',
    });
    const mark = `--name=drained_${process.pid}`;
    await register(server, {
      name: 'slow',
      args: [join(fixtures, 'fixture-tool.mjs'), mark],
      keepAlive: true,
      minProcesses: 10,
      poolSize: 10,
      ...gate.access,
    });
    const processes = async (): Promise<Json> =>
      (await json(`${server.url}/api/v1/custom-tools/slow/health`)).processes;
    // Starts take their turns: the first calls would be over before the last process is there.
    await until(async () => (await processes()).idle === 10, { what: '10 processes' });
    const call = (input: object) => json(`${server.url}/api/v1/tools/slow/execute`, { input });
    const keys = Array.from({ length: 10 }, (_, n) => `call ${n}`);
    const calls = keys.map((key) => call(gate.input(key)));
    await Promise.all(keys.map((key) => gate.running(key)));
    calls.push(...Array.from({ length: 40 }, () => call({ action: 'sleep', ms: 200 })));
    await until(
      async () => {
        const { busy, waiting } = await processes();
        return busy === 10 && waiting === 40;
      },
      { what: '10 calls to run and 40 to wait' },
    );
    const started = Date.now();
    server.child.kill('SIGTERM');
    await until(async () => (await fetch(`${server.url}/readyz`).catch(() => undefined))?.status !== 200, {
      what: 'readiness to fail',
    });
    for (const key of keys) await gate.open(key);
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter(({ status }) => status === 'success')).toHaveLength(50);
    await until(() => server.child.exitCode !== null, { what: 'the exit' });
    expect(server.child.exitCode).toBe(0);
    // Nothing was cut off by DRAIN_TIMEOUT_MS, and no idle connection was waited for.
    expect(Date.now() - started).toBeLessThan(50_000);
    expect(processesWith(mark)).toEqual([]);
    const rows = await db.dataSource.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM tool_metrics WHERE tool_name = 'slow' AND status = 'success'`,
    );
    expect(rows).toEqual([{ n: 50 }]);
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('SIGTERM with a drain delay', () => {
  it('fails readiness at once, takes calls until the delay is over, and ends then', async () => {
    const db = await createTestDatabase();
    const folder = makeTestFolder();
    const server = await startServer({
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_DIR: folder,
      DRAIN_DELAY_MS: '2500',
    });
    const call = () => json(`${server.url}/api/v1/tools/find_tools/execute`, { input: { query: 'find' } });
    expect(await call()).toMatchObject({ status: 'success' });
    const stopped = Date.now();
    const end = server.end('SIGTERM');
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 503, {
      what: 'readiness to fail',
    });
    expect(await call()).toMatchObject({ status: 'success' });
    expect(await end).toBe(0);
    expect(Date.now() - stopped).toBeGreaterThanOrEqual(2_500);
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('a drain that runs out of time', () => {
  it('cuts off what still runs, records it and exits 0', async () => {
    const db = await createTestDatabase();
    const folder = makeTestFolder();
    const server = await startServer({
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_DIR: folder,
      DRAIN_TIMEOUT_MS: '300',
      SANDBOX_MAX_TIER: '0',
    });
    expect(server.log()).toContain(`TOOLS CAN READ THE ADMIN KEY and all else in ${folder}`);
    const mark = `--name=endless_${process.pid}`;
    await register(server, {
      name: 'endless',
      args: [join(fixtures, 'fixture-tool.mjs'), mark, '--ignore-eof', '--ignore-term'],
      keepAlive: true,
      timeoutMs: 600_000,
    });
    const call = json(`${server.url}/api/v1/tools/endless/execute`, { input: { action: 'hang' } });
    await until(
      async () => (await json(`${server.url}/api/v1/custom-tools/endless/health`)).processes.busy === 1,
      {
        what: 'the call to run',
      },
    );
    expect(await server.end('SIGTERM')).toBe(0);
    expect(await call).toMatchObject({ status: 'error', error: { type: 'interrupted' } });
    expect(processesWith(mark)).toEqual([]);
    const rows = await db.dataSource.query(
      `SELECT status, error_type FROM tool_metrics WHERE tool_name = 'endless'`,
    );
    expect(rows).toEqual([{ status: 'error', error_type: 'interrupted' }]);
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('a start that cannot succeed', () => {
  it.each([
    [
      'names every bad variable',
      { PORT: 'many', CUSTOM_TOOLS_ENABLED: 'yes' },
      ['PORT', 'CUSTOM_TOOLS_ENABLED'],
    ],
    ['refuses other addresses without a key', { HOST: '0.0.0.0' }, ['ADMIN_API_KEY', 'AUTH_MODE=off']],
  ])('%s', async (_what, variables, words) => {
    const { child, log } = launchServer(variables);
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(1);
    for (const word of words) expect(log()).toContain(word);
  });
});
