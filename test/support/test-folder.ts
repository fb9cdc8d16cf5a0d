import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../../src/base/database/embedded/embedded-postgres.js';
import { identityOf, lives } from '../../src/base/common/process-identity.js';

const prefix = 'toolkeeper-test-';

/**
 * A new folder, open to tools that run as users of their own, whose name tells which process made it. An embedded server of a test belongs into its
 * subfolder `postgres` (so does that of an application whose data directory it is): see below.
 */
export function makeTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${identityOf(process.pid)}-`));
  chmodSync(folder, process.getuid?.() === 0 ? 0o777 : 0o755);
  return folder;
}

/** A run that was killed could not clean up: the next one ends its servers and removes its folders. */
export async function removeDeadTestFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const maker = new RegExp(`^${prefix}(\\d+-\\d+)-`).exec(name)?.[1];
    if (maker === undefined || lives(maker)) continue;
    const folder = join(tmpdir(), name);
    // Another user's folder is for that user's next run.
    if (![0, statSync(folder).uid].includes(userInfo().uid)) continue;
    await new EmbeddedPostgres({ directory: join(folder, 'postgres') }).stopForAll();
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A test of full disks that was killed leaves one mounted. */
function unmountBelow(folder: string): void {
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, at = ''] = line.split(' ');
    if (at.startsWith(`${folder}/`)) execFileSync('umount', ['--lazy', at], { stdio: 'pipe' });
  }
}
