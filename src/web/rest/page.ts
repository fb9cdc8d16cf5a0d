import { invalidRequest } from '../../base/common/errors.js';
import { sanitisedText } from '../../base/common/pg-text.js';

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
  const after = keyIn(cursor);
  return pageFrom(after === undefined ? sorted : sorted.filter((item) => keyOf(item) > after), keyOf, limit);
}

/** The page that starts at the first item. Pass one item more than `limit` to detect a next page. */
export function pageFrom<T>(items: readonly T[], keyOf: (item: T) => string, limit: number): Page<T> {
  const data = items.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: last !== undefined && items.length > limit ? cursorAt(keyOf(last)) : null };
}

/** The cursor of the page after the item with this key. */
const cursorAt = (key: string): string => Buffer.from(key).toString('base64url');

/**
 * The key of the item after which the page starts; undefined for the first page.
 * @param read parses a key of this list; undefined for other text
 * @throws Problem `invalid_request` if the cursor is not one of this list
 */
export function keyIn(cursor: string | undefined): string | undefined;
export function keyIn<K>(cursor: string | undefined, read: (key: string) => K | undefined): K | undefined;
export function keyIn(cursor: string | undefined, read = (key: string): unknown => key): unknown {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const isOurs = text !== '' && cursorAt(text) === cursor && sanitisedText(text) === text;
  const key = isOurs ? read(text) : undefined;
  if (key !== undefined) return key;
  throw invalidRequest({ pointer: '/cursor', detail: 'must be the nextCursor of an earlier answer' });
}
