import { spawnSync } from 'node:child_process';
import { mkdtempSync, chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Under root each tool runs as a user of its own. Where such a user cannot reach the checkout (it lies below a home of
 * mode 0700), the tests run in a copy that it can reach.
 * @returns the folder that the tests run in
 */
export function openCheckout(checkout) {
  if (process.getuid?.() !== 0 || isOpen(checkout)) return checkout;
  // A run that was killed leaves such a folder behind, which the next one removes (test-folder.ts).
  const started = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ')[19];
  const folder = mkdtempSync(join(tmpdir(), `toolkeeper-test-${process.pid}-${started}-`));
  chmodSync(folder, 0o755);
  for (const name of readdirSync(checkout)) {
    if (['.git', '.toolkeeper', 'node_modules'].includes(name)) continue;
    spawnSync('cp', ['-a', join(checkout, name), folder]);
  }
  const packages = [join(checkout, 'node_modules'), join(folder, 'node_modules')];
  // Another disk takes no links of files.
  if (spawnSync('cp', ['-al', ...packages]).status !== 0) {
    rmSync(packages[1], { recursive: true, force: true });
    if (spawnSync('cp', ['-a', ...packages]).status !== 0) symlinkSync(...packages);
  }
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.chdir(folder);
  return folder;
}

function isOpen(folder) {
  const isReached = (statSync(folder).mode & 0o001) !== 0;
  return isReached && (folder === dirname(folder) || isOpen(dirname(folder)));
}
