import { p95Of, ratesOf, runsOf, topOf } from './series.js';

const start = Date.parse('2026-01-23T10:00:00.000Z');
const pointOf = (minute: number, calls: number, p95TimeMs: number | null) => ({
  ...{ at: new Date(start + minute * 60_000).toISOString(), calls, errors: 1, timeouts: 0 },
  ...{ avgTimeMs: null, p50TimeMs: null, p95TimeMs },
});
const series = {
  bucketMs: 600_000,
  data: [pointOf(0, 20, 12), pointOf(10, 0, null), pointOf(20, 10, 30), pointOf(30, 4, 40)],
};

it('counts executions a minute, also of a stretch that is not over yet', () => {
  const points = ratesOf(series, start + 34 * 60_000);
  expect(points.map(({ value }) => value)).toEqual([2, 0, 1, 1]);
  expect(points.map(({ bad }) => bad)).toEqual([0.1, 0.1, 0.1, 0.25]);
  expect(ratesOf(series, start + 30 * 60_000).at(-1)?.value).toBe(4);
});

it('leaves a gap where nothing ran', () => {
  expect(runsOf(p95Of(series))).toEqual([
    [{ index: 0, value: 12 }],
    [
      { index: 2, value: 30 },
      { index: 3, value: 40 },
    ],
  ]);
});

it.each([
  [0, 1],
  [0.07, 0.08],
  [12, 20],
  [41, 50],
  [100, 100],
  [950, 1_000],
])('of %s, the top of a chart is %s', (value, top) => {
  expect(topOf([{ startedAt: 0, endedAt: 1, value }])).toBeCloseTo(top);
});
