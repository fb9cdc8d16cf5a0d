import { canonicalJson } from './canonical-json.js';
import { escapePointer } from './field-problems.js';
import type { JsonObject } from './json.js';

/** One place where two JSON values differ; a side that has nothing there lacks its member. */
export interface JsonDifference {
  /** JSON pointer into both values. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Maximum characters of all pointers together: long names above many differences would multiply in an answer. */
const maxPointers = 1_048_576;

/**
 * The places where two JSON values differ, as deep as they have members. A value whose differences take more than 1 MiB
 * to name is one difference.
 * @param membersOf undefined for a value that is compared as a whole
 * @param path pointer of the two values
 */
export function jsonDifferences(
  before: unknown,
  after: unknown,
  membersOf: (value: unknown) => object | undefined,
  path = '',
): JsonDifference[] {
  let left = maxPointers;
  const compare = (at: string, a: unknown, b: unknown): JsonDifference[] => {
    const [from, to] = [membersOf(a), membersOf(b)];
    const names =
      from && to && Array.isArray(from) === Array.isArray(to) ? Object.keys({ ...from, ...to }) : [];
    const leftBefore = left;
    const found: JsonDifference[] = [];
    for (const name of names) {
      const below = compare(`${at}/${escapePointer(name)}`, memberIn(a, name), memberIn(b, name));
      for (const difference of below) found.push(difference);
      if (left < 0) break;
    }
    // An empty object that was added or removed has no members to report.
    if (names.length > 0 ? left >= 0 : isSame(a, b)) return found;
    left = leftBefore - at.length;
    return [differenceAt(at, a, b)];
  };
  return compare(path, before, after);
}

export const differenceAt = (path: string, before: unknown, after: unknown): JsonDifference => ({
  path,
  ...(before !== undefined && { before }),
  ...(after !== undefined && { after }),
});

/** JSON has no `undefined`: there it would be `null`. */
const isSame = (a: unknown, b: unknown): boolean =>
  (a === undefined) === (b === undefined) && canonicalJson(a) === canonicalJson(b);

/** Own members only: every object inherits a `constructor`. */
const memberIn = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
