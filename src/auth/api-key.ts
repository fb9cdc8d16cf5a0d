import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The key a request brings: `Authorization: Bearer <key>`, else `x-api-key`. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const { authorization = '', 'x-api-key': plain } = headers;
  if (/^bearer +\S+ *$/i.test(authorization)) return authorization.slice('bearer'.length).trim();
  return typeof plain === 'string' ? plain : undefined;
}

/** A key that was never there, `tk_<id>_<secret>`. Its id may be told to anybody; ids are in the order of their making. */
export function newKey(at = Date.now()): { readonly id: string; readonly key: string } {
  const id = at.toString(16).padStart(12, '0') + randomBytes(4).toString('hex');
  return { id, key: `tk_${id}_${randomBytes(32).toString('base64url')}` };
}

/** The id in a key; undefined where it has none, as ADMIN_API_KEY. */
export const idIn = (key: string): string | undefined => /^tk_([0-9a-f]{20})_/.exec(key)?.[1];

/**
 * What is kept of a key. SHA-256 is enough for random secrets (and costs 3 µs where scrypt costs 49 ms); hashes have one
 * length, so that their comparison takes the same time for every guess.
 */
export const hashOfKey = (key: string): Buffer => hash('sha256', key, 'buffer');
