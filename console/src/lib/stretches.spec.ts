import { stretches } from './stretches.js';

const at = (minute: number): string => new Date(minute * 60_000).toISOString();
const change = (minute: number, from: string, to: string) => ({ at: at(minute), from, to, why: `${to}!` });
const changes = [change(10, 'closed', 'open'), change(60, 'open', 'closed'), change(90, 'closed', 'open')];
const seen = (start: number) =>
  stretches(changes, start * 60_000, 100 * 60_000).map(({ kind, left, width, why }) => [
    kind,
    Math.round(left),
    Math.round(width),
    why,
  ]);

it('draws each state as long as it lasted, from the one before the first change to now', () => {
  expect(seen(0)).toEqual([
    ['closed', 0, 100, undefined],
    ['open', 100, 500, 'open!'],
    ['closed', 600, 300, 'closed!'],
    ['open', 900, 100, 'open!'],
  ]);
});

it('begins in the state that was, where the line begins later than the changes', () => {
  expect(seen(50)).toEqual([
    ['open', 0, 200, 'open!'],
    ['closed', 200, 600, 'closed!'],
    ['open', 800, 200, 'open!'],
  ]);
  expect(seen(95)).toEqual([['open', 0, 1_000, 'open!']]);
  expect(stretches([], 0, 1)).toEqual([]);
});

it('ends in the state that was, where the line ends before the last changes', () => {
  const kindsUntil = (minute: number) => stretches(changes, 0, minute * 60_000).map(({ kind }) => kind);
  expect(kindsUntil(70)).toEqual(['closed', 'open', 'closed']);
  expect(kindsUntil(5)).toEqual(['closed']);
});
