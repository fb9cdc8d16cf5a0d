import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { built } from '../support/built.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: git, npm and a clone of the repository with the scripts of this checkout; mock: nothing

const folder = makeTestFolder();
const clone = join(folder, 'clone');
const someone = { NAME: 'Somebody', EMAIL: 'somebody@example.com' };
const env = {
  ...process.env,
  ...Object.fromEntries(
    Object.entries(someone).flatMap(([name, value]) => [
      [`GIT_AUTHOR_${name}`, value],
      [`GIT_COMMITTER_${name}`, value],
    ]),
  ),
};
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: clone, env, encoding: 'utf8' }).trim();
const read = (name: string): string => readFileSync(join(clone, name), 'utf8');
const release = (...args: string[]) => {
  const { status, stdout } = spawnSync(process.execPath, ['scripts/release.mjs', ...args], {
    cwd: clone,
    env,
    encoding: 'utf8',
  });
  return { status, stdout };
};

beforeAll(() => {
  const root = built();
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${root}`, clone], { stdio: 'pipe' });
  for (const name of ['.gitignore', 'scripts', 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(clone, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  appendFileSync(join(clone, '.git/info/exclude'), '/node_modules\n');
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--message', 'as in this checkout');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('refuses what would be no release, and changes nothing', () => {
  const head = git('rev-parse', 'HEAD');
  expect(release('1.0')).toEqual({ status: 1, stdout: expect.stringContaining('usage:') });
  writeFileSync(join(clone, 'README.md'), 'changed');
  expect(release('9.8.7')).toEqual({ status: 1, stdout: expect.stringContaining('README.md') });
  git('checkout', '--quiet', 'README.md');
  expect(release('9.8.7', '--dry-run')).toEqual({
    status: 0,
    stdout: expect.stringContaining('9.8.7 could be made'),
  });
  expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual([head, '', '']);
});

it('sets the version, dates the changelog, packs, lists the packages, commits and tags', () => {
  expect(release('9.8.7')).toEqual({ status: 0, stdout: expect.stringContaining('v9.8.7 is committed') });
  expect(git('tag', '--points-at', 'HEAD')).toBe('v9.8.7');
  expect(git('status', '--porcelain')).toBe('');
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: '9.8.7' });
  expect(JSON.parse(read('package-lock.json'))).toMatchObject({ packages: { '': { version: '9.8.7' } } });
  expect(read('docker/k8s/base/kustomization.yaml')).toContain('newTag: 9.8.7\n');
  expect(read('CHANGELOG.md')).toMatch(/^## Unreleased\n\n## 9\.8\.7 - \d{4}-\d\d-\d\d\n/m);
  expect(readdirSync(join(clone, 'release')).sort()).toEqual([
    'toolkeeper-9.8.7.cdx.json',
    'toolkeeper-9.8.7.tgz',
  ]);
  const sbom = JSON.parse(read('release/toolkeeper-9.8.7.cdx.json'));
  expect(sbom.metadata.component).toMatchObject({ name: 'toolkeeper', version: '9.8.7' });
  const names = sbom.components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg']));
  expect(names).not.toContain('jest');
  const packed = execFileSync('tar', ['-tzf', join(clone, 'release/toolkeeper-9.8.7.tgz')], {
    encoding: 'utf8',
  });
  expect(packed).toContain('package/dist/src/main.js');
  expect(existsSync(join(clone, 'node_modules', '.toolkeeper-setup.lock'))).toBe(false);
});

it('refuses an empty section, and a version that is released', () => {
  expect(release('9.8.7').stdout).toContain('has version 9.8.7 already');
  expect(release('9.8.8').stdout).toContain('nothing in the section');
});
