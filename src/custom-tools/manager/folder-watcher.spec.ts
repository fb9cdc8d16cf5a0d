import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
/** Made, and taken away again where it is too soon. */
function isMadeAfter(birthtimeNs: bigint, made: string): boolean {
  if (statSync(made, { bigint: true }).birthtimeNs > birthtimeNs) return true;
  rmSync(made, { recursive: true });
  return false;
}
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
  const { birthtimeNs } = statSync(a, { bigint: true });
  rmSync(a, { recursive: true });
  // Whatever inode it is given. File systems tell times by the tick of the kernel's clock.
  await until(() => isMadeAfter(birthtimeNs, folder('a')), { what: 'another time of birth' });
  await watcher.watchOnly([a]);
  writeFileSync(join(a, 'again'), '');
  await notices(join(a, 'again'));
  expect(errors).toEqual([]);
});
