import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { KeyFileError } from '../../base/config/key-file.js';
import type { KeyRing } from '../../base/config/key-ring.js';
import { wrong } from '../../web/rest/wrong-field.js';

/** Decrypted environment variables, by name. */
export type PlainEnv = Readonly<Record<string, string>>;
/** A variable of a registration. Without `secret`, all values except ordinary words count as secrets. */
export type GivenValue = string | { readonly value: string; readonly secret?: boolean };
/** The environment of a registration. */
type GivenEnv = Readonly<Record<string, GivenValue>>;

/** A value encrypted with AES-256-GCM, as stored: base64, with the tag at the end of `data`. */
export interface SealedValue {
  readonly alg: 'A256GCM';
  /** Identity of the value, for comparisons without decryption. It is kept if the value is re-encrypted. */
  readonly id: string;
  readonly key: string;
  readonly nonce: string;
  readonly data: string;
}

/** A value as stored, encrypted unless it is no secret. */
type StoredValue = SealedValue | { readonly alg: 'none'; readonly value: string };

/** A tool's environment as stored, by variable. */
export type StoredEnv = Readonly<Record<string, StoredValue>>;

/** A stored value cannot be decrypted. The message names the variable and the reason, never the content. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable';
}

/* Sizes of AES-256-GCM. */
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts the environment variables of tools. The tool's id and the variable's name are associated data: a ciphertext
 * that is copied to another tool or name cannot be decrypted.
 */
export class EnvCipher {
  constructor(private readonly keys: KeyRing) {}

  /** Decrypts an environment. @throws SecretUnreadable for the first value that was changed or whose key is missing */
  open(toolId: string, env: StoredEnv): PlainEnv {
    return mapValues(env, (stored, name) => this.openOne(toolId, name, stored));
  }

