import { lineChanges } from './line-changes.js';

const pair = (before: string | undefined, after: string | undefined) => ({ before, after, isSame: false });
const same = (line: string) => ({ before: line, after: line, isSame: true });

it('puts a changed line beside its former self, and one that came or went beside nothing', () => {
  expect(lineChanges('a\nb\nc\nd\n', 'a\nB\nc\n')).toEqual([
    same('a'),
    pair('b', 'B'),
    same('c'),
    pair('d', undefined),
  ]);
  expect(lineChanges('a', 'a\nb')).toEqual([same('a'), pair(undefined, 'b')]);
  expect(lineChanges('', 'a\n\nb')).toEqual([
    pair(undefined, 'a'),
    pair(undefined, ''),
    pair(undefined, 'b'),
  ]);
});

it('leaves out what is far from any change, and says how much', () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const changed = lines.with(10, 'other');
  expect(lineChanges(lines.join('\n'), changed.join('\n'))).toEqual([
    { leftOut: 7 },
    ...[7, 8, 9].map((index) => same(`line ${index}`)),
    pair('line 10', 'other'),
    ...[11, 12, 13].map((index) => same(`line ${index}`)),
    { leftOut: 6 },
  ]);
});

it('tells long texts with nothing in common as two texts', () => {
  const text = (name: string) => Array.from({ length: 30_000 }, (_, index) => `${name} ${index}`).join('\n');
  const rows = lineChanges(text('old'), text('new'));
  expect(rows).toHaveLength(30_000);
  expect(rows[29_999]).toEqual(pair('old 29999', 'new 29999'));
});
