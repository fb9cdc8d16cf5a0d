import { constants, type Stats } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { acquireLock } from '../../common/lock.js';

const lockTimeoutMs = 30_000;

/**
 * A copy of the package that every user can read, made once per version and kept for the next start.
 * @returns the copy's folder, laid out as the package
 * @throws Error when the place is somebody else's or cannot be written
 */
export async function copyOnce(packageDir: string, root: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  const uid = process.getuid?.() ?? 0;
  const copy = join(root, `toolkeeper-postgres-${version}-${uid}`);
  const files = await filesOf(packageDir);
  if (await isComplete(packageDir, copy, files, uid)) return copy;
  const release = await acquireLock(`${copy}.lock`, lockTimeoutMs);
  try {
    // Another start may have made it while we waited.
    if (!(await isComplete(packageDir, copy, files, uid))) await replace(packageDir, copy, files);
    return copy;
  } finally {
    await release();
  }
}

/** A copy that was cut short is removed by the next one. */
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
 * Cleaners of temporary folders remove single files; and in a folder that everybody may write to, only what is ours
 * and closed to others may be run.
 */
async function isComplete(packageDir: string, copy: string, files: string[], uid: number): Promise<boolean> {
  const folder = await lstat(copy).catch(() => undefined);
  if (!folder) return false;
  if (!folder.isDirectory() || folder.uid !== uid || (folder.mode & 0o022) !== 0) {
    throw new Error(`${copy} belongs to another user`);
  }
  const same = await Promise.all(
    files.map(async (file) => {
      const [original, copied] = await Promise.all([lstat(join(packageDir, file)), sizeOf(join(copy, file))]);
      return original.size === copied;
    }),
  );
  return same.every(Boolean);
}

const sizeOf = (path: string): Promise<number | undefined> =>
  lstat(path).then(
    (stats: Stats) => stats.size,
    () => undefined,
  );

async function copyFiles(from: string, to: string, files: string[]): Promise<void> {
  const folders = new Set(['.', 'native', ...files.flatMap(parentsOf)]);
  for (const folder of [...folders].sort()) {
    await mkdir(join(to, folder)); // Fails where somebody else put one: nothing is run from there.
    await chmod(join(to, folder), 0o755); // The umask may have narrowed it.
  }
  await Promise.all(
    files.map(async (file) => {
      const { mode } = await lstat(join(from, file));
      await copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE);
      await chmod(join(to, file), mode & 0o100 ? 0o755 : 0o644);
    }),
  );
}

function parentsOf(file: string): string[] {
  const folder = dirname(file);
  return folder === '.' ? [] : [folder, ...parentsOf(folder)];
}
