import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.js';
import { wrong } from '../rest/wrong-field.js';
import { KeyFileError } from '../config/key-file.js';

export type PlainEnv = Readonly<Record<string, string>>;

/** A stored value cannot be read; the message says which and why, and nothing of its content. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable';
}

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts the values of tools' environments. The tool's id and the variable's name are bound in as associated data:
 * a ciphertext that is copied to another tool or name does not open.
 */
export class EnvCipher {
  constructor(private readonly keys: KeyRing) {}

  /** @throws KeyFileError when there is no key and none can be kept */
  seal(toolId: string, env: PlainEnv): StoredEnv {
    return mapValues(env, (value, name) => this.sealOne(toolId, name, value));
  }

  /** @throws SecretUnreadable for the first value whose key is missing, or that was tampered with */
  open(toolId: string, env: StoredEnv): PlainEnv {
    return mapValues(env, (stored, name) => this.openOne(toolId, name, stored));
  }

  /** Whether every value is under the key that encrypts now. */
  isCurrent(env: StoredEnv): boolean {
    const values = Object.values(env);
    if (values.length === 0) return true;
    const { id } = this.keys.primary();
    return values.every((value) => typeof value !== 'string' && value.key === id);
  }

  /**
   * The same values under the key that encrypts now; those that are already are left as they are, letter by letter.
   * @throws SecretUnreadable
   */
  renew(toolId: string, env: StoredEnv): StoredEnv {
    if (this.isCurrent(env)) return env;
    const { id } = this.keys.primary();
    return mapValues(env, (stored, name) =>
      typeof stored !== 'string' && stored.key === id
        ? stored
        : this.sealOne(toolId, name, this.openOne(toolId, name, stored), identityOf(stored)),
    );
  }

  /** Like `seal`, but a value that is as before keeps its ciphertext, so that equal configurations compare equal. */
  sealLike(toolId: string, env: PlainEnv, before: StoredEnv): StoredEnv {
    return mapValues(env, (value, name) => {
      const stored = Object.hasOwn(before, name) ? before[name] : undefined;
      const same = stored !== undefined && this.tryOpen(toolId, name, stored) === value;
      return same ? stored : this.sealOne(toolId, name, value);
    });
  }

  private sealOne(toolId: string, name: string, value: string, identity = newIdentity()): SealedValue {
    const { id: key, bytes } = this.keys.primary();
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce).setAAD(associated(toolId, name));
    const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return {
      alg: 'A256GCM',
      id: identity,
      key,
      nonce: nonce.toString('base64'),
      data: data.toString('base64'),
    };
  }

  private openOne(toolId: string, name: string, stored: SealedValue | string): string {
    if (typeof stored === 'string') return stored;
    const key = this.keys.find(stored.key);
    if (!key) {
      throw new SecretUnreadable(
        `${name} is encrypted under the key ${stored.key}, which neither SECRETS_KEY nor the key file holds`,
      );
    }
    try {
      const data = Buffer.from(stored.data, 'base64');
      const nonce = Buffer.from(stored.nonce, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes })
        .setAAD(associated(toolId, name))
        .setAuthTag(data.subarray(-tagBytes));
      return Buffer.concat([decipher.update(data.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      throw new SecretUnreadable(`${name} was changed in the database: its encrypted value does not open`);
    }
  }

  private tryOpen(toolId: string, name: string, stored: SealedValue | string): string | undefined {
    if (typeof stored === 'string') return undefined;
    try {
      return this.openOne(toolId, name, stored);
    } catch {
      return undefined;
    }
  }
}

const newIdentity = (): string => randomBytes(8).toString('hex');

const associated = (toolId: string, name: string): Buffer =>
  Buffer.from(JSON.stringify(['toolkeeper env 1', toolId, name]));

function mapValues<A, B>(
  of: Readonly<Record<string, A>>,
  map: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, map(value, name)]));
}

/** A value under AES-256-GCM as it stands in the database: base64, the tag at the end of `data`. */
export interface SealedValue {
  readonly alg: 'A256GCM';
  /** Stays when the same value comes under another key: equal configurations compare equal. */
  readonly id: string;
  /** Id of the key that opens it. */
  readonly key: string;
  readonly nonce: string;
  readonly data: string;
}

/** A tool's environment as it is stored, by variable. Text is a value from before there was encryption. */
export type StoredEnv = Readonly<Record<string, SealedValue | string>>;

/** Placeholder that answers show instead of a value. Sent back it leaves the value as it is. */
export const hiddenValue = '***';

/** Values of environment variables are write-only: an answer shows their names. */
export function withoutValues(env: StoredEnv): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, hiddenValue]));
}

/** Identity by which values are compared, which reveals nothing of the value. */
export function identityOf(stored: SealedValue | string): string | undefined {
  return typeof stored === 'string' ? undefined : stored.id;
}

/** An address without the values of its query: tokens stand there. */
export const shownUrl = (url: string): string => url.replaceAll(/([?&][^=&#]*=)[^&#]+/g, `$1${hiddenValue}`);

/** A change of a tool's environment: text sets a variable, null removes it, what is not named stays (RFC 7396). */
export type EnvChanges = Readonly<Record<string, string | null>>;

/**
 * The environment of a registration, sealed.
 * @param before what is stored already: a value that stays the same keeps its ciphertext
 * @throws Problem `invalid_request` naming the variable
 */
export function sealedEnv(box: EnvCipher, toolId: string, env: PlainEnv, before: StoredEnv = {}): StoredEnv {
  for (const [name, value] of Object.entries(env)) {
    if (value === hiddenValue) throw notTheValue(name);
  }
  return keyed(() => box.sealLike(toolId, env, before));
}

/**
 * A stored environment with changes. Values that stay are not opened, so that those under a lost key can be replaced
 * one by one.
 * @throws Problem `invalid_request` naming the variable
 */
export function changedEnv(
  box: EnvCipher,
  toolId: string,
  stored: StoredEnv,
  changes: EnvChanges,
): StoredEnv {
  const set: [name: string, value: string][] = [];
  const gone = new Set<string>();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) gone.add(name);
    else if (value !== hiddenValue) set.push([name, value]);
    else if (!Object.hasOwn(stored, name)) throw notTheValue(name);
  }
  const kept = Object.entries(stored).filter(([name]) => !gone.has(name));
  const sealed = keyed(() => box.sealLike(toolId, Object.fromEntries(set), stored));
  return { ...Object.fromEntries(kept), ...sealed };
}

const notTheValue = (name: string) =>
  wrong(`/env/${name}`, `must be the value itself: ${hiddenValue} only stands for one that is set`);

function keyed<T>(seal: () => T): T {
  try {
    return seal();
  } catch (error) {
    if (error instanceof KeyFileError) throw wrong('/env', `cannot be kept: ${error.message}`);
    throw error;
  }
}
