import { Random } from './random.js';
import { trendOf } from './trend.js';

const noisy = (slope: number, count = 400): { x: number; y: number }[] => {
  const random = new Random(7);
  return Array.from({ length: count }, (_, x) => ({ x, y: 1_000 + slope * x + (random.next() - 0.5) * 200 }));
};

describe('a trend', () => {
  it('is exact for a straight line', () => {
    const { slope, low, high } = trendOf([0, 1, 2, 3, 4].map((x) => ({ x, y: 5 + 3 * x }))) ?? fail();
    expect(slope).toBeCloseTo(3, 10);
    expect(high - low).toBeLessThan(1e-9);
  });

  it('has the slope of noisy points within its interval, and shows a climb as one', () => {
    const { low, high } = trendOf(noisy(2)) ?? fail();
    expect(low).toBeGreaterThan(1.5);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThan(2);
  });

  it('is not sure of a climb where there is none', () => {
    const { low, high } = trendOf(noisy(0)) ?? fail();
    expect(low).toBeLessThan(0);
    expect(high).toBeGreaterThan(0);
  });

  it('is not told from three points', () => {
    expect(trendOf([0, 1, 2].map((x) => ({ x, y: x })))).toBeUndefined();
  });
});

describe('random numbers', () => {
  const drawn = (seed: number): unknown[] => {
    const random = new Random(seed);
    return [
      random.next(),
      random.between(1, 6),
      random.shuffled([1, 2, 3, 4, 5]),
      random.bytes(4).toString('hex'),
    ];
  };

  it('depend on their seed alone', () => {
    expect(drawn(42)).toEqual(drawn(42));
    expect(drawn(42)).not.toEqual(drawn(43));
  });

  it('stay within their bounds and reach them', () => {
    const random = new Random(3);
    const rolled = new Set(Array.from({ length: 500 }, () => random.between(1, 6)));
    expect([...rolled].sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

function fail(): never {
  throw new Error('there is no trend');
}
