import { randomBytes } from 'node:crypto';
import { KeyFileError, makeKeyFile, readKeyFile } from '../common/key-file.js';
import type { AppConfig } from '../config/app-config.js';
import { hashOfKey } from './api-key.js';

const fewestCharacters = 16;

/**
 * The operator's key of this server: ADMIN_API_KEY, else the one in `admin.key` of the data directory, which is
 * made at the first start. Tools, and pages of other ports, stand on loopback as well: being there proves nothing.
 */
export class AdminKey {
  /** Undefined where there is none: nobody is asked for a key. */
  readonly hash: Buffer | undefined;
  /** Where the key is kept; undefined where it was configured, or where there is none. */
  readonly file: string | undefined;

  /** @throws KeyFileError when the file holds no key, or none can be made */
  constructor({ auth, server }: Pick<AppConfig, 'auth' | 'server'>) {
    // Off loopback a server without ADMIN_API_KEY does not start.
    const needsFile = auth.mode !== 'off' && auth.adminKey === undefined && server.loopback;
    this.file = needsFile ? auth.adminKeyFile : undefined;
    const key = this.file === undefined ? auth.adminKey : keyIn(this.file);
    this.hash = key === undefined ? undefined : hashOfKey(key);
  }
}

function keyIn(file: string): string {
  const key = readKeyFile(file) ?? made(file);
  const usable = key?.trim();
  if (usable && usable.length >= fewestCharacters && !/\s/.test(usable)) return usable;
  throw new KeyFileError(
    `The key file ${file} holds no key of ${fewestCharacters} characters or more: put it back, or remove it and another is made`,
  );
}

function made(file: string): string | undefined {
  try {
    makeKeyFile(file, `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new KeyFileError(`${file} cannot be written (${code}): set ADMIN_API_KEY, or TOOLKEEPER_DATA_DIR`);
  }
  return readKeyFile(file);
}
