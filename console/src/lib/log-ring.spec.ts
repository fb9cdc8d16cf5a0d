import { emptyRing, withLines } from './log-ring.js';

it('keeps the newest lines in their order, and counts those that made room', () => {
  const first = withLines<number>(emptyRing, [1, 2], 3);
  expect(first).toEqual({ lines: [1, 2], dropped: 0 });
  const second = withLines(first, [3, 4], 3);
  expect(second).toEqual({ lines: [2, 3, 4], dropped: 1 });
  expect(withLines(second, [5, 6, 7, 8], 3)).toEqual({ lines: [6, 7, 8], dropped: 5 });
  expect(first.lines).toEqual([1, 2]);
});
