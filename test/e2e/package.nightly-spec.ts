import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { built } from '../support/built.js';
import { noPlaybooks } from '../support/playbooks-dir.js';
import { makeTestFolder } from '../support/test-folder.js';
import { relayedClient } from '../support/mcp-relay.js';

// real: the tarball that npm packs, unpacked among the packages that it needs, its command line and its server;
// mock: nothing

const root = makeTestFolder();
const home = join(root, 'home');
const installed = join(root, 'node_modules', 'toolkeeper');
const program = join(installed, 'bin', 'toolkeeper.mjs');

beforeAll(() => {
  for (const folder of [home, installed]) mkdirSync(folder, { recursive: true });
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', root], {
    cwd: built(),
    stdio: 'pipe',
  });
  const [tarball = ''] = readdirSync(root).filter((file) => file.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', join(root, tarball), '-C', installed, '--strip-components=1']);
  const packages = join(built(), 'node_modules');
  for (const name of readdirSync(packages))
    if (!name.startsWith('.')) symlinkSync(join(packages, name), join(root, 'node_modules', name));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, [program, ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
  });

it('the packed command line has all that it needs, and keeps its data in the home directory', async () => {
  expect(run('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const created = run('tool', 'create', 'packed');
  expect([created.status, created.stderr]).toEqual([0, '']);
  expect(run('doctor').stdout).toContain(join(home, '.toolkeeper'));

  const { client } = await relayedClient({ HOME: home, PLAYBOOKS_DIR: noPlaybooks }, program);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('disk_usage');
  const registered = run('tool', 'register', 'packed');
  expect([registered.status, registered.stderr]).toEqual([0, '']);
  const result = await client.callTool({ name: 'packed', arguments: { query: 'x', limit: 1 } });
  expect(result.structuredContent).toMatchObject({ count: 1 });
  await client.close();
});

it('--help takes less than 200 ms of the whole process', () => {
  const tookMs = Array.from({ length: 5 }, () => {
    const began = performance.now();
    expect(run('--help').status).toBe(0);
    return performance.now() - began;
  });
  expect(Math.min(...tookMs)).toBeLessThan(200);
});
