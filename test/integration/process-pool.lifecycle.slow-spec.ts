import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchForEachTest, call, eventually, result } from '../fixtures/tools/pool-lab.js';
import { launch } from '../../src/runtime/process-pool/launcher.js';
import { ProcessPool } from '../../src/runtime/process-pool/process-pool.js';
import { StartSlots } from '../../src/runtime/process-pool/start-slots.js';

const bench = benchForEachTest();

const broken = () => ({ spec: bench.lab.spec(['--start=exit']) });

describe('warm', () => {
  it('starts the minimum and keeps it', async () => {
    const pool = await bench.lab.warmPool({ poolSize: 3, minProcesses: 2 });
    expect(pool.stats()).toMatchObject({ idle: 2, starting: 0 });
    const [first] = pool.stats().pids;
    if (first) process.kill(first, 'SIGKILL');
    await bench.lab.untilCount('spawn', 3);
    await eventually(() => pool.stats().idle === 2);
  });

  it('needs nothing for a pool without a minimum', () => {
    bench.lab.pool().warm();
    expect(bench.lab.events).toEqual([]);
  });

  it('says why when the tool cannot be started, and goes on trying', async () => {
    bench.lab.pool({ ...broken(), minProcesses: 1, maxFailedStarts: 2 }).warm();
    expect((await bench.lab.until('failed')).error).toMatch(
      /exit code 7.*its stderr ends with: ModuleNotFoundError/,
    );
    await bench.lab.untilCount('start_failed', 3);
  });

  it('is content with what the cap over all pools leaves', async () => {
    const pool = bench.lab.pool({ poolSize: 3, minProcesses: 3 }, { slots: new StartSlots(1) });
    pool.warm();
    await eventually(() => pool.stats().idle === 1);
    expect(pool.stats()).toMatchObject({ starting: 0, idle: 1 });
  });

  it('ends when the pool stops', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--start=hang']), minProcesses: 1 });
    pool.warm();
    await pool.stop();
    pool.warm();
    expect(bench.lab.of('start_failed')).toEqual([]);
    expect(bench.lab.of('terminate').map(({ reason }) => reason)).toEqual(['stop']);
  });
});

describe('a tool that cannot be started', () => {
  it('is tried again with growing pauses while a request waits; then the request fails with the reason', async () => {
    const pool = bench.lab.pool(broken());
    const started = performance.now();
    await expect(call(pool, {})).rejects.toMatchObject({
      reason: 'spawn_failed',
      written: false,
      message: expect.stringContaining('ModuleNotFoundError'),
    });
    expect(performance.now() - started).toBeGreaterThan(290);
    expect(bench.lab.of('start_failed').map(({ failures }) => failures)).toEqual([1, 2, 3]);
    expect(bench.lab.of('failed')).toHaveLength(1);
    expect(bench.lab.of('terminate')[0]).toMatchObject({ reason: 'start_failed', exitCode: 7 });
  });

  it('then fails requests at once, with one test start per pause', async () => {
    const pool = bench.lab.pool({ ...broken(), maxFailedStarts: 1 });
    await expect(call(pool, {})).rejects.toMatchObject({ reason: 'spawn_failed' });
    const before = bench.lab.of('start_failed').length;
    // None of them waits for a start: they end together, before a process could.
    const refused = await Promise.allSettled(Array.from({ length: 20 }, () => call(pool, {})));
    expect(refused).toEqual(Array(20).fill(expect.objectContaining({ status: 'rejected' })));
    expect(bench.lab.of('start_failed')).toHaveLength(before);
    await bench.lab.untilCount('start_failed', before + 1);
    expect(bench.lab.of('failed')).toHaveLength(1);
  });

  it('recovers by itself with a good start, and says so', async () => {
    const flag = join(bench.folder, 'broken');
    writeFileSync(flag, '');
    const pool = bench.lab.pool({ spec: bench.lab.spec([`--start=unless:${flag}`]), maxFailedStarts: 2 });
    await expect(call(pool, {})).rejects.toMatchObject({ reason: 'spawn_failed' });
    rmSync(flag);
    await bench.lab.until('recovered');
    expect(await result(pool, {})).toEqual({});
  });

  it('does not fail requests that a running process can still serve', async () => {
    const flag = join(bench.folder, 'broken');
    const pool = bench.lab.pool({
      spec: bench.lab.spec([`--start=unless:${flag}`]),
      poolSize: 2,
      maxFailedStarts: 1,
    });
    const first = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    writeFileSync(flag, '');
    const second = call(pool, { second: 1 });
    await bench.lab.until('failed');
    await bench.gate.open('a');
    await first;
    expect((await second).reply).toEqual({ result: { second: 1 } });
  });

  it('counts starts side by side once', async () => {
    const pool = bench.lab.pool({ ...broken(), poolSize: 5, minProcesses: 5, maxFailedStarts: 10 });
    pool.warm();
    await bench.lab.untilCount('start_failed', 5);
    expect(
      bench.lab
        .of('start_failed')
        .slice(0, 5)
        .filter(({ failures }) => failures === 1).length,
    ).toBeGreaterThan(1);
    expect(bench.lab.of('failed')).toEqual([]);
  });

  it('says the last reason to a request whose deadline passes meanwhile', async () => {
    const pool = bench.lab.pool({ ...broken(), maxFailedStarts: 99 });
    const waiting = call(pool, {}, { timeoutMs: 1_000 });
    await bench.lab.until('start_failed');
    await expect(waiting).rejects.toMatchObject({
      reason: 'timeout',
      message: expect.stringMatching(/its last start failed \(.*exit code 7/),
    });
  });

  it('is ended when it does not answer initialize in time', async () => {
    const pool = bench.lab.pool({
      spec: bench.lab.spec(['--start=hang', '--ignore-eof', '--ignore-term']),
      startTimeoutMs: 200,
      maxFailedStarts: 1,
    });
    await expect(call(pool, {})).rejects.toThrow('did not answer "initialize" within 200 ms');
    await eventually(() => bench.lab.alive().length === 0);
  });

  it('needs no process for its failure: a command that is missing', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec([], '/no/such/tool'), maxFailedStarts: 1 });
    expect(pool.whyUnavailable()).toBeUndefined();
    const failed = expect(call(pool, {})).rejects.toThrow('"/no/such/tool" was not found');
    expect(pool.stats()).toMatchObject({ starting: 1, pids: [] });
    await failed;
    expect(pool.whyUnavailable()).toContain('"/no/such/tool" was not found');
    expect(bench.lab.of('terminate')).toEqual([]);
    expect(pool.stats().pids).toEqual([]);
  });

  it('is tried again after a launcher that throws', async () => {
    let turns = 0;
    const pool = bench.lab.pool(
      {},
      {
        launcher: (spec) => {
          if (turns++ === 0) throw new Error('no processes left');
          return launch(spec);
        },
      },
    );
    expect(await result(pool, {})).toEqual({});
    expect(bench.lab.of('start_failed')[0]?.error).toContain('no processes left');
  });

  it('is not started in a storm when its processes die unused', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--start=die-after']), minProcesses: 1 });
    const started = performance.now();
    pool.warm();
    await bench.lab.untilCount('spawn', 4);
    expect(performance.now() - started).toBeGreaterThan(100 + 200 + 400);
    expect(bench.lab.of('terminate')[0]).toMatchObject({ reason: 'crash', exitCode: 4 });
  });
});

