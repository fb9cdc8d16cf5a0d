import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: docker/Dockerfile, .dockerignore, package.json, the set-up, npm; mock: nothing. No container engine is needed.

const root = projectRoot();
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const linesOf = (path: string): string[] =>
  read(path)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Docker's patterns: `*` and `?` match within a name, `**` any number of folders. */
const parts: Record<string, string> = { '**/': '(.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };
const expression = (pattern: string): string =>
  pattern.replace(/\*\*\/|\*\*|[*?]|[.+^${}()|[\]\\]/g, (part) => parts[part] ?? `\\${part}`);
const rules = linesOf('.dockerignore').map((line) => ({
  isIncluded: line.startsWith('!'),
  pattern: new RegExp(`^${expression(line.replace(/^!/, ''))}(/|$)`),
}));
/** The last rule that matches the path, or a folder above it, decides. */
const isInContext = (path: string): boolean =>
  rules.findLast(({ pattern }) => pattern.test(path))?.isIncluded ?? true;

const instructions = linesOf('docker/Dockerfile');
const copies = instructions.flatMap((line) => {
  const [, from, paths = ''] = /^COPY (?:--from=(\w+) )?(.+)$/.exec(line) ?? [];
  return paths
    .split(' ')
    .slice(0, -1)
    .map((source) => ({ from, source }));
});

it.each(copies.filter(({ from }) => from === undefined))('the build context has $source', ({ source }) => {
  const below = statSync(join(root, source)).isDirectory()
    ? readdirSync(join(root, source), { recursive: true }).map((name) => join(source, String(name)))
    : [source];
  expect(below.some(isInContext)).toBe(true);
});

it.each([
  ['.git/config', false],
  ['.env', false],
  ['.toolkeeper/admin.key', false],
  ['node_modules/pg/package.json', false],
  ['console/node_modules/x.js', false],
  ['console/dist/index.html', false],
  ['tools/installed/.bundles/x', false],
  ['src/base/database/database-log.spec.ts', false],
  ['native/launcher.c', false],
  ['src/main.ts', true],
  ['native/bin/launcher', true],
  ['bin/toolkeeper.mjs', true],
])('.dockerignore: %s is in the context: %s', (path, expected) => {
  expect(isInContext(path)).toBe(expected);
});

it('the image has what the npm package has, documents aside', () => {
  const ofLastStage = copies.slice(copies.findIndex(({ from }) => from !== undefined));
  const folders = ofLastStage.map(({ source }) => `${source.replace('/app/', '')}/`);
  const { files } = JSON.parse(read('package.json')) as { files: string[] };
  const needed = files.filter((path) => !/^!|^docs$|\.md$/.test(path));
  expect(needed).toContain('bin');
  expect(needed.filter((path) => !folders.some((folder) => `${path}/`.startsWith(folder)))).toEqual([]);
});

it('each base image has a digest', () => {
  const stages = instructions.flatMap((line) => /^FROM \S+ AS (\w+)/.exec(line)?.[1] ?? []);
  const images = instructions.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? []);
  const bases = images.filter((image) => !stages.includes(image));
  expect(bases).not.toEqual([]);
  expect(bases.filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
});

it('Kubernetes runs the image of this version', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(read('docker/k8s/base/kustomization.yaml')).toContain(`newTag: ${version}\n`);
});

describe('the installation of packages', () => {
  const folder = makeTestFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (cwd: string, ...args: string[]) =>
    execFileSync('npm', [...args, '--offline', '--loglevel=error'], { cwd, stdio: 'pipe' });
  const write = (path: string, value: object) => writeFileSync(join(folder, path), JSON.stringify(value));
  const install = () =>
    spawnSync(process.execPath, ['scripts/setup.mjs', '--packages'], { cwd: folder, encoding: 'utf8' });
  const dependOn = (version: string) =>
    write('package.json', {
      name: 'x',
      version: '1.0.0',
      dependencies: { part: `file:part-${version}.tgz` },
    });

  beforeAll(() => {
    for (const path of ['scripts', 'part']) mkdirSync(join(folder, path));
    for (const path of ['scripts/setup.mjs', '.npmrc']) cpSync(join(root, path), join(folder, path));
    for (const version of ['1.0.0', '2.0.0']) {
      write('part/package.json', { name: 'part', version });
      npm(folder, 'pack', './part');
    }
    dependOn('1.0.0');
    npm(folder, 'install', '--package-lock-only');
  });

  it('ends where the lock names what is installed, and leaves it as it is', () => {
    const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
    expect(install()).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).toBe(lock);
  });

  it('fails where the lock is older than package.json', () => {
    dependOn('2.0.0');
    expect(install()).toMatchObject({ status: 1, stderr: expect.stringContaining('node_modules/part') });
  });
});
