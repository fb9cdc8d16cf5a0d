import { chmodSync, mkdirSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProgramFiles } from './program-files.js';

// real: files; mock: nothing

let root: string;
let files: ProgramFiles;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolkeeper-program-'));
  files = new ProgramFiles(root, join(root, 'installed'), join(root, 'installed', '.bundles'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (path: string, content = path, mode = 0o644): string => {
  const full = join(root, path);
  mkdirSync(join(full, '..'), { recursive: true });
  writeFileSync(full, content, { mode });
  chmodSync(full, mode);
  return full;
};
const of = (command: string, args: string[], cwd = root) => files.of({ command, args, cwd, env: {} });
const paths = async (command: string, args: string[], cwd = root): Promise<string[]> =>
  (await of(command, args, cwd)).map(({ path }) => path);

it('are the command and the scripts among the arguments; data is none', async () => {
  const command = put('bin/interpreter');
  put('tool.py');
  put('sub/run', '#!/bin/sh\n');
  put('native', 'ELF', 0o755);
  put('data.csv');
  put('short', '#');
  mkdirSync(join(root, 'folder.py'));
  const args = ['-u', 'tool.py', 'sub/run', './native', 'data.csv', 'short', 'folder.py', 'gone.py', ''];
  await expect(paths(command, args)).resolves.toEqual(['bin/interpreter', 'native', 'sub/run', 'tool.py']);
});

it('are every script of the folder of an installed tool, without its dependencies and data', async () => {
  const command = put('bin/interpreter');
  const folder = join(root, 'installed', 'tool');
  for (const path of ['a.py', 'lib/b.py', 'tool.json', 'notes.txt', '.git/c.py', 'node_modules/x/d.js']) {
    put(`installed/tool/${path}`);
  }
  put('installed/tool/helper', 'binary', 0o755);
  const installed = 'installed/tool';
  await expect(paths(command, [], folder)).resolves.toEqual([
    'bin/interpreter',
    `${installed}/a.py`,
    `${installed}/helper`,
    `${installed}/lib/b.py`,
  ]);
  await expect(paths(command, [], join(root, 'installed'))).resolves.toEqual(['bin/interpreter']);
});

it('are identified by their content, whenever they were written', async () => {
  const path = put('tool.py', 'one');
  const [first] = await of(path, []);
  expect(first).toMatchObject({ path: 'tool.py', size: 3, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  utimesSync(path, new Date(0), new Date(0));
  const [touched] = await of(path, []);
  expect(touched).toEqual({ ...first, modifiedAt: '1970-01-01T00:00:00.000Z' });
  // The same size and the same time: only the content tells.
  writeFileSync(path, 'two');
  utimesSync(path, new Date(0), new Date(0));
  const [changed] = await of(path, []);
  expect(changed?.hash).not.toBe(first?.hash);
});

it('of more than 16 MiB are not read', async () => {
  const path = put('large.bin');
  truncateSync(path, 16 * 1_048_576 + 1);
  await expect(of(path, [])).resolves.toMatchObject([{ size: 16 * 1_048_576 + 1, hash: null }]);
  truncateSync(path, 16 * 1_048_576);
  await expect(of(path, [])).resolves.toMatchObject([{ hash: expect.any(String) }]);
});

it('outside the project keep their whole path', async () => {
  await expect(paths('/bin/sh', [])).resolves.toEqual(['/bin/sh']);
});
