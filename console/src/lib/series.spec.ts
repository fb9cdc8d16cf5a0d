import { failingOf, p95Of, ratesOf, runsOf, ticksOf, topOf } from './series.js';

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

it('has room for a limit above all values', () => {
  expect(topOf([{ startedAt: 0, endedAt: 1, value: 0.01 }], 0.05)).toBeCloseTo(0.05);
});

it('tells the share of failures, and none where nothing ran', () => {
  expect(failingOf(series).map(({ value }) => value)).toEqual([0.05, null, 0.1, 0.25]);
});

it.each([
  [50, 10, 5],
  [60, 15, 4],
  [24 * 60, 360, 4],
  [7 * 24 * 60, 2_880, 3],
])('%s minutes have a tick every %s', (minutes, step, atLeast) => {
  const ticks = ticksOf(start, start + minutes * 60_000);
  const gaps = ticks.slice(1).map(({ at }, index) => (at - (ticks[index]?.at ?? 0)) / 60_000);
  expect(new Set(gaps)).toEqual(new Set([step]));
  expect(ticks.length).toBeGreaterThanOrEqual(atLeast);
});
