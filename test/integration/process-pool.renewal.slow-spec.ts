import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cancellation } from '../../src/base/common/cancellation.js';
import { benchForEachTest, call, eventually, isAlive, result } from '../fixtures/tools/pool-lab.js';
import type { ProcessPool } from '../../src/runtime/process-pool/process-pool.js';
import { StartSlots } from '../../src/runtime/process-pool/start-slots.js';

const bench = benchForEachTest();

/** Processes get exactly the pool's limits. */
const exact = { random: () => 1 };
const pid = async (pool: ProcessPool) => (await result(pool, { action: 'pid' })) as number;
const endings = () => bench.lab.of('terminate').map(({ reason }) => reason);
const unknown = () => undefined;

describe('a process that has served its requests', () => {
  it('leaves when its successor is ready; no call waits for either', async () => {
    const pool = bench.lab.pool({ maxRequests: 3, stopGraceMs: 30_000 }, exact);
    const first = await pid(pool);
    for (let n = 0; n < 30; n++) {
      const { notes } = await call(pool, { action: 'sleep', ms: 5 });
      expect(notes.spawnMs).toBeUndefined();
    }
    await bench.lab.until('terminate');
    expect(bench.lab.of('terminate')[0]).toMatchObject({ pid: first, reason: 'requests', exitCode: 0 });
    expect(await pid(pool)).not.toBe(first);
    expect(new Set(endings())).toEqual(new Set(['requests']));
  });

  it('goes on serving until then, however long its successor takes', async () => {
    const flag = join(bench.folder, 'ready');
    writeFileSync(flag, '');
    const pool = bench.lab.pool({ maxRequests: 2, spec: bench.lab.spec([`--start=when:${flag}`]) }, exact);
    const first = await pid(pool);
    rmSync(flag);
    for (let n = 0; n < 10; n++) expect(await pid(pool)).toBe(first);
    expect(pool.stats().starting).toBe(1);
    writeFileSync(flag, '');
    await bench.lab.untilCount('spawn', 2);
    expect(await pid(pool)).not.toBe(first);
  });

  it('goes on serving when its successor cannot start, which is tried again', async () => {
    const flag = join(bench.folder, 'broken');
    const pool = bench.lab.pool({ maxRequests: 1, spec: bench.lab.spec([`--start=unless:${flag}`]) }, exact);
    writeFileSync(flag, '');
    rmSync(flag);
    const first = await pid(pool);
    await bench.lab.untilCount('spawn', 2);
    // Before the request after which the next successor starts.
    writeFileSync(flag, '');
    const second = await pid(pool);
    await bench.lab.until('failed');
    expect(second).not.toBe(first);
    const third = await pid(pool);
    expect((await call(pool, {})).notes.pid).toBe(third);
    rmSync(flag);
    await bench.lab.until('recovered');
    await eventually(() => endings().includes('requests') && !isAlive(third));
  });

  it('ends with its last request, and gets no other one', async () => {
    const pool = bench.lab.pool({ maxRequests: 1, maxConcurrency: 2, stopGraceMs: 5_000 }, exact);
    const last = call(pool, bench.gate.input('last'));
    await bench.gate.running('last');
    await bench.lab.untilCount('spawn', 2);
    const next = await call(pool, {});
    await bench.lab.untilCount('spawn', 3);
    await bench.gate.open('last');
    const { reply, notes } = await last;
    expect(reply).toMatchObject({ result: { key: 'last' } });
    expect(next.notes.pid).not.toBe(notes.pid);
    expect(await bench.lab.until('terminate', (event) => event.pid === notes.pid)).toMatchObject({
      reason: 'requests',
      exitCode: 0,
    });
  });

  it('is killed after all when its last request does not end', async () => {
    const pool = bench.lab.pool({ maxRequests: 1, maxConcurrency: 2 }, exact);
    const caller = new Cancellation();
    const last = call(pool, bench.gate.input('last'), { cancellation: caller });
    await bench.gate.running('last');
    await bench.lab.untilCount('spawn', 2);
    expect(bench.lab.of('terminate')).toEqual([]);
    caller.cancel();
    await expect(last).rejects.toMatchObject({ reason: 'cancelled' });
    expect((await bench.lab.until('terminate')).reason).toBe('cancelled');
  });

  it('that is condemned meanwhile is not dismissed as well', async () => {
    const spec = bench.lab.spec(['--start=slow:500']);
    const pool = bench.lab.pool({ maxRequests: 2, maxConcurrency: 2, spec }, exact);
    const other = call(pool, bench.gate.input('other'));
    await bench.gate.running('other');
    await expect(call(pool, { action: 'hang' }, { timeoutMs: 50 })).rejects.toMatchObject({
      reason: 'timeout',
    });
    await bench.lab.untilCount('spawn', 2);
    await bench.gate.open('other');
    await other;
    expect((await bench.lab.until('terminate')).reason).toBe('timeout');
  });

  it('that crashes meanwhile leaves its place to the one successor', async () => {
    const pool = bench.lab.pool({ maxRequests: 1 }, exact);
    await expect(call(pool, { action: 'crash' })).rejects.toMatchObject({ reason: 'tool_crashed' });
    await bench.lab.untilCount('spawn', 2);
    await eventually(() => pool.stats().pids.length === 1);
    expect(endings()).toEqual(['crash']);
  });

  it('does so at its own limit, between three quarters of the pool’s and all of it', async () => {
    const draws = [0, 1];
    const pool = bench.lab.pool({ maxRequests: 4, poolSize: 2 }, { random: () => draws.shift() ?? 1 });
    const calls = ['a', 'b'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all([bench.gate.running('a'), bench.gate.running('b')]);
    await Promise.all([bench.gate.open('a'), bench.gate.open('b'), ...calls]);
    const [low, high] = bench.lab.of('spawn').map((event) => event.pid) as [number, number];
    const served = new Map([
      [low, 1],
      [high, 1],
    ]);
    while (!bench.lab.of('terminate').length) {
      const { notes } = await call(pool, { action: 'sleep', ms: 30 });
      served.set(notes.pid ?? 0, (served.get(notes.pid ?? 0) ?? 0) + 1);
    }
    const ended = bench.lab.of('terminate')[0]?.pid ?? 0;
    expect(served.get(ended)).toBeGreaterThanOrEqual(ended === low ? 3 : 4);
  });

  it('is one of at most poolSize and a successor', async () => {
    const pool = bench.lab.pool({ maxRequests: 1, poolSize: 2, maxQueue: 100 }, exact);
    let most = 0;
    const calls = Array.from({ length: 40 }, async () => {
      await call(pool, { action: 'sleep', ms: 5 });
      const { starting, idle, busy } = pool.stats();
      most = Math.max(most, starting + idle + busy);
    });
    await Promise.all(calls);
    expect(most).toBe(3);
  });

  it('has no successor while the pool stops', async () => {
    const pool = bench.lab.pool({ maxRequests: 1 }, exact);
    const last = call(pool, bench.gate.input('last'));
    const stopped = pool.stop(100_000);
    await bench.gate.open('last');
    await last;
    await stopped;
    expect(bench.lab.of('spawn')).toHaveLength(1);
    expect(endings()).toEqual(['stop']);
  });

  it('waits for room where the server runs as many processes as it may', async () => {
    const slots = new StartSlots(2);
    const [pool, other] = [
      bench.lab.pool({ name: 'worn', maxRequests: 1 }, { slots, ...exact }),
      bench.lab.pool({ name: 'other' }, { slots }),
    ];
    const busy = call(other, bench.gate.input('a'));
    await bench.gate.running('a');
    const first = await pid(pool);
    expect(await pid(pool)).toBe(first);
    expect(slots.claim()).toBe(false);
    await bench.gate.open('a');
    await busy;
    await other.stop();
    await bench.lab.until('terminate', ({ reason }) => reason === 'requests');
    expect(await pid(pool)).not.toBe(first);
  });
});

describe('a process that is inspected', () => {
  it('is replaced when it is old enough, and a pool that nobody uses becomes idle all the same', async () => {
    const pool = bench.lab.pool({ maxAgeMs: 1, idleTimeoutMs: 600 }, exact);
    const first = await pid(pool);
    // Busy again at once, it cannot become idle before its successor is ready.
    const last = call(pool, bench.gate.input('last'));
    await bench.gate.running('last');
    await eventually(() => (pool.inspect(unknown), bench.lab.of('spawn').length > 1));
    await bench.gate.open('last');
    await last;
    expect((await bench.lab.until('terminate', (event) => event.pid === first)).reason).toBe('age');
    await eventually(() => (pool.inspect(unknown), endings().includes('idle')));
    await eventually(() => pool.stats().pids.length === 0);
  });

  it('is replaced although it has served nobody, and that pool becomes idle as well', async () => {
    const pool = bench.lab.pool({ maxAgeMs: 1, idleTimeoutMs: 1_000 }, exact);
    const caller = new Cancellation();
    const given = expect(call(pool, {}, { cancellation: caller })).rejects.toMatchObject({
      reason: 'cancelled',
    });
    expect(pool.stats().starting).toBe(1);
    caller.cancel();
    await given;
    await eventually(() => (pool.inspect(unknown), endings().includes('age')));
    await eventually(() => (pool.inspect(unknown), endings().includes('idle')));
    await eventually(() => pool.stats().pids.length === 0);
  });

  it('stays while it is younger', async () => {
    const pool = bench.lab.pool({ maxAgeMs: 60_000, maxRequests: 100 }, exact);
    const first = await pid(pool);
    pool.inspect(unknown);
    expect(await pid(pool)).toBe(first);
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });

  it('is replaced when it is too large', async () => {
    const pool = bench.lab.pool({ maxRssBytes: 1_000 }, exact);
    const first = await pid(pool);
    pool.inspect(unknown);
    pool.inspect((asked) => (asked === first ? 1_000 : undefined));
    expect(pool.stats().starting).toBe(0);
    pool.inspect((asked) => (asked === first ? 1_001 : undefined));
    expect(pool.stats().starting).toBe(1);
    pool.inspect(() => 1_001);
    expect(await bench.lab.until('terminate')).toMatchObject({ pid: first, reason: 'memory' });
    expect(bench.lab.of('spawn')).toHaveLength(2);
  });

  it('is not replaced for its size before it has served anybody, nor asked where nothing is limited', async () => {
    const asked = jest.fn(() => 5_000);
    const unused = await bench.lab.warmPool({ maxRssBytes: 1_000, minProcesses: 1 });
    unused.inspect(asked);
    const unlimited = bench.lab.pool();
    await pid(unlimited);
    unlimited.inspect(asked);
    const oneShot = bench.lab.pool({ maxRssBytes: 1_000, maxAgeMs: 1, maxRequests: 1, keepAlive: false });
    await pid(oneShot);
    oneShot.inspect(asked);
    expect(asked).not.toHaveBeenCalled();
  });

  it('makes room for its own successor on a full server once nobody needs it', async () => {
    const pool = bench.lab.pool({ maxRssBytes: 1_000 }, { slots: new StartSlots(1), ...exact });
    const busy = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    pool.inspect(() => 5_000);
    const first = pool.stats().pids[0];
    await bench.gate.open('a');
    await busy;
    expect(await bench.lab.until('terminate')).toMatchObject({ pid: first, reason: 'memory' });
    expect(await pid(pool)).not.toBe(first);
  });
});
