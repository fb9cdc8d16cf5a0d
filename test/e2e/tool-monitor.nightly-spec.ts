import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Reconciler } from '../../src/runtime/custom-tools/manager/reconciler.js';
import { RunningTools, type RuntimeEvent } from '../../src/runtime/custom-tools/running/running-tools.js';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, its database, the tools' processes, their crashes; mock: nothing. Rounds are begun by hand.

const fixture = join(fixtures, 'fixture-tool.mjs');
let tk: TestApp;
let folder: string;
const events: RuntimeEvent[] = [];

const byHand = { CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL: '86400000' };
const reloadIntervalMs = 86_400_000;

beforeAll(async () => {
  // A machine that stands still for a while makes no tool ill.
  tk = await startApp(byHand, { customTools: { reloadIntervalMs, healthTimeoutMs: 60_000 } });
  tk.app.get(RunningTools).events.subscribe((event) => events.push(event));
  folder = makeTestFolder();
});

afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const round = (): Promise<void> => tk.app.get(Reconciler).reconcile({ checks: true });
const get = async (name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
const of = (name: string, type: RuntimeEvent['type']): RuntimeEvent[] =>
  events.filter((event) => event.pool === name && event.type === type);
const warm = async (name: string, settings: object = {}): Promise<void> => {
  await tk.register(name, { keepAlive: true, ...settings });
  await tk.call(name).expect(200);
};
const after = (name: string, time: string) =>
  until(async () => (await get(name)).lastHealthCheck > time, { what: `a check of ${name}` });
/** Settings of a tool that does not start while this file of the test's folder exists. */
const startsUnless = (file: string): object => ({
  args: [fixture, `--start=unless:${file}`],
  sandbox: { allowedPaths: [folder] },
});

it('pings an idle process without starting or initialising one, and writes what it learned', async () => {
  await warm('idle');
  await tk.register('cold', { keepAlive: true });
  const { lastHealthCheck: before } = await get('idle');
  const { lastHealthCheck: coldBefore } = await get('cold');
  await round();
  await round();
  expect(await get('idle')).toMatchObject({ status: 'active', healthStatus: 'healthy', errorMessage: null });
  expect((await get('idle')).lastHealthCheck > before).toBe(true);
  expect((await get('cold')).lastHealthCheck > coldBefore).toBe(true);
  expect([of('idle', 'spawn').length, of('cold', 'spawn').length]).toEqual([1, 0]);
});

it('leaves a busy process alone and does not call it dead', async () => {
  const gate = new Gate();
  try {
    await warm('busy', { args: [fixture, '--health=hang'], ...gate.access });
    const call = tk.call('busy', gate.input('x')).then(({ body }) => body);
    await gate.running('x');
    await round();
    expect(await get('busy')).toMatchObject({ status: 'active', healthStatus: 'healthy' });
    await gate.open('x');
    expect((await call).status).toBe('success');
    expect(of('busy', 'terminate')).toEqual([]);
  } finally {
    gate.close();
    await tk.http.delete('/api/v1/custom-tools/busy').expect(204);
  }
});

it('lets a tool that does not answer hold nobody up', async () => {
  await warm('slow', { args: [fixture, '--health=hang'] });
  await Promise.all(['quick_a', 'quick_b', 'quick_c'].map((name) => warm(name)));
  const now = new Date().toISOString();
  let ended = false;
  const slowRound = round().then(() => (ended = true));
  await Promise.all(['quick_a', 'quick_b', 'quick_c'].map((name) => after(name, now)));
  expect(ended).toBe(false);
  // Else the round would last as long as a check may.
  for (const event of of('slow', 'spawn')) if ('pid' in event) process.kill(event.pid, 'SIGKILL');
  await slowRound;
  expect(await get('slow')).toMatchObject({ status: 'active', healthStatus: 'unhealthy' });
  await tk.http.delete('/api/v1/custom-tools/slow').expect(204);
});

it('ends a process that does not answer; the tool recovers', async () => {
  const hasty = await startApp(byHand, { customTools: { reloadIntervalMs, healthTimeoutMs: 500 } });
  try {
    const ends: RuntimeEvent[] = [];
    hasty.app.get(RunningTools).events.subscribe((event) => {
      if (event.type === 'terminate' && event.pool === 'silent') ends.push(event);
    });
    await hasty.register('silent', { keepAlive: true, args: [fixture, '--health=hang'] });
    await hasty.call('silent').expect(200);
    const seen = async (): Promise<Json> => (await hasty.http.get('/api/v1/custom-tools/silent')).body;
    await hasty.app.get(Reconciler).reconcile({ checks: true });
    expect(await seen()).toMatchObject({ status: 'active', healthStatus: 'unhealthy' });
    await until(() => ends.length === 1, { what: 'the end of the silent process' });
    // What is left of the tool is started for a test.
    await hasty.app.get(Reconciler).reconcile({ checks: true });
    expect(await seen()).toMatchObject({ healthStatus: 'healthy', errorMessage: null });
  } finally {
    await hasty.close();
  }
});

it.each([
  ['degraded', 'degraded'],
  ['unhealthy', 'unhealthy'],
  ['unknown', 'healthy'],
])('takes over what the tool says of itself: %s', async (health, healthStatus) => {
  await warm(`says_${health}`, { args: [fixture, `--health=${health}`] });
  await round();
  expect(await get(`says_${health}`)).toMatchObject({ status: 'active', healthStatus });
});

describe('what a tool says of its health before anybody called it', () => {
  const events = async (tool: string): Promise<string[]> =>
    (await tk.http.get(`/api/v1/events?tool=${tool}`).expect(200)).body.data.map(({ type }: Json) => type);
  /** Its message is more than the database holds: NUL, a secret and too many characters. */
  const wordy = `
import json, os, sys
said = "\\0my database is away, the key is " + os.environ.get("KEY", "") + "." * 10000
for line in sys.stdin:
    request = json.loads(line)
    result = {"name": "wordy", "description": "d", "version": "1", "inputSchema": {}}
    if request["method"] == "health": result = {"status": "unhealthy", "message": said}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

  it.each(['degraded', 'unhealthy'])('is kept: %s', async (healthStatus) => {
    const name = `born_${healthStatus}`;
    const path = `/api/v1/custom-tools/${name}`;
    await tk.register(name, { keepAlive: true, args: [fixture, `--health=${healthStatus}`] });
    expect(await get(name)).toMatchObject({ status: 'active', healthStatus });
    await tk.http
      .patch(path)
      .send({ tags: ['x'] })
      .expect(200, new RegExp(`"healthStatus":"${healthStatus}"`));
    await round();
    expect(await get(name)).toMatchObject({ status: 'active', healthStatus });
    expect(await events(name)).toEqual(['tool.degraded']);
    await tk.http.post(`${path}/disable`).expect(200);
    await tk.http.post(`${path}/enable`).expect(200, new RegExp(`"healthStatus":"${healthStatus}"`));
    expect(await events(name)).not.toContain('tool.recovered');
    await tk.http
      .patch(path)
      .send({ args: [fixture] })
      .expect(200, /"healthStatus":"healthy"/);
    expect((await events(name)).at(-1)).toBe('tool.recovered');
  });

  it('is kept with its reason, as far as that can be stored and shown', async () => {
    const script = join(folder, 'wordy.py');
    writeFileSync(script, wordy);
    await tk.register('wordy', { command: 'python3', args: [script], env: { KEY: 'a-secret-key' } });
    const { healthStatus, errorMessage } = await get('wordy');
    expect(healthStatus).toBe('unhealthy');
    expect(errorMessage).toMatch(/^.?my database is away, the key is \[secret KEY\]\.+$/);
  });
});

it('writes a crash down, and the recovery', async () => {
  await warm('crashing');
  await tk.call('crashing', { action: 'crash', code: 9 });
  await until(async () => (await get('crashing')).healthStatus === 'unhealthy', { what: 'the crash' });
  expect(await get('crashing')).toMatchObject({
    status: 'active',
    errorMessage: 'A process of it ended with exit code 9',
  });
  await round();
  expect(await get('crashing')).toMatchObject({ healthStatus: 'healthy', errorMessage: null });
});

it('marks a crashed tool that does not start any more as broken, tries it with growing pauses, and brings it back', async () => {
  const marker = join(folder, 'stop-1');
  await warm('vanishing', startsUnless(marker));
  writeFileSync(marker, '');
  await tk.call('vanishing', { action: 'crash' });
  await until(async () => (await get('vanishing')).healthStatus === 'unhealthy', { what: 'the crash' });
  await round();
  expect(await get('vanishing')).toMatchObject({
    status: 'error',
    errorMessage: expect.stringContaining('is not a tool'),
  });
  await round(); // The first try after it is due at once; the next one not before the interval is over.
  const { lastHealthCheck } = await get('vanishing');
  await round();
  expect((await get('vanishing')).lastHealthCheck).toBe(lastHealthCheck);
  rmSync(marker);
  await round();
  expect((await get('vanishing')).status).toBe('error');
  await tk.http.post('/api/v1/custom-tools/vanishing/enable').expect(200, /"status":"active"/);
  await tk.call('vanishing', { a: 1 }).expect(200, /"status":"success"/);
});

it.each([
  [0, 3],
  [2, 3],
  [5, 5],
])(
  'with maxRetries %i it is broken after %i failed starts in a row, and a good start mends it',
  async (maxRetries, starts) => {
    const name = `failing_${maxRetries}`;
    const marker = join(folder, name);
    await warm(name, { ...startsUnless(marker), maxRetries, minProcesses: 1 });
    writeFileSync(marker, '');
    await tk.call(name, { action: 'crash' });
    await until(async () => (await get(name)).status === 'error', { what: 'the status error' });
    const [failed] = of(name, 'failed');
    const before = of(name, 'start_failed').filter(
      (event) => events.indexOf(event) < events.indexOf(failed as RuntimeEvent),
    );
    expect(before.map((event) => 'failures' in event && event.failures)).toEqual(
      Array.from({ length: starts }, (_, n) => n + 1),
    );
    await tk.call(name).expect(503, /"code":"tool_unavailable"/);
    // The pool tries by itself: a round spends no further process on it.
    const { errorMessage } = await get(name);
    await round();
    expect(await get(name)).toMatchObject({ status: 'error', errorMessage });
    rmSync(marker);
    await until(async () => (await get(name)).status === 'active', {
      what: 'the recovery',
    });
    expect(of(name, 'recovered')).toHaveLength(1);
    expect(await get(name)).toMatchObject({ healthStatus: 'healthy', errorMessage: null });
    await tk.call(name, { a: 1 }).expect(200, /"status":"success"/);
  },
);

it('calls no tool broken because there was no place for a process to try it', async () => {
  const narrow = { ...byHand, CUSTOM_TOOLS_MAX_PROCESSES: '1', CUSTOM_TOOLS_START_TIMEOUT: '500' };
  const full = await startApp(narrow, { customTools: { reloadIntervalMs } });
  const check = (): Promise<void> => full.app.get(Reconciler).reconcile({ checks: true });
  const ill = async (): Promise<Json> => (await full.http.get('/api/v1/custom-tools/ill')).body;
  const gate = new Gate();
  try {
    await full.register('ill', { keepAlive: true });
    await full.register('busy', { keepAlive: true, ...gate.access });
    await full.call('ill', { action: 'crash' }).expect(200);
    await until(async () => (await ill()).healthStatus === 'unhealthy', { what: 'the crash to be seen' });
    const call = full.call('busy', gate.input('held')).then();
    await gate.running('held');
    await check();
    expect(await ill()).toMatchObject({ status: 'active', healthStatus: 'unhealthy' });
    await gate.open('held');
    await call;
    await check();
    expect(await ill()).toMatchObject({ status: 'active', healthStatus: 'healthy', errorMessage: null });
  } finally {
    gate.close();
    await full.close();
  }
});
