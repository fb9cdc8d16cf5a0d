import { backOff } from './back-off.js';

it('doubles the pause with each failure, up to the longest', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 2_000].map((failures) =>
    backOff(failures, { firstMs: 100, maxMs: 1_000 }),
  );
  expect(pauses).toEqual([100, 100, 200, 400, 800, 1_000, 1_000]);
});

it.each([
  ['all of it', 1, 0],
  ['half of it', 0.5, 100],
])('leaves %s to chance', (_, jitter, least) => {
  const pauses = Array.from({ length: 200 }, () => backOff(2, { firstMs: 100, maxMs: 1_000, jitter }));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(200);
  expect(new Set(pauses).size).toBeGreaterThan(10);
});
