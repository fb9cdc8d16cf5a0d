import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server with its rounds of checks, its database, files, the tools' processes; mock: nothing

let tk: TestApp;
let folder: string;
beforeAll(async () => {
  folder = makeTestFolder();
  tk = await startApp(
    { CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL: '1000' },
    { customTools: { reloadIntervalMs: 200 } },
  );
});
afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const post = (body: object) => tk.http.post('/api/v1/custom-tools').send(body);
const get = async (name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
const health = async (name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}/health`).expect(200)).body;
/** A Python tool in a folder of its own, so that all of its program can go at once. */
const installed = async (name: string, settings: object = {}): Promise<string> => {
  const own = join(folder, name);
  mkdirSync(own);
  copyFileSync(join(fixtures, 'echo.py'), join(own, 'tool.py'));
  const where = { args: ['tool.py'], workingDir: own };
  await post({ name, command: 'python3', ...where, keepAlive: true, ...settings }).expect(201);
  return own;
};
const starts = async (name: string): Promise<number> => {
  const { text } = await tk.http.get('/metrics').expect(200);
  return Number(
    new RegExp(`^toolkeeper_process_spawns_total{tool="${name}"} (\\d+)`, 'm').exec(text)?.[1] ?? 0,
  );
};

describe('a tool that nobody calls', () => {
  it('is looked at in every round, and nothing is started for it', async () => {
    await installed('cold');
    const { lastHealthCheck } = await get('cold');
    await until(async () => (await get('cold')).lastHealthCheck > lastHealthCheck, { what: 'a check' });
    expect(await get('cold')).toMatchObject({
      status: 'active',
      healthStatus: 'healthy',
      errorMessage: null,
    });
    expect(await starts('cold')).toBe(0);
  });

  it('whose folder is deleted shows that when it is asked, and in its status; it is well again with its folder', async () => {
    const own = await installed('deleted');
    renameSync(own, `${own}.away`);
    const { healthStatus, errorMessage, lastHealthCheck } = await health('deleted');
    expect(healthStatus).toBe('unhealthy');
    expect(errorMessage).toMatch(/tool\.py|is not a directory/);
    expect(Date.parse(lastHealthCheck)).toBeGreaterThan(Date.now() - 60_000);
    await until(async () => (await get('deleted')).status === 'error', { what: 'the status error' });
    expect((await get('deleted')).errorMessage).toContain(`is not a directory: ${own}`);
    renameSync(`${own}.away`, own);
    await until(async () => (await get('deleted')).status === 'active', { what: 'the recovery' });
    expect(await get('deleted')).toMatchObject({ healthStatus: 'healthy', errorMessage: null, revision: 1 });
    await tk.call('deleted', { a: 1 }).expect(200, /"status":"success"/);
  });

  it('whose script is deleted is unhealthy by the next round, without a call', async () => {
    const own = await installed('scriptless');
    rmSync(join(own, 'tool.py'));
    await until(async () => (await get('scriptless')).healthStatus === 'unhealthy', { what: 'a check' });
    await until(async () => (await get('scriptless')).status === 'error', { what: 'the status error' });
    expect((await get('scriptless')).errorMessage).toBe(`args/0 does not exist: ${join(own, 'tool.py')}`);
  });
});

it('a tool whose folder was deleted is degraded while its process lives, and broken once that has ended', async () => {
  const own = await installed('orphan');
  await tk.call('orphan', { a: 1 }).expect(200, /"status":"success"/);
  rmSync(own, { recursive: true });
  await until(async () => (await get('orphan')).healthStatus === 'degraded', { what: 'a test start' });
  const { processes, errorMessage } = await health('orphan');
  expect(processes).toMatchObject({ idle: 1 });
  expect(errorMessage).toMatch(
    /^Its changed files do not start, and what ran before goes on: .*is not a directory/,
  );
  await tk.call('orphan', { a: 2 }).expect(200, /"result":\{"a":2\}/);
  const { data } = (await tk.http.get('/api/v1/custom-tools/orphan/logs').expect(200)).body;
  process.kill(data.find(({ event, pid }: Json) => event === 'spawn' && pid).pid, 'SIGKILL');
  await until(async () => (await get('orphan')).status === 'error', { what: 'the status error' });
});

describe('a broken tool', () => {
  const day = '86400000';
  const rarely = { CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL: day };
  const looking = (reloadIntervalMs: number) => ({ customTools: { reloadIntervalMs } });

  it('is tried at once after a restart', async () => {
    const first = await startApp(rarely, looking(Number(day)));
    try {
      await first.register('mended');
      await first.db.dataSource.query(`UPDATE custom_tools SET status = 'error', error_message = 'no disk'`);
      const second = await startApp({ ...rarely, DATABASE_URL: first.db.url }, looking(Number(day)));
      try {
        const seen = async () => (await second.http.get('/api/v1/custom-tools/mended').expect(200)).body;
        await until(async () => (await seen()).status === 'active', { what: 'the recovery' });
        expect(await seen()).toMatchObject({ healthStatus: 'healthy', errorMessage: null, revision: 1 });
      } finally {
        await second.close();
      }
    } finally {
      await first.close();
    }
  });

  it('whose command is missing is looked for, and runs as soon as it is there', async () => {
    const dir = makeTestFolder();
    mkdirSync(join(dir, 'late'));
    const tool = { name: 'late', description: 'Comes late', command: './run.sh', inputSchema: {} };
    writeFileSync(join(dir, 'late', 'tool.json'), JSON.stringify(tool));
    const app = await startApp({ ...rarely, CUSTOM_TOOLS_DIR: dir }, looking(200));
    try {
      const seen = async () => (await app.http.get('/api/v1/custom-tools/late').expect(200)).body;
      expect(await seen()).toMatchObject({
        status: 'error',
        errorMessage: expect.stringContaining('run.sh'),
      });
      await app.call('late').expect(503, /"code":"tool_unavailable"/);
      copyFileSync(join(fixtures, 'echo.sh'), join(dir, 'late', 'run.new'));
      chmodSync(join(dir, 'late', 'run.new'), 0o755);
      renameSync(join(dir, 'late', 'run.new'), join(dir, 'late', 'run.sh'));
      const call = async () => (await app.call('late', { a: 1 })).body;
      await until(async () => (await call()).status === 'success', { what: 'the tool' });
      expect(await seen()).toMatchObject({ status: 'active', errorMessage: null });
    } finally {
      await app.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('a script that cannot be meant', () => {
  it.each([
    ['interpreter', { command: 'python3', args: ['no/such/tool.py'] }],
    ['interpreter in a folder', { command: 'python3', args: ['gone.py'], workingDir: fixtures }],
    ['interpreter with options', { command: 'python3', args: ['-u', '/no/such/tool.py'] }],
  ])('does not exist: the refusal names the argument (%s)', async (_what, tool) => {
    const { body } = await post({ name: 'absent', ...tool }).expect(400);
    const index = tool.args.length - 1;
    expect(body.errors).toEqual([
      { pointer: `/args/${index}`, detail: expect.stringMatching(/^does not exist: \/.*\.py$/) },
    ]);
    await tk.http.get('/api/v1/custom-tools/absent').expect(404);
  });

  it.each([
    ['below the server', {}],
    ['below its working directory', { workingDir: fixtures }],
  ])('climbs: ".." is refused %s', async (_where, place) => {
    const script = join(fixtures, 'echo.py');
    const from = relative(process.cwd(), fixtures);
    const args = 'workingDir' in place ? ['../tools/echo.py'] : [`${from}/../tools/echo.py`];
    expect(existsSync(script)).toBe(true);
    const { body } = await post({
      name: `up_${'workingDir' in place}`,
      command: 'python3',
      args,
      ...place,
    }).expect(400);
    expect(body.errors).toEqual([{ pointer: '/args/0', detail: 'must not hold ".."' }]);
  });
});
