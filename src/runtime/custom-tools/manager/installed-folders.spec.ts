import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../../test/support/wait.js';
import { InstalledFolders } from './installed-folders.js';

// real: folders and the system's notices; mock: nothing

let root: string;
let folders: InstalledFolders;
let changes: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolkeeper-watch-'));
  changes = 0;
  folders = new InstalledFolders(root, () => changes++);
});
afterEach(() => {
  folders.close();
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
const isNoticed = async (path: string): Promise<void> => {
  const before = changes;
  writeFileSync(path, '');
  await until(() => changes > before, { what: `a notice of ${path}` });
};

it('notices what may change a tool, and nothing else that a tool writes beside itself', async () => {
  const a = folder('a');
  await folders.watch();
  await isNoticed(join(a, 'tool.json'));
  await isNoticed(join(a, 'tool.py'));
  await isNoticed(join(root, 'b'));
  const before = changes;
  writeFileSync(join(a, 'data.log'), '');
  await isNoticed(join(a, 'other.sh'));
  // Writing a file anew makes at most two notices: of its name, and of its content.
  expect(changes - before).toBeLessThanOrEqual(2);
});

it('watches nothing once it is closed, even if it was reading the folders', async () => {
  const a = folder('a');
  const reading = folders.watch();
  folders.close();
  await reading;
  writeFileSync(join(a, 'tool.json'), '');
  writeFileSync(join(root, 'b'), '');
  let seen = 0;
  const others = new InstalledFolders(root, () => seen++);
  await others.watch();
  writeFileSync(join(root, 'c'), '');
  await until(() => seen > 0, { what: 'a notice to a watcher that is open' });
  others.close();
  expect(changes).toBe(0);
});

it('watches a folder anew that was made anew', async () => {
  const a = folder('a');
  await folders.watch();
  const { birthtimeNs } = statSync(a, { bigint: true });
  rmSync(a, { recursive: true });
  // Whatever inode it is given. File systems tell times by the tick of the kernel's clock.
  await until(() => isMadeAfter(birthtimeNs, folder('a')), { what: 'another time of birth' });
  await folders.watch();
  await isNoticed(join(a, 'again.py'));
});