describe('stop', () => {
  it('awaits running and waiting calls, refuses new ones, and leaves no process', async () => {
    const pool = bench.lab.pool({ poolSize: 2, maxQueue: 50 });
    const calls = Array.from({ length: 20 }, (_, n) => result(pool, { action: 'sleep', ms: 20, n }));
    const stopped = pool.stop(100_000);
    await expect(call(pool, {})).rejects.toMatchObject({ reason: 'shutting_down' });
    expect(() => pool.admit()).toThrow(expect.objectContaining({ reason: 'shutting_down' }));
    await expect(Promise.all(calls)).resolves.toHaveLength(20);
    await stopped;
    expect(bench.lab.alive()).toEqual([]);
    expect(pool.stop()).toBe(pool.stop());
  });

  it('serves calls that were admitted before it, and waits for places to be given back', async () => {
    const pool = bench.lab.pool();
    const slot = pool.admit();
    let stopped = false;
    const stop = pool.stop(100_000).then(() => (stopped = true));
    expect(await result(pool, { late: 1 }, { slot })).toEqual({ late: 1 });
    expect(stopped).toBe(false);
    slot.release();
    await stop;
  });

  it('cuts off what has not ended in time', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--ignore-eof', '--ignore-term']) });
    const slot = pool.admit();
    const running = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    const waiting = call(pool, {});
    const stopped = pool.stop(50);
    await expect(running).rejects.toMatchObject({ reason: 'shutting_down', written: true });
    await expect(waiting).rejects.toMatchObject({ reason: 'shutting_down', written: false });
    await expect(call(pool, {}, { slot })).rejects.toMatchObject({ reason: 'shutting_down' });
    await stopped;
    slot.release();
    expect(bench.lab.alive()).toEqual([]);
    expect(bench.lab.of('terminate')[0]).toMatchObject({ reason: 'stop', signal: 'SIGKILL' });
  });

  it.each([
    ['closes stdin first', [], 30_000, { exitCode: 0, signal: null }],
    ['then sends SIGTERM', ['--ignore-eof'], 2_000, { exitCode: null, signal: 'SIGTERM' }],
    ['then sends SIGKILL', ['--ignore-eof', '--ignore-term'], 150, { exitCode: null, signal: 'SIGKILL' }],
  ])('%s', async (_step, options, stopGraceMs, ending) => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(options), stopGraceMs });
    await result(pool, {});
    await pool.stop();
    expect(bench.lab.of('terminate')).toEqual([expect.objectContaining({ reason: 'stop', ...ending })]);
  });

  it('ends grandchildren with their process', async () => {
    const pool = bench.lab.pool();
    await result(pool, { action: 'grandchild', then: 'stay' });
    expect(bench.lab.alive()).toHaveLength(2);
    await pool.stop();
    await eventually(() => bench.lab.alive().length === 0);
  });

  it('of a pool without caps and with a listener that throws', async () => {
    const pool = new ProcessPool(bench.lab.settings());
    pool.events.subscribe(() => {
      throw new Error('a bad listener');
    });
    expect(await result(pool, { n: 1 })).toEqual({ n: 1 });
    await pool.stop();
    expect(bench.lab.alive()).toEqual([]);
  });

  it('of a pool that never ran anything is done at once', async () => {
    await bench.lab.pool().stop();
    expect(bench.lab.events).toEqual([]);
  });

  it('while a start failed before does not try again', async () => {
    const pool = bench.lab.pool({ ...broken(), minProcesses: 1 });
    pool.warm();
    await bench.lab.until('terminate');
    await pool.stop();
    expect(bench.lab.alive()).toEqual([]);
  });
});