  /** Whether all values are encrypted with the primary key. */
  isCurrent(env: StoredEnv): boolean {
    const values = Object.values(env).filter(isSealed);
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
      !isSealed(stored) || stored.key === id
        ? stored
        : this.sealOne(toolId, name, this.openOne(toolId, name, stored), stored.id),
    );
  }

  /**
   * Encrypts the secrets of an environment.
   * @param before the stored environment; unchanged values keep their ciphertext, so that equal configurations compare equal
   * @throws KeyFileError if there is no key and none can be stored
   */
  seal(toolId: string, env: GivenEnv, before: StoredEnv = {}): StoredEnv {
    return mapValues(env, (given, name) => {
      const value = valueOf(given);
      if (!isSecret(name, given)) return { alg: 'none', value };
      const stored = Object.hasOwn(before, name) ? before[name] : undefined;
      const isSame = stored && isSealed(stored) && this.tryOpen(toolId, name, stored) === value;
      return isSame ? stored : this.sealOne(toolId, name, value);
    });
  }

  private sealOne(toolId: string, name: string, value: string, identity = newIdentity()): SealedValue {
    const { id: key, bytes } = this.keys.primary();
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce).setAAD(associatedData(toolId, name));
    const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return {
      alg: 'A256GCM',
      id: identity,
      key,
      nonce: nonce.toString('base64'),
      data: data.toString('base64'),
    };
  }

  private openOne(toolId: string, name: string, stored: StoredValue): string {
    if (!isSealed(stored)) return stored.value;
    const key = this.keys.find(stored.key);
    if (!key)
      throw new SecretUnreadable(
        `${name} is encrypted under the key ${stored.key}, which neither SECRETS_KEY nor the key file holds`,
      );
    try {
      const data = Buffer.from(stored.data, 'base64');
      const nonce = Buffer.from(stored.nonce, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes })
        .setAAD(associatedData(toolId, name))
        .setAuthTag(data.subarray(-tagBytes));
      return Buffer.concat([decipher.update(data.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      throw new SecretUnreadable(`${name} was changed in the database: its encrypted value does not open`);
    }
  }

  /** A decrypted value; undefined if it cannot be decrypted. */
  private tryOpen(toolId: string, name: string, stored: SealedValue): string | undefined {
    try {
      return this.openOne(toolId, name, stored);
    } catch {
      return undefined;
    }
  }
}

const newIdentity = (): string => randomBytes(8).toString('hex');

/** Data that the ciphertext is bound to. */
const associatedData = (toolId: string, name: string): Buffer =>
  Buffer.from(JSON.stringify(['toolkeeper env 1', toolId, name]));

/** An object with the same names and other values. */
function mapValues<A, B>(
  values: Readonly<Record<string, A>>,
  map: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}

const isSealed = (stored: StoredValue): stored is SealedValue => stored.alg !== 'none';
const valueOf = (given: GivenValue): string => (typeof given === 'string' ? given : given.value);

/** Values that are not secrets. Redacting them would remove ordinary words from errors and logs. */
const ordinaryWords = new Set(
  (
    'true false null none yes no on off enabled disabled auto default dev develop development test testing stage staging ' +
    'prod production local localhost docker kubernetes debug trace verbose info warn warning error silent json text console ' +
    'http https stdio memory redis postgres sqlite utf8 utf-8 main master'
  ).split(' '),
);
/** Names of variables whose values are secrets even if they are ordinary words. */
const secretName = /pass|pwd|secret|token|key|auth|cred|(^|_)pin(_|$)/i;

/** Whether a value is encrypted: as its author says, else unless it is an ordinary word or short number. */
function isSecret(name: string, given: GivenValue): boolean {
  if (typeof given !== 'string' && given.secret !== undefined) return given.secret;
  const value = valueOf(given);
  const isOrdinary = ordinaryWords.has(value.toLowerCase()) || /^\d{1,5}$/.test(value);
  return !isOrdinary || secretName.test(name);
}

/** The secret values of an environment. @param opened the same environment, decrypted */
export const secretsOf = (env: StoredEnv, opened: PlainEnv): PlainEnv =>
  Object.fromEntries(Object.entries(opened).filter(([name]) => isSealed(env[name] as StoredValue)));

/** A text for each variable that differs if its value differs, without the secrets. */
export const envIdentity = (env: StoredEnv): Record<string, string> =>
  mapValues(env, (stored) => (isSealed(stored) ? stored.id : `=${stored.value}`));

/** Placeholder for values in answers. Sending it back leaves the value unchanged. */
export const hiddenValue = '***';

/** The environment as answers show it: secrets are write-only. */
export const shownEnv = (env: StoredEnv): Record<string, GivenValue> =>
  mapValues(env, (stored) => (isSealed(stored) ? hiddenValue : { value: stored.value, secret: false }));

/** A URL with its query values hidden, because they may be tokens. */
export const shownUrl = (url: string): string => url.replaceAll(/([?&][^=&#]*=)[^&#]+/g, `$1${hiddenValue}`);

/** A merge patch (RFC 7396) of a tool's environment: text sets a variable, null removes it, others stay. */
export type EnvChanges = Readonly<Record<string, GivenValue | null>>;

/**
 * Encrypts the environment of a registration.
 * @param before the stored environment; unchanged values keep their ciphertext
 * @throws Problem `invalid_request` naming the variable
 */
export function sealedEnv(
  cipher: EnvCipher,
  toolId: string,
  env: GivenEnv,
  before: StoredEnv = {},
): StoredEnv {
  for (const [name, value] of Object.entries(env))
    if (valueOf(value) === hiddenValue) throw placeholderProblem(name);
  return withKeyProblem(() => cipher.seal(toolId, env, before));
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
  const values: [name: string, value: GivenValue][] = [];
  const removed = new Set<string>();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) removed.add(name);
    else if (valueOf(value) !== hiddenValue) values.push([name, value]);
    else if (!Object.hasOwn(stored, name)) throw placeholderProblem(name);
  }
  const remaining = Object.entries(stored).filter(([name]) => !removed.has(name));
  const sealed = withKeyProblem(() => cipher.seal(toolId, Object.fromEntries(values), stored));
  return { ...Object.fromEntries(remaining), ...sealed };
}

/** The problem of a request that sends the placeholder for a value that is not set. */
const placeholderProblem = (name: string) =>
  wrong(`/env/${name}`, `must be the value itself: ${hiddenValue} only stands for one that is set`);

/** @throws Problem `invalid_request` if there is no key to encrypt with */
function withKeyProblem<T>(seal: () => T): T {
  try {
    return seal();
  } catch (error) {
    if (error instanceof KeyFileError) throw wrong('/env', `cannot be stored: ${error.message}`);
    throw error;
  }
}
