import { isObject } from './exact-json.js';

/** A place where two values differ. */
interface JsonChange {
  /** JSON pointer; empty for the whole. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

const escape = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** @returns the differences, each at the deepest place that holds it; `undefined` stands for what is not there */
export function jsonChanges(before: unknown, after: unknown, path = ''): JsonChange[] {
  if (isObject(before) && isObject(after)) return changesOf(before, after, path);
  if (Array.isArray(before) && Array.isArray(after))
    return changesOf({ ...(before as unknown[]) }, { ...(after as unknown[]) }, path);
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

function changesOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  path: string,
): JsonChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => jsonChanges(before[name], after[name], `${path}/${escape(name)}`));
}
