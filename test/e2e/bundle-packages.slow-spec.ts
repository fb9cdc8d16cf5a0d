import { rmSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { archiveOf, type Entry, tarOf } from '../support/bundle.js';
import type { Json } from '../support/json.js';
import { PackageRegistry } from '../support/package-registry.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: npm and pip, a registry of each on loopback, two servers, tools' processes; mock: nothing

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
  expect(bundle.installLog).toMatch(
    /^\$ python3 -m pip install --only-binary=:all:[^]*Successfully installed greeting-1.0.0/,
  );

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

it('a package that needs a script is named, and none is run', async () => {
  const reach = `node -e "fetch('${registry.url}/reached')"`;
  const bad = registry.addToNpm('bad', { 'index.js': '' }, { scripts: { postinstall: reach } });
  const entries = locked('bad', { 'node_modules/bad': bad }, { bad: '1.0.0' });
  const { body } = await upload('hostile', entries).expect(400);
  expect(body.detail).toContain('bad, which needs its postinstall script');
  expect(registry.asked).toEqual(['/bad/-/bad-1.0.0.tgz']);
});

it('what cannot be installed is told with the words of npm and pip', async () => {
  const missing = { version: '1.0.0', resolved: 'http://x/gone/-/gone-1.0.0.tgz', integrity: 'sha512-AAAA' };
  const npm = await upload('x', locked('gone', { 'node_modules/gone': missing }, { gone: '1.0.0' })).expect(
    400,
  );
  expect(npm.body).toMatchObject({
    errors: [{ pointer: '/package.json' }],
    detail: expect.stringMatching(/npm ended with exit code 1[^]*404/),
  });
  const pip = await upload('x', [
    manifest('python3', 'x.py'),
    { path: 'requirements.txt', content: 'gone==1' },
  ]).expect(400);
  expect(pip.body.detail).toMatch(/python3 ended with exit code 1[^]*gone==1/);
  await tk.http.get('/api/v1/custom-tools/x').expect(404);
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
