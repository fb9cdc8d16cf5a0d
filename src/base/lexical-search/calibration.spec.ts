import fc from 'fast-check';
import { calibrated } from './lexical-search.js';

const scale = { floor: 0.2, cut: 0.5 };

describe('calibrated', () => {
  it.each([
    [-1, 0],
    [0.2, 0],
    [0.35, 0.35],
    [0.5, 0.7],
    [0.75, 0.85],
    [1, 1],
    [1.000_001, 1],
  ])('makes %p a confidence of %p', (raw, confidence) => {
    expect(calibrated(raw, scale)).toBeCloseTo(confidence, 6);
  });

  it('keeps the order and stays from 0 to 1, whatever the scale', () => {
    const raw = fc.double({ min: -1, max: 1, noNaN: true });
    const anyScale = fc
      .tuple(fc.double({ min: -1, max: 0.98, noNaN: true }), fc.double({ min: 0.001, max: 1, noNaN: true }))
      .map(([floor, share]) => ({ floor, cut: floor + share * (0.99 - floor) }));
    fc.assert(
      fc.property(raw, raw, anyScale, (a, b, each) => {
        const [lower, higher] = [calibrated(Math.min(a, b), each), calibrated(Math.max(a, b), each)];
        expect(lower).toBeLessThanOrEqual(higher + 1e-12);
        expect(lower).toBeGreaterThanOrEqual(0);
        expect(higher).toBeLessThanOrEqual(1);
      }),
    );
  });
});
