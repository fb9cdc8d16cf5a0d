import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from '../common/start-error.js';

/** A key file is unusable; the message says why and what to do. */
export class KeyFileError extends StartError {
  override readonly name = 'KeyFileError';
}

/** The text of a key file, which is made private if it is not; undefined if there is none. @throws KeyFileError */
export function readKeyFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return text;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOTDIR: a path below a file does not exist either.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new KeyFileError(`The key file ${path} cannot be read, or not be made private (${code})`);
  }
}

/** Makes a key file and its folder, atomically. A file that another server has just made stays. @throws the system's error */
export function makeKeyFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    if (!existsSync(path)) linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
