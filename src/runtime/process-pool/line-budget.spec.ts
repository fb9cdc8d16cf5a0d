import { LineBudget } from './line-budget.js';

describe('LineBudget', () => {
  it('gives so many at once, then so many a second, in stretches of half a second', () => {
    let now = 0;
    const budget = new LineBudget(100, () => now);
    const taken = (): number => {
      let n = 0;
      while (budget.take()) n++;
      return n;
    };
    expect(taken()).toBe(100);
    now = 400;
    expect(taken()).toBe(0);
    now = 500;
    expect(taken()).toBe(50);
    now = 60_000;
    expect(taken()).toBe(100);
  });

  it('may be overdrawn by what stands there already, and says for how long', () => {
    let now = 0;
    const budget = new LineBudget(100, () => now);
    expect(budget.charge(100)).toBe(0);
    expect(budget.charge(50)).toBe(500);
    expect(budget.charge(100)).toBe(1_500);
    now = 1_000;
    expect(budget.charge(0)).toBe(500);
    now = 1_500;
    expect(budget.charge(0)).toBe(0);
    // What is given back fills it no further than an hour would.
    expect(budget.charge(-1_000)).toBe(0);
    expect(budget.charge(100)).toBe(0);
    expect(budget.charge(1)).toBe(10);
  });
});
