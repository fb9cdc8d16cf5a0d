import fc from 'fast-check';
import { type BudgetUser, ProcessBudget } from './process-budget.js';

class User implements BudgetUser {
  wants = 0;
  idle = 0;
  asked = 0;
  holds = 0;
  taken = 0;

  constructor(
    readonly name: string,
    private readonly budget: ProcessBudget,
    private readonly log: string[],
  ) {
    budget.join(this);
  }

  tryTake(urgent: boolean): boolean {
    if (!this.budget.hasRoom(this, urgent)) return false;
    this.budget.take(this);
    this.holds++;
    this.taken++;
    return true;
  }

  give(): void {
    this.holds--;
    this.budget.give(this);
    // It wants another one at once, as a pool with a queue does.
    if (this.wants > 0) this.tryTake(true);
  }

  freed(): void {
    this.log.push(this.name);
    while (this.wants > 0 && this.tryTake(true)) this.wants--;
  }

  yieldIdle(): boolean {
    this.asked++;
    if (this.idle === 0) return false;
    this.idle--;
    return true;
  }
}

const build = (max: number) => {
  const budget = new ProcessBudget(max);
  const log: string[] = [];
  return { budget, log, user: (name: string) => new User(name, budget, log) };
};

describe('ProcessBudget', () => {
  it('gives up to its cap', () => {
    const { budget, user } = build(2);
    const a = user('a');
    expect([1, 2, 3].map(() => a.tryTake(false))).toEqual([true, true, false]);
    budget.give(a);
    expect(a.tryTake(false)).toBe(true);
    expect(budget.inUse).toBe(2);
  });

  it('tells those who wait, first come first served, only as long as something is left', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    a.tryTake(true);
    b.wants = c.wants = 1;
    expect(b.tryTake(true) || c.tryTake(true)).toBe(false);
    expect(budget.contended).toBe(true);
    budget.give(a);
    expect(log).toEqual(['b']);
    budget.give(b);
    expect(log).toEqual(['b', 'c']);
    expect(budget.contended).toBe(false);
  });

  it('tells the pool with the fewest processes before one that came earlier', () => {
    const { budget, user, log } = build(2);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    a.tryTake(true);
    b.tryTake(true);
    b.wants = c.wants = 1;
    b.tryTake(true);
    c.tryTake(true);
    budget.give(a);
    expect(log).toEqual(['c']);
  });

  it('tells work ahead only when no request waits, and a request that waits once', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    a.tryTake(true);
    b.wants = c.wants = 1;
    b.tryTake(false);
    expect(budget.contended).toBe(false);
    c.tryTake(false);
    c.tryTake(true);
    c.tryTake(true);
    budget.give(a);
    expect(log).toEqual(['c']);
    budget.give(c);
    expect(log).toEqual(['c', 'b']);
  });

  it('passes a chance on when the one told has no need any more', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    a.tryTake(true);
    b.tryTake(true);
    c.wants = 1;
    c.tryTake(true);
    budget.give(a);
    expect(log).toEqual(['b', 'c']);
    expect(c.wants).toBe(0);
  });

  it('forgets who withdrew or left', () => {
    const { budget, user, log } = build(1);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    a.tryTake(true);
    b.tryTake(true);
    c.tryTake(false);
    budget.withdraw(b);
    budget.leave(c);
    expect(budget.contended).toBe(false);
    budget.give(a);
    expect(log).toEqual([]);
  });

  it('asks other pools for an idle process when a request waits, in turn, and not for work ahead', () => {
    const { budget, user } = build(0);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    b.idle = c.idle = 1;
    a.tryTake(false);
    expect(b.asked).toBe(0);
    a.tryTake(true);
    expect([a.asked, b.idle, c.idle]).toEqual([0, 0, 1]);
    expect(budget.contended).toBe(false);
    budget.withdraw(a);
    a.tryTake(true);
    expect(c.idle).toBe(1);
    user('d').tryTake(true);
    expect(c.idle).toBe(0);
  });

  describe('says that a busy process is owed', () => {
    const full = (...held: number[]) => {
      const { budget, user } = build(held.reduce((sum, n) => sum + n, 0));
      const users = held.map((n, at) => {
        const each = user(String(at));
        for (let k = 0; k < n; k++) each.tryTake(true);
        return each;
      });
      return { budget, users: users as [User, User, ...User[]] };
    };

    it('to a pool that has two less', () => {
      const { budget, users } = full(3, 1);
      const [a, b] = users;
      expect(budget.owes(a, 0)).toBe(false);
      b.tryTake(true);
      expect(budget.owes(a, 0)).toBe(true);
      expect(budget.owes(b, 9_999)).toBe(false);
    });

    it('not to one that has one less, nor to itself', () => {
      const { budget, users } = full(2, 1);
      const [a, b] = users;
      b.tryTake(true);
      a.tryTake(true);
      expect(budget.owes(a, 9_999)).toBe(false);
    });

    it('to one that has none, after a turn', () => {
      const { budget, users } = full(1, 0);
      const [a, b] = users;
      b.tryTake(true);
      expect([budget.owes(a, 999), budget.owes(a, 1_000)]).toEqual([false, true]);
    });

    it('once for each that waits', () => {
      const { budget, users } = full(4, 0);
      const [a, b] = users;
      b.tryTake(true);
      budget.promise();
      expect(budget.owes(a, 0)).toBe(false);
    });
  });

  it('lets no pool starve though the others never have enough, and shares alike where it goes round', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(), { minLength: 100, maxLength: 120 }),
        (max, draws) => {
          const { budget, user } = build(max);
          const users = ['a', 'b', 'c', 'd'].map(user);
          // Every pool always wants more, and gives only what it owes.
          for (const each of users) each.wants = Infinity;
          for (const each of users) each.freed();
          for (const draw of draws) {
            const running = users.flatMap((each) => Array<User>(each.holds).fill(each));
            const each = running[draw % max] as User;
            if (!budget.owes(each, 1_000)) continue;
            budget.promise();
            each.give();
            if (budget.inUse !== max) throw new Error(`${budget.inUse} of ${max} in use`);
          }
          const turns = users.map(({ taken }) => taken);
          expect(Math.min(...turns)).toBeGreaterThan(0);
          const holds = users.map((each) => each.holds);
          if (max >= users.length) expect(Math.max(...holds) - Math.min(...holds)).toBeLessThan(2);
        },
      ),
      { numRuns: 100 },
    );
  });
});
