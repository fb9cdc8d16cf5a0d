import { Cancellation } from '../../base/common/cancellation.js';
import { until } from '../../../test/support/wait.js';
import { benchForEachTest, call, result } from '../../../test/fixtures/tools/pool-lab.js';

const bench = benchForEachTest();

/** A `begin` that lasts until the test ends it. */
function heldBegin() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let begun = 0;
  const begin = (): Promise<void> => (begun++, promise);
  return { begin, end: resolve, refuse: reject, count: () => begun };
}

describe('a request with `begin`', () => {
  it('begins when a process is free for it, and is written then', async () => {
    const pool = bench.lab.pool();
    const first = call(pool, bench.gate.input('first'));
    await bench.gate.running('first');
    const { begin, end, count } = heldBegin();
    const second = call(pool, bench.gate.input('second'), { begin });
    expect([pool.stats().waiting, count()]).toEqual([1, 0]);
    await bench.gate.open('first');
    await first;
    await until(() => count() > 0, { what: 'the second to begin' });
    // The process is reserved.
    const third = result(pool, { n: 3 });
    expect(pool.stats()).toMatchObject({ idle: 0, waiting: 1 });
    end();
    await bench.gate.open('second');
    await second;
    expect(await third).toEqual({ n: 3 });
    expect([bench.gate.arrived, count()]).toEqual([['first', 'second'], 1]);
  });

  it.each<[string, { timeoutMs?: number }, (held: ReturnType<typeof heldBegin>, left: Cancellation) => void]>(
    [
      ['interrupted', {}, ({ refuse }) => refuse(Object.assign(new Error('no'), { reason: 'interrupted' }))],
      ['cancelled', {}, (_held, left) => left.cancel()],
      ['timeout', { timeoutMs: 1_000 }, () => undefined],
    ],
  )('is given to no process if it ends as %s first', async (reason, options, act) => {
    const pool = bench.lab.pool();
    const pid = await result(pool, { action: 'pid' });
    const [held, cancellation] = [heldBegin(), new Cancellation()];
    const given = call(pool, bench.gate.input('given'), { ...options, begin: held.begin, cancellation });
    await until(() => held.count() > 0, { what: 'the call to begin' });
    act(held, cancellation);
    const failure: unknown = await given.catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason });
    expect(failure).not.toMatchObject({ written: true });
    held.end();
    expect(await result(pool, { action: 'pid' })).toBe(pid);
    expect(bench.gate.arrived).toEqual([]);
  });

  it('runs on another process if the reserved one ends meanwhile, and begins once', async () => {
    const pool = bench.lab.pool();
    const pid = (await result(pool, { action: 'pid' })) as number;
    const { begin, end, count } = heldBegin();
    const given = result(pool, { action: 'pid' }, { begin });
    process.kill(pid, 'SIGKILL');
    await bench.lab.until('terminate');
    end();
    expect(await given).not.toBe(pid);
    expect(count()).toBe(1);
  });

  it('holds up the end of the pool', async () => {
    const pool = bench.lab.pool();
    await result(pool, {});
    const { begin, end } = heldBegin();
    const given = result(pool, { n: 1 }, { begin });
    const stopped = pool.stop(100_000);
    end();
    expect(await given).toEqual({ n: 1 });
    await stopped;
  });
});
