import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { KeyFileError, makeKeyFile, readKeyFile } from '../../base/config/key-file.js';
import { type AppConfig, ConfigurationError } from '../../base/config/app-config.js';

/** The key a request brings: `Authorization: Bearer <key>`, else `x-api-key`. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const { authorization = '', 'x-api-key': plain } = headers;
  if (/^bearer +\S+ *$/i.test(authorization)) return authorization.slice('bearer'.length).trim();
  return typeof plain === 'string' ? plain : undefined;
}

/** Generates a key, `tk_<id>_<secret>`. The id is public; ids sort by creation time. */
export function newKey(at = Date.now()): { readonly id: string; readonly key: string } {
  const id = at.toString(16).padStart(12, '0') + randomBytes(4).toString('hex');
  return { id, key: `tk_${id}_${randomBytes(32).toString('base64url')}` };
}

/** The id in a key; undefined if it has none, as ADMIN_API_KEY. */
export const idIn = (key: string): string | undefined => /^tk_([0-9a-f]{20})_/.exec(key)?.[1];

/**
 * The stored part of a key. SHA-256 is enough for random secrets (and costs 3 µs where scrypt costs 49 ms); hashes have one
 * length, so that their comparison takes the same time for every guess.
 */
export const hashOfKey = (key: string): Buffer => hash('sha256', key, 'buffer');

const minCharacters = 16;

/**
 * The operator's key of this server: ADMIN_API_KEY, else the one in `admin.key` of the data directory, which is
 * made at the first start. Tools, and pages of other ports, stand on loopback as well: being there proves nothing.
 */
export class AdminKey {
  /** Undefined if there is none, so that no API key is required. */
  readonly hash: Buffer | undefined;
  /** The file with the key; undefined if the key was configured, or if there is none. */
  readonly file: string | undefined;

  /** @throws KeyFileError if the file holds no key, or none can be made */
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
  if (usable && usable.length >= minCharacters && !/\s/.test(usable)) return usable;
  throw new KeyFileError(
    `The key file ${file} holds no key of ${minCharacters} characters or more: put it back, or remove it and another is made`,
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

/**
 * Registering a tool is running code: a server that others can reach does not start without a key by accident.
 * @throws ConfigurationError naming both ways out
 */
export function assertSafeToExpose({ auth, server }: Pick<AppConfig, 'auth' | 'server'>): void {
  if (server.loopback || auth.adminKey || auth.mode === 'off') return;
  throw new ConfigurationError(
    `HOST=${server.host} can be reached from other machines, and its callers may run code: ` +
      'set ADMIN_API_KEY (16 characters or more), or AUTH_MODE=off if something in front of the server asks for a key.',
  );
}
