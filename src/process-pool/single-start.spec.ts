import { type BudgetUser, ProcessBudget } from './process-budget.js';
import { startAlone } from './single-start.js';
import { SpawnGate } from './spawn-gate.js';

const patienceMs = 60_000;
const build = (processes: number, starts: number) => ({
  budget: new ProcessBudget(processes),
  gate: new SpawnGate(starts),
});
const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

/** A pool with one process. */
function poolIn(budget: ProcessBudget, idle: boolean): BudgetUser & { give: () => void } {
  const pool = {
    freed: () => undefined,
    give: () => budget.give(pool),
    yieldIdle: () => {
      if (idle) setImmediate(pool.give);
      return idle;
    },
  };
  budget.join(pool);
  budget.take(pool);
  return pool;
}

describe('a process that belongs to no pool', () => {
  it('counts among all while it lives, and starts nothing else at once where one may start at a time', async () => {
    const shared = build(10, 1);
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const one = startAlone(shared, patienceMs, async () => {
      order.push('one begins');
      await first.promise;
      order.push('one ends');
    });
    const two = startAlone(shared, patienceMs, async () => {
      order.push('two begins');
      return shared.budget.inUse;
    });
    expect([shared.budget.inUse, shared.gate.starting, shared.gate.waiting]).toEqual([1, 1, 1]);
    first.resolve();
    await one;
    expect(await two).toBe(1);
    expect(order).toEqual(['one begins', 'one ends', 'two begins']);
    expect([shared.budget.inUse, shared.gate.starting, shared.gate.waiting]).toEqual([0, 0, 0]);
  });

  it('takes the place of an idle one of a pool', async () => {
    const shared = build(1, 4);
    poolIn(shared.budget, true);
    expect(await startAlone(shared, patienceMs, async () => shared.budget.inUse)).toBe(1);
    expect(shared.budget.inUse).toBe(0);
  });

  it('waits for a busy one to end', async () => {
    const shared = build(1, 4);
    const pool = poolIn(shared.budget, false);
    let begun = false;
    const alone = startAlone(shared, patienceMs, async () => (begun = true));
    expect(begun).toBe(false);
    expect(shared.budget.contended).toBe(true);
    pool.give();
    expect(await alone).toBe(true);
  });

  it.each([
    ['CUSTOM_TOOLS_MAX_PROCESSES', 1, 4],
    ['CUSTOM_TOOLS_MAX_CONCURRENT_STARTS', 10, 1],
  ])(
    'names %s when that leaves it no place, and waits for none any more',
    async (setting, processes, starts) => {
      const shared = build(processes, starts);
      const ended = Promise.withResolvers<void>();
      const other = startAlone(shared, patienceMs, () => ended.promise);
      const failure = await failureOf(startAlone(shared, 1, async () => 'never'));
      expect(failure).toMatchObject({ reason: 'timeout', message: expect.stringContaining(setting) });
      expect([shared.budget.contended, shared.gate.waiting]).toEqual([false, 0]);
      ended.resolve();
      await other;
      expect(await startAlone(shared, patienceMs, async () => 'now')).toBe('now');
    },
  );

  it('gives its place back when its work fails', async () => {
    const shared = build(1, 1);
    const fails = startAlone(shared, patienceMs, async () => {
      throw new Error('no tool');
    });
    await expect(fails).rejects.toThrow('no tool');
    expect([shared.budget.inUse, shared.gate.starting]).toEqual([0, 0]);
  });
});
