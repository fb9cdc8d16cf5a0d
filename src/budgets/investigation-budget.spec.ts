import fc from 'fast-check';
import type { BudgetDecision, InvestigationKey } from './budget-store.js';
import { type BudgetSettings, InvestigationBudget } from './investigation-budget.js';

const key = (investigationId: string, projectId = 'default') => ({ projectId, investigationId });

class TestClock {
  time = 1_000_000;
  now(): number {
    return this.time;
  }
}

function setUp(settings: Partial<BudgetSettings> = {}) {
  const clock = new TestClock();
  const warnings: string[] = [];
  const budget = new InvestigationBudget(
    { callsPerTool: 3, ttlMs: 60_000, maxTracked: 100, ...settings },
    (message) => warnings.push(message),
    clock,
  );
  const view = ({ projectId, investigationId }: InvestigationKey) =>
    budget.latest(1, { projects: [projectId], investigationId })[0];
  const take = (investigationId = 'inc-1', tool = 'search', toolLimit?: number): BudgetDecision =>
    budget.take({ ...key(investigationId), tool, toolLimit });
  const grants = (count: number, ...args: Parameters<typeof take>): boolean[] =>
    Array.from({ length: count }, () => take(...args).granted);
  return { budget, view, clock, warnings, take, grants };
}

function granted(decision: BudgetDecision): Extract<BudgetDecision, { granted: true }> {
  if (!decision.granted) throw new Error('not granted');
  return decision;
}

