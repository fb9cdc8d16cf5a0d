import { escapePointer } from './field-problems.js';

/** How two JSON values are compared. */
export interface Comparison<Difference> {
  readonly isSame: (from: unknown, to: unknown) => boolean;
  /** @returns names of the members that are compared one by one; undefined: the two values are one difference */
  readonly namesIn: (from: unknown, to: unknown) => Iterable<string> | undefined;
  /** @param pointer JSON pointer into both. @param from undefined where it was added. @param to where it was removed */
  readonly tell: (pointer: string, from: unknown, to: unknown) => Difference;
}

/** Characters of all pointers together: long names above many differences would multiply in an answer. */
const longestPointers = 1_048_576;

/**
 * Where two JSON values differ, as deep as they are compared. A value whose differences take more than 1 MiB to be named
 * is one difference.
 * @param at pointer of the two values
 */
export function jsonDifferences<Difference>(
  from: unknown,
  to: unknown,
  { isSame, namesIn, tell }: Comparison<Difference>,
  at = '',
): Difference[] {
  let left = longestPointers;
  const whole = (pointer: string, a: unknown, b: unknown): Difference[] => {
    left -= pointer.length;
    return [tell(pointer, a, b)];
  };
  const compare = (pointer: string, a: unknown, b: unknown): Difference[] => {
    if (isSame(a, b)) return [];
    const names = namesIn(a, b);
    if (!names) return whole(pointer, a, b);
    const before = left;
    const found: Difference[] = [];
    for (const name of names) {
      const below = compare(`${pointer}/${escapePointer(name)}`, memberIn(a, name), memberIn(b, name));
      for (const difference of below) found.push(difference);
      if (left >= 0) continue;
      left = before;
      return whole(pointer, a, b);
    }
    return found;
  };
  return compare(at, from, to);
}

/** Every object has a `constructor` that nobody gave it. */
const memberIn = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
