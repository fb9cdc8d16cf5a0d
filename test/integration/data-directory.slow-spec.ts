import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdirSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server, its sandbox of every tier that this host has, a tool that goes for the admin key; mock: nothing

const asker = join(__dirname, '..', 'fixtures', 'hostile', 'asker.py');
const python = '/usr/bin/python3';

let folder: string;
let data: string;
let key: string;
beforeAll(() => {
  folder = makeTestFolder();
  data = join(folder, 'data');
  key = join(data, 'admin.key');
  mkdirSync(join(folder, 'beside'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const register = (tk: TestApp, name: string, settings: object) =>
  tk.http.post('/api/v1/custom-tools').send({ name, command: python, args: [asker], ...settings });

/** Without bubblewrap a host has no more than tier 1: 2 and 3 would be the same once more. */
const tiers = spawnSync('bwrap', ['--version']).status === 0 ? [0, 1, 2, 3] : [0, 1];

describe.each([
  ...tiers.map((tier) => [`tier ${tier} at most`, { SANDBOX_MAX_TIER: String(tier) }] as const),
  ['no sandbox', { SANDBOX: 'off' }] as const,
])('with %s', (_what, variables) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({ TOOLKEEPER_DATA_DIR: data, SANDBOX: 'best-effort', ...variables });
    mkdirSync(join(data, 'below'), { recursive: true });
    copyFileSync(asker, join(data, 'below', 'tool.py'));
    symlinkSync(data, join(folder, 'link'));
  });
  afterAll(async () => {
    await tk.close();
    rmSync(join(folder, 'link'));
  });

  it.each([
    ['everything', () => '/', 'holds'],
    ['the folder above', () => folder, 'holds'],
    ['itself', () => data, 'lies in'],
    ['the key', () => key, 'lies in'],
    ['a folder in it', () => join(data, 'below'), 'lies in'],
    ['a link to it', () => join(folder, 'link'), 'lies in'],
    ['it, by dots', () => join(folder, 'beside') + '/../data', 'lies in'],
  ])('a path that is %s is refused', async (_which, path, how) => {
    const { body } = await register(tk, 'greedy', { sandbox: { allowedPaths: [path()] } }).expect(422);
    expect(body.errors).toEqual([
      { pointer: '/sandbox/allowedPaths/0', detail: expect.stringContaining(`${how} the data directory`) },
    ]);
  });

  it('a tool that stands in it, or around it, is refused', async () => {
    const refused = async (settings: object): Promise<string> =>
      (await register(tk, 'inside', settings).expect(400)).body.errors[0].pointer;
    const args = [join(data, 'below', 'tool.py')];
    expect(await refused({ args, workingDir: folder })).toBe('/workingDir');
    expect(await refused({ args, workingDir: join(data, 'below') })).toBe('/workingDir');
    expect(await refused({ args })).toBe('/command');
  });

  it('a tool that goes for the key finds it where its tier says so, and nowhere else', async () => {
    await register(tk, 'asker', { sandbox: { allowedPaths: [join(folder, 'beside')] } }).expect(201);
    const { body } = await tk.http.get('/api/v1/custom-tools/asker').expect(200);
    const { enforced, notEnforced, notes, tier, runsAs } = body.effectiveSandbox;
    const hides = enforced.includes('dataDirectory');
    expect(hides).toBe(tier > 0);
    if (!hides)
      expect([notEnforced, notes.dataDirectory]).toEqual([
        expect.arrayContaining(['dataDirectory']),
        expect.stringContaining('read the admin key'),
      ]);
    // A user of its own cannot read what is root's, with or without a sandbox.
    const finds = !hides && runsAs.uid === process.getuid?.();
    const opened = openSync(key, 'r');
    const secret = tk.key.authorization.slice('Bearer '.length);
    const read = async (path: string): Promise<string> => {
      const answer = await tk.call('asker', { path }).expect(200);
      return answer.body.result.text ?? '';
    };
    try {
      expect(await read(asker)).toContain('A tool that asks');
      const gateway = `/proc/${process.pid}`;
      for (const path of [
        key,
        join(folder, 'beside', '..', 'data', 'admin.key'),
        `${gateway}/root${key}`,
        `${gateway}/cwd${'/..'.repeat(20)}${key}`,
        `${gateway}/fd/${opened}`,
        `/proc/self/root${key}`,
      ])
        expect([path, (await read(path)).trim()]).toEqual([path, finds ? secret : '']);
      expect((await read(`${gateway}/environ`)) === '').toBe(!finds);
    } finally {
      closeSync(opened);
    }
  });
});

describe('a tool that is stored', () => {
  let first: TestApp;
  let limitsHosts: boolean;
  beforeAll(async () => {
    // It looks at nothing again: it would mend what the others below cannot start.
    const rarely = { customTools: { reloadIntervalMs: 86_400_000 } };
    first = await startApp({ SANDBOX: 'best-effort' }, rarely);
    await register(first, 'reader', { sandbox: { allowedPaths: [folder] } }).expect(201);
    await register(first, 'networked', { sandbox: { allowNetwork: true } }).expect(201);
    await register(first, 'permitted', { permissions: { canNetwork: true } }).expect(201);
    await register(first, 'offline', {}).expect(201);
    const { body } = await register(first, 'limited', { sandbox: { allowedHosts: ['127.0.0.1:1'] } });
    limitsHosts = body.effectiveSandbox.enforced.includes('allowedHosts');
  });
  afterAll(() => first.close());

  const restarted = async (variables: Record<string, string>, work: (tk: TestApp) => Promise<void>) => {
    const options = { DATABASE_URL: first.db.url, SANDBOX: 'best-effort', ...variables };
    const tk = await startApp(options);
    await work(tk).finally(() => tk.close());
  };
  const isRefused = async (tk: TestApp, name: string, why: string): Promise<void> => {
    const shown = async (): Promise<Json> =>
      (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
    // The condition of a tool is stored after it was tried.
    const isDegraded = async (): Promise<boolean> => (await shown()).healthStatus === 'degraded';
    await until(isDegraded, { what: `${name} to be degraded`, timeoutMs: 10_000 });
    expect((await shown()).errorMessage).toContain(why);
    await tk.call(name, { path: asker }).expect(503, /"code":"tool_unavailable"/);
  };

  it('and is given what has become the data directory is not started, and says why', () =>
    restarted({ TOOLKEEPER_DATA_DIR: join(folder, 'later') }, async (tk) => {
      await isRefused(tk, 'reader', `${folder} holds the data directory`);
      await tk.call('networked', { path: asker }).expect(200, /"status":"success"/);
    }));

  it('and has an open network is not started with AUTH_MODE=off, and says why; none is registered', () =>
    restarted({ AUTH_MODE: 'off' }, async (tk) => {
      for (const name of ['networked', 'permitted']) await isRefused(tk, name, 'AUTH_MODE=off');
      await tk.call('offline', { path: asker }).expect(200, /"status":"success"/);
      const refusal = /"pointer":"\/sandbox\/allowNetwork","detail":"must not be open with AUTH_MODE=off/;
      await register(tk, 'another', { sandbox: { allowNetwork: true } }).expect(400, refusal);
      const patch = { sandbox: { allowNetwork: true } };
      await tk.http.patch('/api/v1/custom-tools/offline').send(patch).expect(400, refusal);
      await tk.http.post('/api/v1/custom-tools/networked/enable').expect(400, refusal);
      const { body } = await register(tk, 'hosts', { sandbox: { allowedHosts: ['127.0.0.1:1'] } });
      // A host that cannot limit the network to some hosts opens it to all.
      const opensToAll = { code: 'invalid_request', detail: expect.stringContaining('; allowedHosts needs') };
      expect(body).toMatchObject(limitsHosts ? { name: 'hosts' } : opensToAll);
    }));
});

it('the examples run in the default layout', async () => {
  const { result } = JSON.parse(
    spawnSync('bash', [join(__dirname, '../../tools/installed/disk_usage/tool.sh')], {
      input: '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"input":{"path":"/"}}}\n',
      encoding: 'utf8',
    }).stdout,
  );
  expect([result.path, dirname(result.mountPoint)]).toEqual(['/', '/']);
});
