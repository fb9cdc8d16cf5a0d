import { canonicalJson } from './canonical-json.js';
import { escapePointer } from './field-problems.js';
import type { JsonObject } from './json.js';

/** A difference between two JSON values. `before` or `after` is absent if that value has no such member. */
export interface JsonDifference {
  /** JSON pointer into both values. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Max characters of all pointers together, because long names of parents are repeated in each. */
const maxPointers = 1_048_576;

/**
 * The differences between two JSON values, at any depth. A value whose differences have pointers of more than 1 MiB counts as
 * one difference.
 * @param membersOf the members of a value to compare; undefined for a value that is compared as a whole
 * @param path pointer of the two values
 */
export function jsonDifferences(
  before: unknown,
  after: unknown,
  membersOf: (value: unknown) => object | undefined,
  path = '',
): JsonDifference[] {
  let charactersLeft = maxPointers;
  const compare = (pointer: string, a: unknown, b: unknown): JsonDifference[] => {
    const names = namesIn(membersOf(a), membersOf(b));
    if (names.length === 0 && isSame(a, b)) return [];
    const charactersAtStart = charactersLeft;
    const found: JsonDifference[] = [];
    for (const name of names) {
      const below = compare(`${pointer}/${escapePointer(name)}`, memberIn(a, name), memberIn(b, name));
      for (const difference of below) found.push(difference);
      if (charactersLeft < 0) break;
    }
    if (names.length > 0 && charactersLeft >= 0) return found;
    // The values have no members to compare, or too many: the difference is that of the values themselves.
    charactersLeft = charactersAtStart - pointer.length;
    return [differenceAt(pointer, a, b)];
  };
  return compare(path, before, after);
}

/** The names of the members of two values of the same kind; none if their kinds differ. */
const namesIn = (a: object | undefined, b: object | undefined): string[] =>
  a && b && Array.isArray(a) === Array.isArray(b) ? Object.keys({ ...a, ...b }) : [];

/** The difference at a pointer; undefined stands for an absent value. */
export const differenceAt = (path: string, before: unknown, after: unknown): JsonDifference => ({
  path,
  ...(before !== undefined && { before }),
  ...(after !== undefined && { after }),
});

/** Whether two JSON values are equal; undefined is not equal to null. */
const isSame = (a: unknown, b: unknown): boolean =>
  (a === undefined) === (b === undefined) && canonicalJson(a) === canonicalJson(b);

/** An own member of a value, not an inherited one such as `constructor`. */
const memberIn = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
