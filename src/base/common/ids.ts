import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sha256 } from './canonical-json.js';

/** The part of an id that depends on the time, cached for ids of the same millisecond. */
let prefix = { at: 0, text: '' };

/**
 * A UUIDv7: unique, and sorted by the millisecond `at` (since 1970). `randomUUID` draws its random bytes in advance, which
 * makes this 20 times cheaper than drawing them for each id.
 */
export function newId(at = Date.now()): string {
  if (prefix.at !== at) {
    const time = at.toString(16).padStart(12, '0');
    prefix = { at, text: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  }
  return prefix.text + randomUUID().slice(15);
}

/** A UUID that is derived from a text: the same one for the same text. */
export function idOf(text: string): string {
  const hash = sha256(text);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Whether PostgreSQL accepts a text as a UUID. */
export const isUuid = (text: string): boolean => uuid.test(text);

/** Time at which `newId` made an id, in milliseconds since the epoch; undefined for other ids. */
export function timeOfId(id: string): number | undefined {
  return id.charAt(14) === '7' ? parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}

const requestIdPattern = /^[\w.:@/+=-]{1,128}$/;

/** The caller's request id if it is safe to log and to echo, or else a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : newId();
}
