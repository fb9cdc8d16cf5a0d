import fc from 'fast-check';
import { lexicalConfidence } from './lexical-search.js';

const weight = fc.double({ min: 0, max: 40, noNaN: true });

describe('lexicalConfidence', () => {
  it('is always from 0 to 1', () => {
    fc.assert(
      fc.property(weight, weight, weight, fc.boolean(), (strength, matchedWeight, rest, showsPhrase) => {
        const confidence = lexicalConfidence({
          strength,
          matchedWeight,
          queryWeight: matchedWeight + rest,
          written: 1,
          showsPhrase,
        });
        expect(confidence).toBeGreaterThanOrEqual(0);
        expect(confidence).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('grows with what is in common', () => {
    fc.assert(
      fc.property(weight, weight, weight, weight, (strength, matchedWeight, rest, more) => {
        const queryWeight = matchedWeight + rest + more;
        const less = lexicalConfidence({
          strength,
          matchedWeight,
          queryWeight,
          written: 1,
          showsPhrase: false,
        });
        const greater = lexicalConfidence({
          strength: strength + more,
          matchedWeight: matchedWeight + more,
          queryWeight,
          written: 1,
          showsPhrase: false,
        });
        expect(greater).toBeGreaterThanOrEqual(less - 1e-9);
      }),
    );
  });

  it('is 0 without a common term', () => {
    expect(
      lexicalConfidence({ strength: 0, matchedWeight: 0, queryWeight: 5, written: 1, showsPhrase: true }),
    ).toBe(0);
  });

  it('does not ask a long report to be covered whole', () => {
    const evidence = { strength: 20, matchedWeight: 6, written: 1, showsPhrase: false };
    expect(lexicalConfidence({ ...evidence, queryWeight: 60 })).toBe(
      lexicalConfidence({ ...evidence, queryWeight: 6 }),
    );
  });

  it('asks less strength of an item that has few fields', () => {
    const evidence = { strength: 5, matchedWeight: 3, queryWeight: 6, showsPhrase: false };
    const [plain, rich] = [0.4, 1].map((written) => lexicalConfidence({ ...evidence, written }));
    expect(plain).toBeGreaterThan(rich ?? 1);
  });

  it('shows an item whose phrase stands in the query, unless the phrase says too little', () => {
    const weak = { strength: 1, queryWeight: 30, written: 1 };
    expect(lexicalConfidence({ ...weak, matchedWeight: 1, showsPhrase: false })).toBeLessThan(0.7);
    expect(lexicalConfidence({ ...weak, matchedWeight: 1, showsPhrase: true })).toBeCloseTo(0.7);
    expect(lexicalConfidence({ ...weak, matchedWeight: 0.2, showsPhrase: true })).toBeLessThan(0.7);
  });
});
