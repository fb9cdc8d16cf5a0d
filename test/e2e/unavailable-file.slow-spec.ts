import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CustomToolManager } from '../../src/runtime/custom-tools/manager/custom-tool-manager.js';
import { Reconciler } from '../../src/runtime/custom-tools/manager/reconciler.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: servers, their database, files and their modes, the tools' processes; mock: nothing. The sandbox is off: the
// tool below changes its own file.

const day = 86_400_000;
const byHand = { SANDBOX: 'off', CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL: String(day) };
// What a process does when its stdin ends is part of these tests: it is not killed meanwhile.
const times = (reloadIntervalMs: number) => ({ customTools: { reloadIntervalMs, stopGraceMs: 30_000 } });
let folder: string;
let file: string;
beforeAll(() => (folder = makeTestFolder()));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Answers a word and its pid. A process that nobody called makes the file unusable when it ends, if told so. */
const program = (word: string): string => `#!/usr/bin/env python3
import json, os, sys
called = False
for line in iter(sys.stdin.readline, ''):
    request = json.loads(line)
    if request['method'] == 'execute':
        called = True
        if request['params']['input'].get('crash'):
            os._exit(3)
    result = {'word': '${word}', 'pid': os.getpid(), 'name': 'fragile', 'inputSchema': {}}
    print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': result}), flush=True)
if not called and os.path.exists(__file__ + '.trap'):
    # The mode of a file of somebody else cannot be changed, but another file can take its place.
    text = open(__file__).read()
    os.unlink(__file__)
    open(__file__, 'w').write(text)
`;
const write = (word: string): void => writeFileSync(file, program(word), { mode: 0o755 });
/** From now on every test start of the file leaves it unusable. */
const setTrap = (): void => writeFileSync(`${file}.trap`, '');
const mend = (): void => {
  rmSync(`${file}.trap`, { force: true });
  chmodSync(file, 0o755);
};

const register = async (tk: TestApp, name: string): Promise<void> => {
  file = join(folder, name);
  write('first');
  await tk.register(name, { command: file, args: [], keepAlive: true });
};
const call = async (tk: TestApp, name: string, input = {}): Promise<Json> =>
  (await tk.call(name, input)).body;
const get = async (tk: TestApp, name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;

describe('a file that cannot be run for a moment', () => {
  let tk: TestApp;
  beforeAll(async () => (tk = await startApp(byHand, times(day))));
  afterAll(() => tk.close());

  it.each([
    ['patch', (name: string) => tk.http.patch(`/api/v1/custom-tools/${name}`).send({ description: 'new' })],
    ['enable', (name: string) => tk.http.post(`/api/v1/custom-tools/${name}/enable`)],
  ])('changes nothing for a tool that runs: %s is refused', async (how, change) => {
    const name = `kept_${how}`;
    await register(tk, name);
    const { pid } = (await call(tk, name)).result;
    setTrap();
    await change(name).expect(400, /is not executable/);
    expect(await call(tk, name)).toMatchObject({ status: 'success', result: { pid } });
    expect(await get(tk, name)).toMatchObject({ status: 'active', revision: 1, description: name });
    mend();
    await change(name).expect(200);
    expect(await call(tk, name)).toMatchObject({ status: 'success' });
  });

  it('stores no tool that could not run', async () => {
    file = join(folder, 'unstored');
    write('first');
    setTrap();
    const create = { name: 'unstored', description: 'd', command: file, args: [] };
    await tk.http
      .post('/api/v1/custom-tools')
      .send(create)
      .expect(400, /is not executable/);
    await tk.http.get('/api/v1/custom-tools/unstored').expect(404);
    mend();
    await tk.http.post('/api/v1/custom-tools').send(create).expect(201);
  });

  it('takes no process from a replica that is told of a new revision', async () => {
    const name = 'replicated';
    await register(tk, name);
    const other = await startApp({ ...byHand, DATABASE_URL: tk.db.url }, times(day));
    try {
      const { pid } = (await call(other, name)).result;
      // The notification comes later than the change of the file.
      await tk.db.dataSource.query('ALTER TABLE custom_tools DISABLE TRIGGER custom_tools_updated');
      write('second');
      await tk.app.get(CustomToolManager).reload(name);
      expect(await call(tk, name)).toMatchObject({ result: { word: 'second' } });
      chmodSync(file, 0o644);
      await other.app.get(CustomToolManager).load(name);
      expect(await call(other, name)).toMatchObject({ status: 'success', result: { word: 'first', pid } });
      expect(await get(tk, name)).toMatchObject({ status: 'active', revision: 2 });
      mend();
      await other.app.get(CustomToolManager).load(name);
      expect(await call(other, name)).toMatchObject({ result: { word: 'second' } });
    } finally {
      await other.close();
    }
  });

  it('leaves a tool broken no longer than until a process of it starts', async () => {
    const name = 'doubted';
    await register(tk, name);
    expect((await call(tk, name, { crash: true })).error.type).toBe('tool_crashed');
    await until(async () => (await get(tk, name)).healthStatus === 'unhealthy', { what: 'the crash' });
    chmodSync(file, 0o644);
    await tk.app.get(Reconciler).reconcile({ checks: true });
    expect(await get(tk, name)).toMatchObject({ status: 'error' });
    mend();
    expect(await call(tk, name)).toMatchObject({ status: 'success' });
    await until(async () => (await get(tk, name)).status === 'active', { what: 'the recovery' });
    expect(await get(tk, name)).toMatchObject({ healthStatus: 'healthy', errorMessage: null });
  });
});

it('new content that could not be run at first is taken as soon as it can be, without another change', async () => {
  const tk = await startApp(byHand, times(100));
  try {
    const name = 'late_mode';
    await register(tk, name);
    const { pid } = (await call(tk, name)).result;
    chmodSync(file, 0o644);
    writeFileSync(file, program('second'));
    // Long enough for several looks, all of them in vain.
    const end = performance.now() + 800;
    await until(() => performance.now() > end, { what: 'some looks' });
    expect(await call(tk, name)).toMatchObject({ result: { word: 'first', pid } });
    mend();
    await until(async () => (await call(tk, name)).result?.word === 'second', { what: 'the new content' });
  } finally {
    await tk.close();
  }
});
