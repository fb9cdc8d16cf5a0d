import { wrong } from '../rest/wrong-field.js';
import { KeyFileError } from '../config/key-file.js';
import { hiddenValue, type StoredEnv } from './stored-env.js';
import type { PlainEnv, EnvCipher } from './env-cipher.js';

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
