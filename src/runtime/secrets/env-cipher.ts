import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { KeyFileError, makeKeyFile, readKeyFile } from '../../base/config/key-file.js';
import { secretKeysIn } from '../../base/config/setting.js';
import { wrong } from '../../web/rest/wrong-field.js';

export type PlainEnv = Readonly<Record<string, string>>;

/** A stored value cannot be decrypted. The message names the variable and the reason, never the content. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable';
}

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts the environment variables of tools. The tool's id and the variable's name are associated data: a ciphertext
 * that is copied to another tool or name cannot be decrypted.
 */
export class EnvCipher {
  constructor(private readonly keys: KeyRing) {}

  /** @throws KeyFileError if there is no key and none can be stored */
  seal(toolId: string, env: PlainEnv): StoredEnv {
    return mapValues(env, (value, name) => this.sealOne(toolId, name, value));
  }

  /** @throws SecretUnreadable for the first value that was tampered with or whose key is missing */
  open(toolId: string, env: StoredEnv): PlainEnv {
    return mapValues(env, (stored, name) => this.openOne(toolId, name, stored));
  }

  /** Whether all values are encrypted with the primary key. */
  isCurrent(env: StoredEnv): boolean {
    const values = Object.values(env);
    if (values.length === 0) return true;
    const { id } = this.keys.primary();
    return values.every((value) => value.key === id);
  }

  /**
   * Re-encrypts values with the primary key. Values that use it already keep their ciphertext.
   * @throws SecretUnreadable
   */
  renew(toolId: string, env: StoredEnv): StoredEnv {
    if (this.isCurrent(env)) return env;
    const { id } = this.keys.primary();
    return mapValues(env, (stored, name) =>
      stored.key === id ? stored : this.sealOne(toolId, name, this.openOne(toolId, name, stored), stored.id),
    );
  }

  /** Like `seal`, but unchanged values keep their ciphertext, so that equal configurations compare equal. */
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

  private openOne(toolId: string, name: string, stored: SealedValue): string {
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

  private tryOpen(toolId: string, name: string, stored: SealedValue): string | undefined {
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
  values: Readonly<Record<string, A>>,
  map: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}

/** A value encrypted with AES-256-GCM, as stored: base64, with the tag at the end of `data`. */
export interface SealedValue {
  readonly alg: 'A256GCM';
  /** Compares values without revealing them. Kept when the value is re-encrypted, so that equal configurations compare equal. */
  readonly id: string;
  /** Id of the encryption key. */
  readonly key: string;
  readonly nonce: string;
  readonly data: string;
}

/** A tool's environment as stored, by variable. */
export type StoredEnv = Readonly<Record<string, SealedValue>>;

/** Placeholder for values in answers. Sending it back leaves the value unchanged. */
export const hiddenValue = '***';

/** Hides the values for answers: environment variables are write-only. */
export function withoutValues(env: StoredEnv): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, hiddenValue]));
}

/** A URL with its query values hidden, because they may be tokens. */
export const shownUrl = (url: string): string => url.replaceAll(/([?&][^=&#]*=)[^&#]+/g, `$1${hiddenValue}`);

/** A merge patch (RFC 7396) of a tool's environment: text sets a variable, null removes it, others stay. */
export type EnvChanges = Readonly<Record<string, string | null>>;

/**
 * Encrypts the environment of a registration.
 * @param before the stored environment; unchanged values keep their ciphertext
 * @throws Problem `invalid_request` naming the variable
 */
export function sealedEnv(
  cipher: EnvCipher,
  toolId: string,
  env: PlainEnv,
  before: StoredEnv = {},
): StoredEnv {
  for (const [name, value] of Object.entries(env)) {
    if (value === hiddenValue) throw notTheValue(name);
  }
  return keyed(() => cipher.sealLike(toolId, env, before));
}

/**
 * Applies changes to a stored environment. Unchanged values are not decrypted, so that values under a lost key can be
 * replaced one by one.
 * @throws Problem `invalid_request` naming the variable
 */
export function changedEnv(
  cipher: EnvCipher,
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
  const sealed = keyed(() => cipher.sealLike(toolId, Object.fromEntries(set), stored));
  return { ...Object.fromEntries(kept), ...sealed };
}

const notTheValue = (name: string) =>
  wrong(`/env/${name}`, `must be the value itself: ${hiddenValue} only stands for one that is set`);

function keyed<T>(seal: () => T): T {
  try {
    return seal();
  } catch (error) {
    if (error instanceof KeyFileError) throw wrong('/env', `cannot be stored: ${error.message}`);
    throw error;
  }
}

interface SecretKey {
  /** Tells keys apart without telling the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * The keys of this server: those of SECRETS_KEY, then those of the key file. The first one encrypts. Where there is
 * none, a key file is made at the first need, so that a server without secrets has no key to lose.
 */
export class KeyRing {
  private readonly keys: SecretKey[];
  private fileRead = false;

  /**
   * @param given 32 bytes each
   * @throws KeyFileError if there is a key file that holds no key
   */
  constructor(
    given: readonly Buffer[],
    private readonly keyFile: string,
  ) {
    this.keys = given.map(named);
    this.readFile();
  }

  /**
   * The key that encrypts.
   * @throws KeyFileError if there is no key and none can be stored
   */
  primary(): SecretKey {
    if (this.keys.length === 0) this.makeFile();
    return this.keys[0] as SecretKey;
  }

  find(id: string): SecretKey | undefined {
    // Another server on the same folder may have made the file meanwhile.
    if (!this.fileRead && !this.keys.some((key) => key.id === id)) this.readFile();
    return this.keys.find((key) => key.id === id);
  }

  private makeFile(): void {
    try {
      makeKeyFile(this.keyFile, `${randomBytes(32).toString('base64')}\n`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new KeyFileError(
        `no key: SECRETS_KEY is not set and ${this.keyFile} cannot be written (${code})`,
      );
    }
    this.readFile();
  }

  private readFile(): void {
    const text = readKeyFile(this.keyFile);
    if (text === undefined) return;
    const keys = secretKeysIn(text);
    if (!keys) {
      throw new KeyFileError(
        `The key file ${this.keyFile} holds no key of 32 bytes: put it back, or remove it`,
      );
    }
    this.fileRead = true;
    this.keys.push(...keys.map(named));
  }
}

function named(bytes: Buffer): SecretKey {
  const id = createHmac('sha256', bytes).update('toolkeeper key id').digest('hex').slice(0, 16);
  return { id, bytes };
}
