import { readExactly } from './exact-json.js';
import { jsonChanges } from './json-changes.js';

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
