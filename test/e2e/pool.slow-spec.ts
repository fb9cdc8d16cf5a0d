import { join } from 'node:path';
import { RunningTools } from '../../src/runtime/custom-tools/running/running-tools.js';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

let tk: TestApp;
let gate: Gate;

beforeAll(async () => {
  tk = await startApp();
  gate = new Gate();
});

afterAll(async () => {
  gate.close();
  await tk.close();
});

const health = async (name: string) =>
  (await tk.http.get(`/api/v1/custom-tools/${name}/health`).expect(200)).body;

describe('a pool of two', () => {
  it('runs two calls at once; a third waits for a free process', async () => {
    await tk.register('pair', { keepAlive: true, poolSize: 2, ...gate.access });
    const calls = ['a', 'b', 'c'].map((key) => tk.call('pair', gate.input(key)).then(({ body }) => body));
    await until(async () => (await health('pair')).processes.waiting === 1, { what: 'one call to wait' });
    await until(() => gate.arrived.length === 2, { what: 'two calls to run' });
    const [first, second] = gate.arrived as [string, string];
    const third = ['a', 'b', 'c'].find((key) => key !== first && key !== second) ?? '';
    await gate.open(first);
    await gate.running(third);
    await gate.open(second);
    await gate.open(third);
    const outcomes = await Promise.all(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(['success', 'success', 'success']);
    expect(new Set(outcomes.map(({ result }) => result.instance)).size).toBe(2);
  });
});

describe('keepAlive: false', () => {
  it('gives every call a fresh process', async () => {
    await tk.register('fresh', { keepAlive: false });
    const instances: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await tk.call('fresh', { action: 'count' }).expect(200);
      expect(body.result.served).toBe(1);
      instances.push(body.result.instance);
    }
    expect(new Set(instances).size).toBe(3);
  });
});

describe('retries', () => {
  it('repeat a crash only for an idempotent tool', async () => {
    const settings = { keepAlive: true, maxRetries: 2, retryDelayMs: 1 };
    await tk.register('safe', { ...settings, annotations: { idempotent: true } });
    await tk.register('unsafe', settings);
    const { body: repeated } = await tk.call('safe', { action: 'crash' });
    expect(repeated).toMatchObject({ status: 'error', attempts: 3, error: { type: 'tool_crashed' } });
    const { body: once } = await tk.call('unsafe', { action: 'crash' });
    expect(once).toMatchObject({ status: 'error', attempts: 1, error: { type: 'tool_crashed' } });
  });
});

describe('limits of a process', () => {
  it('replace it when it is old, large or has served enough, without a call that waits', async () => {
    const customTools = { processCheckIntervalMs: 100, maxProcessAgeMs: 1, maxConcurrentStarts: 1 };
    const short = await startApp({}, { customTools });
    try {
      await short.register('worn', { keepAlive: true });
      const first = (await short.call('worn', { action: 'count' }).expect(200)).body.result.instance;
      await until(
        async () => {
          const { body } = await short.call('worn', { action: 'count' }).expect(200);
          expect(body.attempts).toBe(1);
          return body.result.instance !== first;
        },
        { what: 'a successor' },
      );
      const reason = 'toolkeeper_process_terminations_total{tool="worn",reason="age"}';
      await until(async () => (await short.http.get('/metrics')).text.includes(reason), { what: reason });
    } finally {
      await short.close();
    }
  });

  it('leave no series behind of a tool that is deleted while its first process starts', async () => {
    const ended = new Promise<void>((resolve) => {
      tk.app.get(RunningTools).events.subscribe(({ type, pool }) => {
        if (type === 'terminate' && pool === 'brief') resolve();
      });
    });
    const args = [join(fixtures, 'fixture-tool.mjs'), '--start=slow:1000'];
    await tk.register('brief', { args, keepAlive: true, minProcesses: 1 });
    await tk.http.delete('/api/v1/custom-tools/brief').expect(204);
    await ended;
    expect((await tk.http.get('/metrics')).text).not.toContain('tool="brief"');
  });

  it('counts an executable that is tried out among all processes', async () => {
    const limits = { CUSTOM_TOOLS_MAX_PROCESSES: '1', CUSTOM_TOOLS_START_TIMEOUT: '2000' };
    const full = await startApp(limits);
    try {
      await full.register('idle', { keepAlive: true });
      await full.call('idle', { fine: true }).expect(200);
      // Its process gives way.
      await full.register('busy', { keepAlive: true });
      const call = full.call('busy', { action: 'sleep', ms: 6_000 }).then();
      await until(
        async () =>
          (await full.http.get('/metrics')).text.includes('toolkeeper_calls_in_flight{tool="busy"} 1'),
        { what: 'the call to run' },
      );
      const { body } = await full.http.post('/api/v1/custom-tools/idle/validate').expect(503);
      expect(body).toMatchObject({
        code: 'tool_unavailable',
        detail: expect.stringContaining('CUSTOM_TOOLS_MAX_PROCESSES'),
      });
      await call;
      await full.http.post('/api/v1/custom-tools/idle/validate').expect(200);
    } finally {
      await full.close();
    }
  });

  it('fails an output over its cap and goes on with a fresh process', async () => {
    await tk.register('big', { keepAlive: true });
    const { body } = await tk.call('big', { action: 'big', bytes: 5_000_000 }).expect(200);
    expect(body).toMatchObject({ status: 'error', error: { type: 'output_too_large' } });
    await tk.call('big', { fine: true }).expect(200, /"status":"success"/);
  });

  it('gives a tool a clean environment and its own variables', async () => {
    await tk.register('env', { env: { GREETING: 'hello' }, permissions: { allowedEnvironmentVars: ['TZ'] } });
    const { body } = await tk.call('env', { action: 'env' }).expect(200);
    const known = [
      'PATH',
      'HOME',
      'LANG',
      'TMPDIR',
      'PWD',
      'GREETING',
      'TZ',
      'GIT_CONFIG_NOSYSTEM',
      'SYSTEM_WGETRC',
    ];
    expect(body.result.GREETING).toBe('hello');
    expect(Object.keys(body.result).filter((name) => !known.includes(name))).toEqual([]);
  });

  it("grants no setting of the server's own, which may be a secret", async () => {
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      .send({
        name: 'curious',
        command: process.execPath,
        args: [join(fixtures, 'fixture-tool.mjs')],
        permissions: { allowedEnvironmentVars: ['TZ', 'DATABASE_URL'] },
      })
      .expect(400);
    expect(body.errors).toEqual([
      {
        pointer: '/permissions/allowedEnvironmentVars/1',
        detail: 'DATABASE_URL is a setting of the server itself: give the tool its own value in env',
      },
    ]);
    await tk.http.get('/api/v1/custom-tools/curious').expect(404);
  });
});
