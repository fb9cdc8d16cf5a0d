import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { archiveOf, type Entry, tarOf } from '../support/bundle.js';
import type { Json } from '../support/json.js';
import { PackageRegistry } from '../support/package-registry.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: npm and pip in the sandbox, a registry of each on loopback, two servers, tools' processes, a hostile package;
// mock: nothing. Without bubblewrap nothing is installed, and each test sees that refused.

const hasSandbox = spawnSync('bwrap', ['--version']).status === 0;

let registry: PackageRegistry;
let tk: TestApp;
const before = { ...process.env };
const folders = [makeTestFolder(), makeTestFolder()] as const;
const secrets = { SECRETS_KEY: 'ab'.repeat(32) };
beforeAll(async () => {
  registry = await PackageRegistry.start();
  process.env['npm_config_registry'] = registry.url;
  process.env['PIP_INDEX_URL'] = `${registry.url}/simple`;
  tk = await startApp({ ...secrets, BUNDLE_INSTALLS: 'true', CUSTOM_TOOLS_DIR: folders[0] });
});
afterAll(async () => {
  process.env = before;
  await registry.close();
  await tk.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const upload = (name: string, entries: readonly Entry[]) =>
  tk.http
    .post(`/api/v1/custom-tools/${name}/bundle`)
    .set('content-type', 'application/gzip')
    .send(archiveOf(entries));
const manifest = (command: string, script: string): Entry => ({
  path: 'tool.json',
  content: JSON.stringify({ command, args: [script], description: 'x', inputSchema: { type: 'object' } }),
});
const expectRefused = async (): Promise<void> => {
  const requirements = { path: 'requirements.txt', content: 'a==1' };
  await upload('x', [manifest('python3', 'x.py'), requirements]).expect(400, /Bring them along/);
};
const answering = (word: string): string => `
for await (const line of (await import('node:readline')).createInterface({ input: process.stdin }))
  console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: { name: 'x', status: 'healthy', word: ${word} } }));
`;
const locked = (name: string, packages: object, dependencies: Record<string, string>): Entry[] => {
  const own = { name: 'tool', version: '1.0.0', dependencies };
  const lock = { name: 'tool', version: '1.0.0', lockfileVersion: 3, packages: { '': own, ...packages } };
  return [
    { path: 'package.json', content: JSON.stringify(own) },
    { path: 'package-lock.json', content: JSON.stringify(lock) },
    // Not read: registries are the operator's to choose.
    { path: '.npmrc', content: 'registry=http://127.0.0.1:1/\n' },
    manifest('node', 'tool.mjs'),
    { path: 'tool.mjs', content: `import word from '${name}';\n${answering('word')}` },
  ];
};

it('packages of a registry come with the tool, also where no registry is any more', async () => {
  if (!hasSandbox) return expectRefused();
  const inner = registry.addToNpm('inner', { 'index.js': `module.exports = 'from npm';` });
  const outer = registry.addToNpm(
    'outer',
    { 'index.js': `module.exports = require('inner');` },
    { dependencies: { inner: '1.0.0' } },
  );
  registry.addToPip('greeting', `WORD = 'from pip'\n`);
  const node = locked(
    'outer',
    { 'node_modules/outer': outer, 'node_modules/inner': inner },
    { outer: '1.0.0' },
  );
  await upload('with_npm', node).expect(201);
  const python = `
import json, sys
from greeting import WORD
for line in sys.stdin:
    result = {"name": "x", "status": "healthy", "word": WORD}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}), flush=True)
`;
  await upload('with_pip', [
    manifest('python3', 'tool.py'),
    { path: 'tool.py', content: python },
    { path: 'requirements.txt', content: 'greeting==1.0.0\n' },
  ]).expect(201);
  const { body: bundle } = await tk.http.get('/api/v1/custom-tools/with_pip/bundle').expect(200);
  expect(bundle.installLog).toMatch(/^\$ python3 -m pip install\n[^]*Successfully installed greeting-1.0.0/);

  await registry.close();
  const other = await startApp({ ...secrets, DATABASE_URL: tk.db.url, CUSTOM_TOOLS_DIR: folders[1] });
  for (const app of [tk, other]) {
    const words = ['with_npm', 'with_pip'].map(async (name) => (await app.call(name).expect(200)).body);
    expect((await Promise.all(words)).map(({ result }: Json) => result.word)).toEqual([
      'from npm',
      'from pip',
    ]);
  }
  await other.close();
  registry = await PackageRegistry.start();
  process.env['npm_config_registry'] = registry.url;
  process.env['PIP_INDEX_URL'] = `${registry.url}/simple`;
});

it('a script of a package is not run', async () => {
  if (!hasSandbox) return expectRefused();
  const reach = `node -e "fetch('${registry.url}/reached')"`;
  const bad = registry.addToNpm('bad', { 'index.js': '' }, { scripts: { postinstall: reach } });
  await upload('scripted', locked('bad', { 'node_modules/bad': bad }, { bad: '1.0.0' })).expect(201);
  expect(registry.asked).toEqual(['/bad/-/bad-1.0.0.tgz']);
});

it('what cannot be installed is told with the words of npm and pip', async () => {
  if (!hasSandbox) return expectRefused();
  const missing = { version: '1.0.0', resolved: 'http://x/gone/-/gone-1.0.0.tgz', integrity: 'sha512-AAAA' };
  const npm = await upload('x', locked('gone', { 'node_modules/gone': missing }, { gone: '1.0.0' })).expect(
    400,
  );
  expect(npm.body).toMatchObject({
    errors: [{ pointer: '/package.json' }],
    detail: expect.stringMatching(/npm ci ended with exit code 1[^]*404/),
  });
  const pip = await upload('x', [
    manifest('python3', 'x.py'),
    { path: 'requirements.txt', content: 'gone==1' },
  ]).expect(400);
  expect(pip.body.detail).toMatch(/pip install ended with exit code 1[^]*gone==1/);
  await tk.http.get('/api/v1/custom-tools/x').expect(404);
});

describe('a local package whose build runs code, named behind a comment that ends in a backslash', () => {
  const outside = join(tmpdir(), `toolkeeper-hostile-${process.pid}`);
  const [key, loot] = [join(outside, 'admin.key'), join(outside, 'loot')];
  const requirements = `# a comment \\\n${join(outside, 'package')}\n`;
  beforeAll(() => {
    const backend = `
import os
open(${JSON.stringify(loot)}, "w").write(str(os.getuid()) + open(${JSON.stringify(key)}).read())
`;
    mkdirSync(join(outside, 'package'), { recursive: true });
    writeFileSync(key, 'a secret', { mode: 0o600 });
    writeFileSync(join(outside, 'requirements.txt'), requirements);
    writeFileSync(join(outside, 'package', 'backend.py'), backend);
    writeFileSync(
      join(outside, 'package', 'pyproject.toml'),
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    );
  });
  afterAll(() => rmSync(outside, { recursive: true, force: true }));

  it('runs it outside of the sandbox: the control', () => {
    const args = ['-m', 'pip', 'install', '--only-binary=:all:', '--target', join(outside, 'target')];
    spawnSync('/usr/bin/python3', [...args, '-r', join(outside, 'requirements.txt')]);
    expect(readFileSync(loot, 'utf8')).toContain('a secret');
    rmSync(loot);
  });

  it('reads nothing and writes nothing when a bundle names it', async () => {
    await upload('hostile', [
      manifest('python3', 'x.py'),
      { path: 'requirements.txt', content: requirements },
    ]).expect(400, /"pointer":"\/requirements.txt"/);
    expect(existsSync(loot)).toBe(false);
  });
});

it('where no sandbox reaches the registry alone nothing is installed, and the reason says so', async () => {
  const weak = await startApp({
    BUNDLE_INSTALLS: 'true',
    SANDBOX_MAX_TIER: '1',
    SANDBOX: 'best-effort',
  });
  try {
    const { body } = await weak.http
      .post('/api/v1/custom-tools/weak/bundle')
      .set('content-type', 'application/gzip')
      .send(archiveOf([manifest('python3', 'x.py'), { path: 'requirements.txt', content: 'a==1' }]))
      .expect(400);
    expect(body.errors[0]).toEqual({
      pointer: '/requirements.txt',
      detail: expect.stringMatching(
        /nothing but their registry; here that needs bubblewrap.*bring|Bring them along as site-packages/,
      ),
    });
  } finally {
    await weak.close();
  }
});

it('a hundred thousand entries are given up early', async () => {
  const block = tarOf([{ path: 'x' }]).subarray(0, 512);
  const many = gzipSync(Buffer.concat([...Array<Buffer>(100_000).fill(block), Buffer.alloc(1_024)]));
  const names = archiveOf(
    Array.from({ length: 100_000 }, (_, n) => ({ path: `${n}`, type: 'Directory' as const })),
  );
  for (const archive of [many, names]) {
    const answer = await tk.http
      .post('/api/v1/custom-tools/many/bundle')
      .set('content-type', 'application/gzip')
      .send(archive)
      .expect(400);
    expect(answer.text).toMatch(/twice|more than 20000 files/);
  }
});
