import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../test/support/wait.js';
import { FolderWatcher } from './folder-watcher.js';

// real: folders and the system's notices; mock: nothing

let root: string;
let watcher: FolderWatcher;
const seen: string[] = [];
const errors: unknown[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolkeeper-watch-'));
  seen.length = errors.length = 0;
  watcher = new FolderWatcher(
    (folder, name) => seen.push(join(folder, name ?? '')),
    (_folder, error) => errors.push(error),
  );
});
afterEach(() => {
  watcher.close();
  rmSync(root, { recursive: true, force: true });
});

const folder = (name: string): string => {
  mkdirSync(join(root, name));
  return join(root, name);
};
const notices = (path: string) => until(() => seen.includes(path), { what: `a notice of ${path}` });

it('tells changes in its folders and in no others', async () => {
  const [a, b] = [folder('a'), folder('b')];
  await watcher.watchOnly([a, b]);
  writeFileSync(join(a, 'x'), '');
  await notices(join(a, 'x'));
  await watcher.watchOnly([b]);
  writeFileSync(join(a, 'unseen'), '');
  writeFileSync(join(b, 'y'), '');
  await notices(join(b, 'y'));
  expect(seen).not.toContain(join(a, 'unseen'));
});

it('watches a folder anew that was made anew, and lets one go that is no folder', async () => {
  const a = folder('a');
  await watcher.watchOnly([a, join(root, 'none')]);
  rmSync(a, { recursive: true });
  // Takes the inode, so that the new folder gets another one.
  folder('other');
  folder('a');
  await watcher.watchOnly([a]);
  writeFileSync(join(a, 'again'), '');
  await notices(join(a, 'again'));
  expect(errors).toEqual([]);
});
