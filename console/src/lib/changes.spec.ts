import { jsonChanges, lineChanges } from './changes.js';
import { readExactly } from './exact-json.js';

it('tells each difference at its place, and nothing of what is the same', () => {
  const before = { same: { x: [1] }, list: [1, { a: 1 }], gone: null, 'a/b~c': 1 };
  const after = { same: { x: [1] }, list: [1, { a: 2 }, 3], new: false, 'a/b~c': '1' };
  expect(jsonChanges(before, after)).toEqual([
    { path: '/list/1/a', before: 1, after: 2 },
    { path: '/list/2', before: undefined, after: 3 },
    { path: '/gone', before: null, after: undefined },
    { path: '/a~1b~0c', before: 1, after: '1' },
    { path: '/new', before: undefined, after: false },
  ]);
});

it('tells values of different kinds as one difference', () => {
  expect(jsonChanges([], {})).toEqual([{ path: '', before: [], after: {} }]);
  expect(jsonChanges({ a: null }, { a: null })).toEqual([]);
  const large = ['{"id":90071992547409931}', '{"id":90071992547409932}'].map(readExactly);
  expect(jsonChanges(...(large as [unknown, unknown])).map(({ path }) => path)).toEqual(['/id']);
});

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
