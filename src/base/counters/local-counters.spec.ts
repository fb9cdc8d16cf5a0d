import { jest } from '@jest/globals';
import fc from 'fast-check';
import { type Counter, LocalCounters, type Subject } from './counters.js';

const subject = (id: string, project = 'default'): Subject => ({ kind: 'budget', project, subject: id });

beforeEach(() => jest.useFakeTimers({ now: 1_000_000, doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

function setUp(defaultLimit = 3) {
  const warnings: string[] = [];
  const counters = new LocalCounters(defaultLimit, (message) => warnings.push(message));
  const changed: Counter[] = [];
  counters.changes.subscribe((counter) => changed.push(counter));
  const take = (id = 'inc-1', name = 'search', limit?: number, of = subject(id)) =>
    counters.take({ ...of, name, limit, ttlMs: 60_000 });
  const grants = (count: number, ...args: Parameters<typeof take>): boolean[] =>
    Array.from({ length: count }, () => take(...args).granted);
  return { counters, warnings, changed, take, grants };
}

describe('LocalCounters', () => {
  it('grants as many calls as there are, and says how many were used', () => {
    const { take } = setUp();
    const seen = [take(), take(), take(), take()].map(({ granted, used }) => [granted, used]);
    expect(seen).toEqual([
      [true, 1],
      [true, 2],
      [true, 3],
      [false, 3],
    ]);
    expect(take()).toMatchObject({ limit: 3, resetsAt: 1_060_000 });
  });

  it('counts each tool and each investigation for itself', () => {
    const { grants } = setUp();
    expect(grants(4)).toEqual([true, true, true, false]);
    expect(grants(4, 'inc-1', 'other')).toEqual([true, true, true, false]);
    expect(grants(4, 'inc-2')).toEqual([true, true, true, false]);
  });

  it.each([
    ['another project', subject('inc-1', 'a'), subject('inc-1', 'b')],
    ['a caller without a key', subject('inc-1', 'a'), subject('inc-1', '')],
    ['a project whose name runs into the id', subject('bc', 'a'), subject('c', 'ab')],
    ['a name with quotes', subject('x","', ''), subject('x', '","')],
    ['a rate', subject('a'), { ...subject('a'), kind: 'rate' as const }],
  ])('counts the same for %s by itself', (_who, one, other) => {
    const { take } = setUp(1);
    expect(take('', 'search', undefined, one).granted).toBe(true);
    expect(take('', 'search', undefined, other).granted).toBe(true);
  });

  it('gives a released unit to the next call', () => {
    const { take, grants } = setUp(1);
    take().release();
    expect(grants(2)).toEqual([true, false]);
  });

  it('lets a unit that is released after a reset change nothing', () => {
    const { counters, changed, take, grants } = setUp(1);
    const { release } = take();
    counters.forget(subject('inc-1'));
    expect(changed[0]?.owner.resetsAt).toBe(0);
    expect(grants(1)).toEqual([true]);
    const { length } = changed;
    release();
    expect(changed).toHaveLength(length);
    expect(grants(1)).toEqual([false]);
  });

  it('has no limit at 0, but counts', () => {
    const { take, grants } = setUp(0);
    expect(grants(50)).not.toContain(false);
    expect(take()).toMatchObject({ limit: 0, used: 51 });
  });

  it("takes the operator's word for a tool, then the tool's, then the investigation's, then the server's", () => {
    const { counters, take } = setUp();
    const limit = (own?: number) => take('inc-1', 'search', own).limit;
    expect(limit()).toBe(3);
    counters.applyLimits(subject('inc-1'), { '': 20 }, 1_060_000);
    expect(limit()).toBe(20);
    expect(limit(15)).toBe(15);
    counters.applyLimits(subject('inc-1'), { search: 40 }, 1_060_000);
    expect(limit(15)).toBe(40);
    expect(take('inc-2', 'search', 0).limit).toBe(0);
  });

  it('lets a spent tool go on after a raise', () => {
    const { counters, grants } = setUp();
    expect(grants(4).at(-1)).toBe(false);
    counters.applyLimits(subject('inc-1'), { search: 5 }, 1_060_000);
    expect(grants(3)).toEqual([true, true, false]);
  });

  it('goes on with what the database has', () => {
    const { counters, take } = setUp();
    counters.set({ ...subject('inc-1'), name: 'search' }, { used: 4, limit: 5, resetsAt: 1_002_000 });
    expect(take()).toMatchObject({ granted: true, used: 5, limit: 5, resetsAt: 1_002_000 });
    expect(take().granted).toBe(false);
  });

  it('starts anew its time after the first call, however busy it was since', () => {
    const { grants } = setUp();
    expect(grants(3)).not.toContain(false);
    jest.setSystemTime(1_059_000);
    expect(grants(1)).toEqual([false]);
    jest.setSystemTime(1_060_001);
    expect(grants(4)).toEqual([true, true, true, false]);
  });

  it('forgets the least recently used at its cap, and warns once a minute of those that lived', () => {
    const { warnings, take } = setUp();
    take('oldest');
    take('older');
    for (let n = 2; n < 100_000; n++) take(String(n));
    take('oldest');
    expect(warnings).toEqual([]);
    take('one more');
    take('another');
    expect(warnings).toEqual([expect.stringContaining('100000')]);
    expect(take('oldest').used).toBe(3);
    jest.setSystemTime(1_060_001);
    take('late');
    expect(warnings).toHaveLength(1);
  });

  it('never grants more than the limit, and never loses a unit that was given back', () => {
    const step = fc.oneof(fc.constant('take' as const), fc.nat(20));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
        const { take, changed } = setUp(limit);
        const held: (() => void)[] = [];
        for (const next of steps) {
          if (next === 'take') {
            const { granted, release } = take();
            expect(granted).toBe(held.length < limit);
            if (granted) held.push(release);
          } else {
            held.splice(next, 1)[0]?.();
          }
          expect(changed.at(-1)?.used ?? 0).toBe(held.length);
        }
      }),
    );
  });
});