describe('InvestigationBudget', () => {
  it('grants as many calls as there are, and says what is left', () => {
    const { take } = setUp();
    expect([take(), take(), take(), take()].map(({ granted, budget }) => [granted, budget])).toEqual([
      [true, { limit: 3, remaining: 2, resetsAt: 1_060_000 }],
      [true, { limit: 3, remaining: 1, resetsAt: 1_060_000 }],
      [true, { limit: 3, remaining: 0, resetsAt: 1_060_000 }],
      [false, { limit: 3, remaining: 0, resetsAt: 1_060_000 }],
    ]);
  });

  it('counts each tool and each investigation for itself', () => {
    const { grants } = setUp();
    expect(grants(4)).toEqual([true, true, true, false]);
    expect(grants(4, 'inc-1', 'other')).toEqual([true, true, true, false]);
    expect(grants(4, 'inc-2')).toEqual([true, true, true, false]);
  });

  it.each([
    ['another project', key('inc-1', 'a'), key('inc-1', 'b')],
    ['a caller without a key', key('inc-1', 'a'), key('inc-1', '')],
    ['a project whose name runs into the id', key('bc', 'a'), key('c', 'ab')],
    ['a name that looks like a length', key('2 x', ''), key('x', '2 ')],
  ])('counts the same id for %s by itself', (_who, one, other) => {
    const { budget, view } = setUp({ callsPerTool: 1 });
    const request = { tool: 'search', toolLimit: undefined };
    expect(budget.take({ ...one, ...request }).granted).toBe(true);
    expect(view(other)).toBeUndefined();
    expect(budget.take({ ...other, ...request }).granted).toBe(true);
    expect(budget.latest(9, { projects: [one.projectId] })).toEqual([view(one)]);
  });

  it('gives a released unit to the next call, once', () => {
    const { take, grants } = setUp({ callsPerTool: 1 });
    const { release } = granted(take());
    release();
    release();
    expect(grants(2)).toEqual([true, false]);
  });

  it('lets a unit that is released after a reset change nothing', () => {
    const { budget, take, grants } = setUp({ callsPerTool: 1 });
    const { release } = granted(take());
    budget.reset(key('inc-1'));
    expect(grants(1)).toEqual([true]);
    release();
    expect(grants(1)).toEqual([false]);
  });

  it('has no limit at 0, but counts', () => {
    const { take, grants, view } = setUp({ callsPerTool: 0 });
    expect(granted(take()).budget).toBeUndefined();
    expect(grants(50)).not.toContain(false);
    expect(view(key('inc-1'))?.tools).toEqual([{ tool: 'search', limit: 0, used: 51, remaining: null }]);
  });

  it("takes the operator's word for a tool, then the tool's, then the investigation's, then the server's", () => {
    const { budget, take } = setUp();
    const limit = (toolLimit?: number) => take('inc-1', 'search', toolLimit).budget?.limit;
    expect(limit()).toBe(3);
    budget.raise(key('inc-1'), { callsPerTool: 20 });
    expect(limit()).toBe(20);
    expect(limit(15)).toBe(15);
    budget.raise(key('inc-1'), { tools: { search: 40 } });
    expect(limit(15)).toBe(40);
    expect(take('inc-2', 'search', 0).budget).toBeUndefined();
  });

  it('lets a spent tool go on after a raise', () => {
    const { budget, grants } = setUp();
    expect(grants(4).at(-1)).toBe(false);
    budget.raise(key('inc-1'), { tools: { search: 5 } });
    expect(grants(3)).toEqual([true, true, false]);
  });

  it('may be raised before the first call', () => {
    const { budget } = setUp();
    expect(budget.raise(key('new'), { callsPerTool: 9, tools: { b: 1, a: 0 } })).toEqual({
      projectId: 'default',
      investigationId: 'new',
      callsPerTool: 9,
      resetsAt: 1_060_000,
      tools: [
        { tool: 'a', limit: 0, used: 0, remaining: null },
        { tool: 'b', limit: 1, used: 0, remaining: 1 },
      ],
    });
  });

  it('shows never less than nothing left when a limit was lowered', () => {
    const { budget, grants } = setUp();
    grants(3);
    expect(budget.raise(key('inc-1'), { callsPerTool: 1 }).tools).toEqual([
      { tool: 'search', limit: 1, used: 3, remaining: 0 },
    ]);
  });

  it('knows nothing of an investigation that was never seen, was reset or has expired', () => {
    const { budget, clock, take, view } = setUp();
    expect(view(key('inc-1'))).toBeUndefined();
    take();
    expect(view(key('inc-1'))).toBeDefined();
    budget.reset(key('inc-1'));
    expect(view(key('inc-1'))).toBeUndefined();
    take();
    clock.time += 60_001;
    expect(view(key('inc-1'))).toBeUndefined();
  });

  it('renews the budget its time after the first call, however busy it was since', () => {
    const { clock, grants } = setUp();
    expect(grants(3)).not.toContain(false);
    clock.time += 59_000;
    expect(grants(1)).toEqual([false]);
    clock.time += 1_001;
    expect(grants(4)).toEqual([true, true, true, false]);
  });

  it('forgets the least recently used at its cap and warns once a minute', () => {
    const { clock, warnings, take, view } = setUp({ maxTracked: 2, ttlMs: 1_000_000 });
    take('a');
    take('b');
    take('a');
    expect(warnings).toEqual([]);
    take('c');
    expect(view(key('b'))).toBeUndefined();
    expect(view(key('a'))?.tools[0]?.used).toBe(2);
    take('d');
    expect(warnings).toEqual([expect.stringContaining('2 investigations live at once')]);
    clock.time += 60_000;
    take('e');
    expect(warnings).toHaveLength(2);
  });

  it('does not warn when what it forgets had expired', () => {
    const { clock, warnings, take } = setUp({ maxTracked: 1 });
    take('a');
    clock.time += 60_001;
    take('b');
    expect(warnings).toEqual([]);
  });

  it('never grants more than the limit, and never loses a unit that was given back', () => {
    const step = fc.oneof(fc.constant('take' as const), fc.nat(20));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(step, { maxLength: 60 }),
        (callsPerTool, steps) => {
          const { take, view } = setUp({ callsPerTool });
          const held: (() => void)[] = [];
          for (const next of steps) {
            if (next === 'take') {
              const decision = take();
              expect(decision.granted).toBe(held.length < callsPerTool);
              if (decision.granted) held.push(decision.release);
            } else {
              held.splice(next, 1)[0]?.();
            }
            expect(view(key('inc-1'))?.tools[0]?.used ?? 0).toBe(held.length);
          }
        },
      ),
    );
  });
});
