import { nextSort, sortedRows, sortOf } from './sorting.js';

const calls = { sort: { by: 'calls', value: (row: Row) => row.calls, isDescending: true } };
const name = { sort: { by: 'name', value: (row: Row) => row.name } };
interface Row {
  readonly name: string;
  readonly calls: number | null;
}
const rows: Row[] = [
  { name: 'b', calls: 2 },
  { name: 'c', calls: null },
  { name: 'a', calls: 10 },
];
const names = (by: string): string =>
  sortedRows(rows, [name, calls], by)
    .map((row) => row.name)
    .join('');

it.each([
  ['calls', 'abc'],
  ['-calls', 'bac'],
  ['name', 'abc'],
  ['-name', 'cba'],
  ['other', 'bca'],
])('by %s', (by, expected) => {
  expect(names(by)).toBe(expected);
});

it('a head goes through its own order, the other one, and none', () => {
  expect(nextSort(calls, 'name')).toBe('calls');
  expect(nextSort(calls, 'calls')).toBe('-calls');
  expect(nextSort(calls, '-calls')).toBeUndefined();
  expect([sortOf(calls, 'calls'), sortOf(calls, '-calls'), sortOf(name, 'calls')]).toEqual([
    'desc',
    'asc',
    undefined,
  ]);
});
