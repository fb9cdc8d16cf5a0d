import fc from 'fast-check';
import type { Release } from '../tool-contract/tool.js';
import { type GateUser, SpawnGate } from './spawn-gate.js';

class User implements GateUser {
  wants = 0;
  readonly inside: Release[] = [];
  entered = 0;

  constructor(
    readonly name: string,
    private readonly gate: SpawnGate,
    private readonly log: string[] = [],
  ) {}

  enter(urgent = true): boolean {
    const leave = this.gate.tryEnter(this, urgent);
    if (leave) this.inside.push(leave);
    if (leave) this.entered++;
    return leave !== undefined;
  }

  leave(): void {
    this.inside.shift()?.();
  }

  opened(): void {
    this.log.push(this.name);
    while (this.wants > 0 && this.enter()) this.wants--;
  }
}

const build = (limit: number, holdMs = 60_000) => {
  const gate = new SpawnGate(limit, holdMs);
  const log: string[] = [];
  return { gate, log, user: (name: string) => new User(name, gate, log) };
};

describe('SpawnGate', () => {
  it('admits up to its limit, and the next when one leaves; leaving twice is harmless', () => {
    const { gate, log, user } = build(2);
    const [a, b, c] = [user('a'), user('b'), user('c')];
    expect([a.enter(), b.enter(), c.enter()]).toEqual([true, true, false]);
    c.wants = 1;
    const [leave] = a.inside;
    leave?.();
    leave?.();
    expect([gate.starting, c.inside.length, gate.waiting]).toEqual([2, 1, 0]);
    expect(log).toEqual(['c']);
  });

  it('keeps the last place for a pool that has none', () => {
    const { gate, user } = build(3);
    const [a, b] = [user('a'), user('b')];
    expect([a.enter(), a.enter(), a.enter()]).toEqual([true, true, false]);
    expect(b.enter()).toBe(true);
    expect(gate.starting).toBe(3);
  });

  it('with a single place gives it to anybody', () => {
    const { user } = build(1);
    const a = user('a');
    expect(a.enter()).toBe(true);
    a.leave();
    expect(a.enter()).toBe(true);
  });

  it('lets requests in before work ahead, each group in order', () => {
    const { log, user } = build(1);
    const [a, b, c, d] = [user('a'), user('b'), user('c'), user('d')];
    a.enter();
    b.enter(false);
    c.enter();
    d.enter();
    d.enter(false);
    b.wants = c.wants = d.wants = 1;
    a.leave();
    c.leave();
    b.leave();
    expect(log).toEqual(['c', 'b', 'd']);
  });

  it('passes the chance on when the one told wants nothing any more, and forgets who withdrew', () => {
    const { log, user, gate } = build(1);
    const [a, b, c, d] = [user('a'), user('b'), user('c'), user('d')];
    for (const each of [a, b, c, d]) each.enter();
    gate.withdraw(b);
    d.wants = 1;
    a.leave();
    expect(log).toEqual(['c', 'd']);
    expect(d.inside).toHaveLength(1);
  });

  it('gets its place back from a start that takes long', async () => {
    const { log, user, gate } = build(1, 20);
    const [a, b] = [user('a'), user('b')];
    a.enter();
    b.wants = 1;
    await new Promise<void>((resolve) => {
      b.enter();
      const opened = b.opened.bind(b);
      b.opened = () => {
        opened();
        resolve();
      };
    });
    expect(log).toEqual(['b']);
    // It counts once, whenever it ends.
    a.leave();
    expect(gate.starting).toBe(1);
  });

  it('is fair: a pool that always wants more does not keep others out, and nobody exceeds the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(fc.nat(), { maxLength: 150 }), (limit, draws) => {
        const { gate, user } = build(limit);
        const greedy = user('greedy');
        const others = ['b', 'c', 'd'].map(user);
        greedy.wants = Infinity;
        greedy.opened();
        for (const draw of draws) {
          const other = others[draw % 3] as User;
          if (other.wants === 0 && other.inside.length === 0) {
            other.wants = 1;
            other.opened();
          }
          // Everybody who is inside leaves, twice: then it was everybody's turn.
          for (const each of [greedy, ...others, greedy, ...others]) {
            for (let left = each.inside.length; left > 0; left--) each.leave();
          }
          expect(gate.starting).toBeLessThanOrEqual(limit);
          expect(other.wants).toBe(0);
        }
        for (const each of [greedy, ...others]) {
          each.wants = 0;
          while (each.inside.length > 0) each.leave();
        }
        expect([gate.starting, gate.waiting]).toEqual([0, 0]);
      }),
    );
  });
});
