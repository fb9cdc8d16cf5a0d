import { escapePointer } from '../common/field-problems.js';

/** One place where two JSON values differ. */
export interface JsonChange {
  /** JSON pointer into both values. */
  readonly pointer: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Absent where it was added. */
  readonly from?: unknown;
  /** Absent where it was removed. */
  readonly to?: unknown;
}

/**
 * Every place where two JSON values differ, as deep as possible; list members are compared by their position.
 * The order of an object's keys is no difference; absent and undefined are the same.
 */
export function jsonDiff(from: unknown, to: unknown, pointer = ''): JsonChange[] {
  if (Object.is(from, to)) return [];
  if (from === undefined) return [{ pointer, change: 'added', to }];
  if (to === undefined) return [{ pointer, change: 'removed', from }];
  if (!isContainer(from) || !isContainer(to) || Array.isArray(from) !== Array.isArray(to)) {
    return [{ pointer, change: 'changed', from, to }];
  }
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...keys].flatMap((key) => jsonDiff(own(from, key), own(to, key), `${pointer}/${escapePointer(key)}`));
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** A key such as `constructor` is a key like any other. */
const own = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined;
