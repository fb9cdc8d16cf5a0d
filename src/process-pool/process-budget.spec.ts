import { type BudgetUser, ProcessBudget } from './process-budget.js';

class User implements BudgetUser {
  wants = 0;
  idle = 0;
  asked = 0;

  constructor(
    readonly name: string,
    private readonly budget: ProcessBudget,
    private readonly log: string[],
  ) {
    budget.join(this);
  }

  freed(): void {
    this.log.push(this.name);
    while (this.wants > 0 && this.budget.tryTake(this, true)) this.wants--;
  }

  yieldIdle(): boolean {
    this.asked++;
    if (this.idle === 0) return false;
    this.idle--;
    return true;
  }
}

describe('ProcessBudget', () => {
  const build = (max: number) => {
    const budget = new ProcessBudget(max);
    const log: string[] = [];
    return { budget, log, user: (name: string) => new User(name, budget, log) };
  };

  it('gives up to its cap', () => {
    const { budget, user } = build(2);
    const a = user('a');
    expect([1, 2, 3].map(() => budget.tryTake(a, false))).toEqual([true, true, false]);
    budget.give();
    expect(budget.tryTake(a, false)).toBe(true);
    expect(budget.inUse).toBe(2);
  });

  it('tells those who wait, first come first served, only as long as something is left', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    budget.tryTake(a, true);
    b.wants = c.wants = 1;
    expect(budget.tryTake(b, true) || budget.tryTake(c, true)).toBe(false);
    expect(budget.contended).toBe(true);
    budget.give();
    expect(log).toEqual(['b']);
    budget.give();
    expect(log).toEqual(['b', 'c']);
    expect(budget.contended).toBe(false);
  });

  it('passes a chance on when the one told has no need any more', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    budget.tryTake(a, true);
    budget.tryTake(b, true);
    c.wants = 1;
    budget.tryTake(c, true);
    budget.give();
    expect(log).toEqual(['b', 'c']);
    expect(c.wants).toBe(0);
  });

  it('asks other pools for an idle process when a request waits, in turn, and not for work ahead', () => {
    const { budget, user } = build(0);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    b.idle = c.idle = 1;
    budget.tryTake(a, false);
    expect(b.asked).toBe(0);
    budget.tryTake(a, true);
    expect([a.asked, b.idle, c.idle]).toEqual([0, 0, 1]);
    budget.leave(a);
    budget.join(a);
    budget.tryTake(a, true);
    expect(c.idle).toBe(0);
  });

  it('forgets a pool that left', () => {
    const { budget, user, log } = build(1);
    const [a, b] = [user('a'), user('b')];
    budget.tryTake(a, true);
    budget.tryTake(b, true);
    budget.leave(b);
    budget.give();
    expect(log).toEqual([]);
  });
});
