import { execSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { obstacleFor } from './path-access.js';

// real: files, folders and their modes; mock: nothing

const uid = 1_900_000_007;
const folder = makeTestFolder();
const inner = join(folder, 'inner');
const file = join(inner, 'file');

beforeEach(() => {
  chmodSync(folder, 0o711);
  mkdirSync(inner);
  chmodSync(inner, 0o755);
  writeFileSync(file, '');
  chmodSync(file, 0o644);
});
afterEach(() => rmSync(inner, { recursive: true }));
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ['read', 'file', 0o644, true],
  ['read', 'file', 0o640, false],
  ['run', 'file', 0o644, false],
  ['run', 'file', 0o755, true],
  ['write', 'file', 0o664, false],
  ['write', 'file', 0o666, true],
  ['enter', 'folder', 0o711, true],
  ['enter', 'folder', 0o744, false],
  ['read', 'folder', 0o711, false],
  ['read', 'folder', 0o744, false],
  ['read', 'folder', 0o755, true],
  ['write', 'folder', 0o755, false],
  ['write', 'folder', 0o777, true],
] as const)('may another user %s a %s of mode %i: %s', async (use, what, mode, may) => {
  const path = what === 'file' ? file : inner;
  chmodSync(path, mode);
  const obstacle = await obstacleFor(uid, { path, use });
  expect(obstacle === undefined).toBe(may);
  if (may) return;
  expect(obstacle?.startsWith(`${path} `)).toBe(true);
  // What the message says opens the path.
  const [, chmod = ''] = /to allow it: (chmod .*)$/.exec(obstacle ?? '') ?? [];
  execSync(chmod);
  await expect(obstacleFor(uid, { path, use })).resolves.toBeUndefined();
});

it('names the outermost folder in the way, and what lies below it', async () => {
  for (const path of [folder, inner]) chmodSync(path, 0o700);
  await expect(obstacleFor(uid, { path: file, use: 'read' })).resolves.toBe(
    `${folder} is closed to user ${uid}, which the tool runs as, and ${file} lies below it; to allow it: chmod o+x ${folder}`,
  );
});

it('takes a folder behind a link as it is', async () => {
  chmodSync(inner, 0o700);
  const link = join(folder, 'link');
  symlinkSync(inner, link);
  await expect(obstacleFor(uid, { path: join(link, 'file'), use: 'read' })).resolves.toContain(link);
  rmSync(link);
});

it('has nothing against what is not there', async () => {
  await expect(obstacleFor(uid, { path: join(inner, 'missing'), use: 'run' })).resolves.toBeUndefined();
});

it('leaves a user what is its own, or its group’s', async () => {
  const asRoot = process.getuid?.() === 0;
  const [owner, group] = asRoot ? [uid, uid + 1] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (asRoot) chownSync(file, owner, group);
  chmodSync(file, 0o600);
  await expect(obstacleFor(owner, { path: file, use: 'write' })).resolves.toBeUndefined();
  if (!asRoot) return;
  await expect(obstacleFor(group, { path: file, use: 'read' })).resolves.toContain(file);
  chmodSync(file, 0o060);
  await expect(obstacleFor(group, { path: file, use: 'write' })).resolves.toBeUndefined();
  await expect(obstacleFor(owner, { path: file, use: 'read' })).resolves.toContain(file);
});
