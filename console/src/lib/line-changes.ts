import { diffLines } from 'diff';

/** One line beside what stands in its place; `undefined` stands for none. */
interface LinePair {
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly isSame: boolean;
}

/** So many lines that are the same on both sides are left out. */
interface LinesLeftOut {
  readonly leftOut: number;
}

/** Lines around a change that say where it is. */
const around = 3;
/** Texts that have less in common than this finds in time are told as two texts. */
const longestMs = 200;

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** A last line without an end is the same line. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** @returns both texts line by line, side by side, with what is far from any change left out */
export function lineChanges(before: string, after: string): (LinePair | LinesLeftOut)[] {
  const parts = diffLines(ended(before), ended(after), { timeout: longestMs }) ?? [
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
