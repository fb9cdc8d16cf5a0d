import { jsonDifferences } from '../common/json-differences.js';

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
export const jsonDiff = (from: unknown, to: unknown): JsonChange[] =>
  jsonDifferences<JsonChange>(from, to, {
    isSame: Object.is,
    namesIn: (before, after) =>
      isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)
        ? new Set([...Object.keys(before), ...Object.keys(after)])
        : undefined,
    tell: (pointer, before, after) => {
      if (before === undefined) return { pointer, change: 'added', to: after };
      if (after === undefined) return { pointer, change: 'removed', from: before };
      return { pointer, change: 'changed', from: before, to: after };
    },
  });

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
