import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The key a request brings: `Authorization: Bearer <key>`, else `x-api-key`. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const plain = headers['x-api-key'];
  return bearer ?? (typeof plain === 'string' ? plain : undefined);
}

/**
 * A key that is known only by its hash. SHA-256 is enough for random secrets (and costs 3 µs where scrypt costs 49 ms);
 * hashes have one length, so that the comparison takes the same time for every guess.
 */
export class HashedKey {
  private readonly hash: Buffer;

  constructor(key: string) {
    this.hash = digest(key);
  }

  matches(candidate: string | undefined): boolean {
    return candidate !== undefined && timingSafeEqual(digest(candidate), this.hash);
  }
}

const digest = (key: string): Buffer => createHash('sha256').update(key).digest();
