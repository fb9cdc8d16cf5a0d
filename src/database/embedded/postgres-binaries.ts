import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../common/message-of.js';
import { copyOnce } from './binaries-copy.js';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import type { ServerUser } from './server-user.js';

const run = promisify(execFile);

export interface BinariesOptions {
  /** The npm package's folder; by default that of the package for this platform. */
  readonly packageDir?: string;
  /** Where a copy may go when the server's user cannot use the package itself; tried in this order. */
  readonly copyRoots?: readonly string[];
}

/** The server's programs as the npm package brings them. */
export class PostgresBinaries {
  constructor(private readonly options: BinariesOptions = {}) {}

  /**
   * The folder with `bin`, `lib` and `share`, proven to run as `user`: the package itself, else a copy of it.
   * @throws EmbeddedPostgresError when there is no package for this platform or nothing of it runs
   */
  async usableBy(user: ServerUser): Promise<string> {
    const packageDir = this.options.packageDir ?? findPackage();
    const reasons: string[] = [];
    const places = [
      async () => packageDir,
      ...(this.options.copyRoots ?? ['/var/tmp', tmpdir()]).map((root) => () => copyOnce(packageDir, root)),
    ];
    for (const place of places) {
      try {
        return await proven(await place(), user);
      } catch (error) {
        reasons.push(messageOf(error).trim());
      }
    }
    throw new EmbeddedPostgresError(`its programs do not run here (${reasons.join('; ')})`);
  }
}

/** @throws Error with the reason when the programs under `packageDir` do not run as `user` */
async function proven(packageDir: string, user: ServerUser): Promise<string> {
  await restoreLinks(packageDir);
  const native = join(packageDir, 'native');
  for (const program of ['postgres', 'initdb']) {
    await run(join(native, 'bin', program), ['--version'], { ...user, cwd: '/', env: {} });
  }
  return native;
}

/**
 * npm packages hold no symbolic links: the package makes those of its libraries in an install script, which
 * `--ignore-scripts` leaves out.
 */
async function restoreLinks(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageDir, target);
    if (existsSync(link)) continue;
    await rm(link, { force: true }); // A link that leads nowhere.
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (error) {
    throw new EmbeddedPostgresError(`the npm package ${name} is not installed or does not exist`, {
      cause: error,
    });
  }
}
