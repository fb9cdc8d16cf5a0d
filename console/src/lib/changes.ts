import { diffLines } from 'diff';
import { isObject } from './exact-json.js';

/** A place where two values differ. */
interface JsonChange {
  /** JSON pointer; empty for the whole. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

const escape = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** @returns the differences, each at the deepest place that contains it; `undefined` for a missing value */
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

/** Two lines side by side; `undefined` for a missing one. */
interface LinePair {
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly isSame: boolean;
}

/** A number of unchanged lines that are omitted. */
interface LinesLeftOut {
  readonly leftOut: number;
}

/** Lines of context around a change. */
const around = 3;
/** Time limit of the diff. Texts that differ too much are shown as a complete replacement. */
const maxMs = 200;

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** Adds a missing final newline, whose absence is not a change. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** @returns both texts side by side, line by line, without lines far from any change */
export function lineChanges(before: string, after: string): (LinePair | LinesLeftOut)[] {
  const parts = diffLines(ended(before), ended(after), { timeout: maxMs }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  return parts.flatMap(({ value, removed, added }, index) => {
    const next = parts[index + 1];
    if (removed) return pairs(linesOf(value), next?.added === true ? linesOf(next.value) : []);
    if (added) return parts[index - 1]?.removed === true ? [] : pairs([], linesOf(value));
    return shortened(linesOf(value), index === 0, index === parts.length - 1);
  });
}

const pairs = (before: readonly string[], after: readonly string[]): LinePair[] =>
  Array.from({ length: Math.max(before.length, after.length) }, (_, index) => ({
    before: before[index],
    after: after[index],
    isSame: false,
  }));

function shortened(lines: readonly string[], isFirst: boolean, isLast: boolean): (LinePair | LinesLeftOut)[] {
  const same = lines.map((line) => ({ before: line, after: line, isSame: true }));
  const head = isFirst ? 0 : around;
  const tail = isLast ? 0 : around;
  const leftOut = same.length - head - tail;
  if (leftOut <= 1) return same;
  return [...same.slice(0, head), { leftOut }, ...same.slice(same.length - tail)];
}
