import fc from 'fast-check';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Cancellation } from '../../src/base/common/cancellation.js';
import { benchForEachTest, call, eventually, result } from '../fixtures/tools/pool-lab.js';
import type { ProcessPool } from '../../src/runtime/process-pool/process-pool.js';
import { StartSlots } from '../../src/runtime/process-pool/start-slots.js';

const bench = benchForEachTest();

/** Callers that never stop until `done` says so. */
const flood = (pool: ProcessPool, callers: number, done: () => boolean) =>
  Promise.all(
    Array.from({ length: callers }, async () => {
      while (!done()) await result(pool, { action: 'sleep', ms: 5 });
    }),
  );

describe('a tool that always has work', () => {
  it.each([
    ['one request at a time', { maxConcurrency: 1 }],
    ['several requests at a time, so that it is never idle', { maxConcurrency: 3 }],
  ])('does not starve another where there is one process for both: %s', async (_how, settings) => {
    const slots = new StartSlots(1);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => bench.lab.pool({ name, ...settings }, { slots })) as [
      ProcessPool,
      ProcessPool,
      ProcessPool,
    ];
    let served = 0;
    const others = [b, c].map(async (pool) => {
      expect(await result(pool, { n: 1 }, { timeoutMs: 100_000 })).toEqual({ n: 1 });
      served++;
    });
    await Promise.all([flood(a, 5, () => served === 2), ...others]);
    expect(slots.inUse).toBe(1);
  });
});

describe('starts', () => {
  it('are bounded over all pools', async () => {
    const slots = new StartSlots(Infinity, 2);
    const pools = Array.from({ length: 4 }, (_, n) =>
      bench.lab.pool({ name: `p${n}`, poolSize: 3, minProcesses: 3 }, { slots }),
    );
    for (const pool of pools) pool.warm();
    let most = 0;
    const look = () => {
      most = Math.max(
        most,
        pools.reduce((sum, pool) => sum + pool.stats().starting, 0),
      );
    };
    const watch = setInterval(look, 1);
    await eventually(() => pools.every((pool) => pool.stats().idle === 3));
    clearInterval(watch);
    expect(most).toBe(2);
  });

  it('of a tool that crashes again and again, or hangs, do not keep others from starting', async () => {
    const slots = new StartSlots(Infinity, 2);
    const options = { slots };
    const crashing = bench.lab.pool(
      { spec: bench.lab.spec(['--start=exit']), poolSize: 5, maxFailedStarts: 99 },
      options,
    );
    const hanging = bench.lab.pool({ spec: bench.lab.spec(['--start=hang']), poolSize: 5 }, options);
    const caller = new Cancellation();
    const hopeless = [crashing, crashing, crashing, hanging, hanging, hanging].map((pool) =>
      call(pool, {}, { cancellation: caller }).catch(({ reason }) => reason),
    );
    await bench.lab.until('start_failed');
    for (let n = 0; n < 3; n++) {
      const pool = bench.lab.pool({ name: `good${n}` }, options);
      // Less than the start of one that hangs may take.
      expect(await result(pool, {}, { timeoutMs: 30_000 })).toEqual({});
    }
    caller.cancel();
    expect(await Promise.all(hopeless)).toEqual(Array(6).fill('cancelled'));
    expect(slots.waiting).toBe(0);
  });

  it('say so to a request that waits for one', async () => {
    const slots = new StartSlots(Infinity, 1);
    const hanging = bench.lab.pool({ spec: bench.lab.spec(['--start=hang']) }, { slots });
    const first = call(hanging, {}, { timeoutMs: 500 }).catch(({ reason }) => reason);
    await expect(call(bench.lab.pool({}, { slots }), {}, { timeoutMs: 30 })).rejects.toThrow(
      'as many processes as may start at a time were starting',
    );
    expect(await first).toBe('timeout');
  });

  it('of a pool that stops while it waits for a start are forgotten', async () => {
    const slots = new StartSlots(Infinity, 1);
    const hanging = bench.lab.pool({ spec: bench.lab.spec(['--start=hang']) }, { slots });
    const first = call(hanging, {}, { timeoutMs: 300 }).catch(({ reason }) => reason);
    const waiting = bench.lab.pool({ minProcesses: 2, poolSize: 2 }, { slots });
    waiting.warm();
    expect(slots.waiting).toBe(1);
    await waiting.stop();
    expect(slots.waiting).toBe(0);
    expect(await first).toBe('timeout');
  });
});

