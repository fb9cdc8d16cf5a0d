import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../common/errors.js';

/** An opaque text of the caller's: a UUID, or the quoted string of the IETF's draft. */
const wellFormed = /^[\x20-\x7e]{1,255}$/;

/** @throws Problem `invalid_request` for a key that is empty, too long, or holds other than printable ASCII */
export function idempotencyKeyFrom(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && wellFormed.test(key)) return key;
  throw new Problem('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
}
