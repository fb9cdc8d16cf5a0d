import { invalidRequest, type Problem } from './errors.js';

export interface Page<T> {
  readonly data: T[];
  /** Opaque; null on the last page. */
  readonly nextCursor: string | null;
}

/** Cuts one page out of items that are sorted ascending by a unique key. */
export function pageOf<T>(
  sorted: readonly T[],
  keyOf: (item: T) => string,
  limit: number,
  cursor?: string,
): Page<T> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const rest = after === undefined ? sorted : sorted.filter((item) => keyOf(item) > after);
  const data = rest.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: last !== undefined && rest.length > limit ? encodeCursor(keyOf(last)) : null };
}

export const encodeCursor = (key: string): string => Buffer.from(key).toString('base64url');

/** @throws Problem `invalid_request` when the text never was a cursor */
export function decodeCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString();
  if (key !== '' && encodeCursor(key) === cursor) return key;
  throw wrongCursor();
}

export const wrongCursor = (): Problem =>
  invalidRequest({ pointer: '/cursor', detail: 'must be the nextCursor of an earlier answer' });