describe('a waiter that gives up', () => {
  const collect = (() => {
    setFlagsFromString('--expose-gc');
    return runInNewContext('gc') as () => void;
  })();

  it('leaves no trace: neither memory nor a listener nor a place in the queue', async () => {
    const pool = bench.lab.pool({ maxQueue: 10_000 });
    const running = call(pool, bench.gate.input('a'), { timeoutMs: 110_000 });
    await bench.gate.running('a');
    const shared = new Cancellation();
    const wave = async () => {
      const callers = Array.from({ length: 2_000 }, () => new Cancellation());
      const waiting = callers.map((cancellation, n) =>
        call(
          pool,
          { padding: 'x'.repeat(1_000), n },
          n % 2 ? { cancellation } : { timeoutMs: 20, cancellation },
        ).catch(({ reason }) => reason),
      );
      const both = call(pool, {}, { cancellation: shared, timeoutMs: 20 }).catch(({ reason }) => reason);
      for (const [n, caller] of callers.entries()) if (n % 2) caller.cancel();
      const reasons = await Promise.all([...waiting, both]);
      expect(new Set(reasons)).toEqual(new Set(['cancelled', 'timeout']));
      expect(pool.stats().waiting).toBe(0);
    };
    await wave();
    await wave();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 5; n++) await wave();
    collect();
    // Ten thousand waiters that were kept would be more than 10 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000);
    expect([Reflect.get(shared, 'listener'), Reflect.get(shared, 'others')]).toEqual([undefined, undefined]);
    await bench.gate.open('a');
    await running;
  });

  it('does not disturb the order of the others, whichever of them give up', async () => {
    const pool = bench.lab.pool({ maxQueue: 100 });
    const fates = fc.array(fc.constantFrom('stays', 'leaves', 'late', 'fresh'), {
      minLength: 2,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fates, async (waiters) => {
        const key = `first${Math.random()}`;
        const first = call(pool, bench.gate.input(key));
        await bench.gate.running(key);
        const served: number[] = [];
        const caller = new Cancellation();
        const calls = waiters.map(async (fate, n) => {
          const options = {
            ...(fate === 'leaves' && { cancellation: caller }),
            ...(fate === 'late' && { timeoutMs: 5 }),
            ...(fate === 'fresh' && { fresh: true, cancellation: caller }),
          };
          await call(pool, { n }, options).then(
            () => served.push(n),
            () => undefined,
          );
        });
        caller.cancel();
        await eventually(() => pool.stats().waiting === waiters.filter((fate) => fate === 'stays').length);
        await bench.gate.open(key);
        await Promise.all([first, ...calls]);
        expect(served).toEqual([...waiters.keys()].filter((n) => waiters[n] === 'stays'));
      }),
      { numRuns: 30 },
    );
  });

  it('stops waiting for room on a full server: an idle process elsewhere stays', async () => {
    const slots = new StartSlots(1);
    const [a, b] = [bench.lab.pool({ name: 'a' }, { slots }), bench.lab.pool({ name: 'b' }, { slots })];
    const busy = call(a, bench.gate.input('a'));
    await bench.gate.running('a');
    await expect(call(b, {}, { timeoutMs: 20 })).rejects.toMatchObject({ reason: 'timeout' });
    expect(slots.waiting).toBe(0);
    await bench.gate.open('a');
    await busy;
    expect(await result(a, {})).toEqual({});
    expect(bench.lab.of('terminate')).toEqual([]);
  });
});

describe('a process that belongs to no pool', () => {
  const timeoutMs = 60_000;

  it('counts among all while it lives, and starts nothing else at once where one may start at a time', async () => {
    const slots = new StartSlots(10, 1);
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const one = slots.run(timeoutMs, async () => {
      order.push('one begins');
      await first.promise;
      order.push('one ends');
    });
    const two = slots.run(timeoutMs, async () => {
      order.push('two begins');
      return slots.inUse;
    });
    expect([slots.inUse, slots.starting, slots.waiting]).toEqual([1, 1, 1]);
    first.resolve();
    await one;
    expect(await two).toBe(1);
    expect(order).toEqual(['one begins', 'one ends', 'two begins']);
    expect([slots.inUse, slots.starting, slots.waiting]).toEqual([0, 0, 0]);
  });

  it('takes the place of an idle one of a pool, the longest idle', async () => {
    const slots = new StartSlots(2);
    const [a, b] = ['a', 'b'].map((name) => bench.lab.pool({ name }, { slots })) as [
      ProcessPool,
      ProcessPool,
    ];
    await result(a, {});
    await result(b, {});
    await result(a, {});
    expect(await slots.run(timeoutMs, async () => slots.inUse)).toBe(2);
    expect(bench.lab.of('terminate')).toMatchObject([{ pool: 'b', reason: 'idle' }]);
    expect(slots.inUse).toBe(1);
  });

  it.each([
    ['CUSTOM_TOOLS_MAX_PROCESSES', 1, 4],
    ['start at a time', 10, 1],
  ])(
    'names %s when that leaves it no place, and waits for none any more',
    async (setting, processes, starts) => {
      const slots = new StartSlots(processes, starts);
      const ended = Promise.withResolvers<void>();
      const other = slots.run(timeoutMs, () => ended.promise);
      await expect(slots.run(1, async () => 'never')).rejects.toMatchObject({
        reason: 'timeout',
        message: expect.stringContaining(setting),
      });
      expect(slots.waiting).toBe(0);
      ended.resolve();
      await other;
      expect(await slots.run(timeoutMs, async () => 'now')).toBe('now');
    },
  );

  it('gives its place back when its work fails', async () => {
    const slots = new StartSlots(1, 1);
    const fails = slots.run(timeoutMs, async () => {
      throw new Error('no tool');
    });
    await expect(fails).rejects.toThrow('no tool');
    expect([slots.inUse, slots.starting]).toEqual([0, 0]);
  });
});
