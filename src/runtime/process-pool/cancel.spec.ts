import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Cancellation } from '../../base/common/cancellation.js';
import {
  benchForEachTest,
  call,
  eventually,
  type PoolLab,
  result,
} from '../../../test/fixtures/tools/pool-lab.js';
import { Deadline } from '../../base/common/deadline.js';
import type { PoolSettings } from './pool.types.js';

const bench = benchForEachTest();

/** A pool whose tool declares `cancel`, and does on it what `how` says. */
const cancellable = (how: string, settings: Partial<PoolSettings> = {}) =>
  bench.lab.pool({ spec: bench.lab.spec(['--declares=cancel', `--cancel=${how}`]), ...settings });

/** A call that runs inside the tool and is given up by its caller there. */
async function giveUp(pool: ReturnType<PoolLab['pool']>, key: string): Promise<void> {
  const caller = new Cancellation();
  const given = call(pool, bench.gate.input(key), { cancellation: caller });
  await bench.gate.running(key);
  caller.cancel();
  await expect(given).rejects.toMatchObject({ reason: 'cancelled', written: true });
}

const heard = async (pool: ReturnType<PoolLab['pool']>) => result(pool, { action: 'heard' });

describe('a tool that declares cancel', () => {
  it.each([
    ['its caller leaves', (pool: ReturnType<PoolLab['pool']>) => giveUp(pool, 'a'), 'cancelled'],
    [
      'its deadline passes',
      async (pool: ReturnType<PoolLab['pool']>) => {
        const late = expect(call(pool, bench.gate.input('a'), { timeoutMs: 300 })).rejects.toMatchObject({
          reason: 'timeout',
          message: 'The tool did not answer within 300 ms',
        });
        await bench.gate.running('a');
        await late;
      },
      'timeout',
    ],
  ])('is told when %s; it ends the call in time and serves the next one', async (_when, end, reason) => {
    const pool = cancellable('answer');
    const pid = await result(pool, { action: 'pid' });
    await end(pool);
    expect(await result(pool, { action: 'pid' })).toBe(pid);
    expect(await heard(pool)).toEqual([{ method: 'cancel', params: { id: bench.gate.idOf('a'), reason } }]);
    expect(bench.lab.of('terminate')).toEqual([]);
  });

  it('keeps its place until it has answered: the next call waits', async () => {
    const pool = cancellable('ignore', { cancelGraceMs: 60_000 });
    await giveUp(pool, 'a');
    expect(pool.stats()).toMatchObject({ busy: 1, idle: 0 });
    const next = call(pool, { next: 1 });
    expect(pool.stats()).toMatchObject({ waiting: 1 });
    await bench.gate.open('a');
    expect((await next).reply).toEqual({ result: { next: 1 } });
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });

  it('is killed when the grace is over, and never used again', async () => {
    const pool = cancellable('ignore', { cancelGraceMs: 50 });
    const pid = await result(pool, { action: 'pid' });
    await giveUp(pool, 'a');
    const next = await call(pool, { action: 'pid' });
    expect(next.notes.pid).not.toBe(pid);
    expect(await bench.lab.until('terminate')).toMatchObject({ pid, reason: 'cancelled' });
  });

  it('may exit instead: that is its end by cancel, no crash', async () => {
    const pool = cancellable('exit');
    await giveUp(pool, 'a');
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'cancelled', exitCode: 1 });
    expect(await result(pool, {})).toEqual({});
  });

  it('is not asked with a grace of 0', async () => {
    const pool = cancellable('answer', { cancelGraceMs: 0 });
    await giveUp(pool, 'a');
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'cancelled' });
  });

  it('is killed when it does not read its input: it could not be asked', async () => {
    const pool = cancellable('answer', { maxPendingInputBytes: 10_000_000, cancelGraceMs: 60_000 });
    await result(pool, { action: 'deaf' });
    const big = { text: 'x'.repeat(3_000_000) };
    await expect(call(pool, big, { timeoutMs: 200 })).rejects.toMatchObject({ reason: 'timeout' });
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'timeout' });
  });

  it('is not asked to cancel a health check', async () => {
    const spec = bench.lab.spec(['--declares=cancel', '--health=hang']);
    const pool = bench.lab.pool({ spec, cancelGraceMs: 60_000 });
    await result(pool, {});
    await expect(pool.health(Deadline.ofSmallest([50]))).rejects.toMatchObject({ reason: 'timeout' });
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'timeout' });
  });

  it('stops at once with its pool, although the grace is long', async () => {
    const pool = cancellable('ignore', { cancelGraceMs: 60_000 });
    await giveUp(pool, 'a');
    await pool.stop();
    expect(bench.lab.alive()).toEqual([]);
  });

  it('gets a fresh process for each call where it keeps none alive, and ends after the cancelled one', async () => {
    const pool = cancellable('answer', { keepAlive: false });
    await giveUp(pool, 'a');
    expect(await result(pool, { action: 'count' })).toMatchObject({ served: 1 });
    await bench.lab.untilCount('terminate', 2);
    expect(bench.lab.of('terminate').map(({ reason }) => reason)).toEqual(['one_shot', 'one_shot']);
  });
});

describe('late, doubled and unknown answers after a cancel', () => {
  it.each([['answer'], ['twice'], ['anonymous']])('reach no other call: %s', async (how) => {
    const pool = cancellable(how);
    for (let n = 0; n < 5; n++) {
      const notices: unknown[] = [];
      const caller = new Cancellation();
      const given = call(pool, bench.gate.input(`given-${n}`), { cancellation: caller });
      await bench.gate.running(`given-${n}`);
      caller.cancel();
      await expect(given).rejects.toMatchObject({ reason: 'cancelled' });
      const onNotice = (notice: unknown) => notices.push(notice);
      expect((await call(pool, { n }, { onNotice })).reply).toEqual({ result: { n } });
      expect(notices).toEqual([]);
    }
    expect(bench.lab.of('spawn')).toHaveLength(1);
    expect(bench.lab.of('terminate')).toEqual([]);
  });

  it('are dropped when they come after the grace, from a process that must not live', async () => {
    const pool = cancellable('ignore', { cancelGraceMs: 20, maxConcurrency: 2 });
    const neighbour = call(pool, bench.gate.input('neighbour'));
    await bench.gate.running('neighbour');
    await giveUp(pool, 'late');
    await eventually(() => pool.stats().busy === 0);
    await bench.gate.open('late');
    await bench.gate.open('neighbour');
    expect((await neighbour).reply).toMatchObject({ result: { key: 'neighbour' } });
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'cancelled' });
  });
});

describe('the neighbours of a cancelled call', () => {
  it('go on on the same process when the tool cancels in time', async () => {
    const pool = cancellable('answer', { maxConcurrency: 3 });
    const neighbours = ['x', 'y'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all(['x', 'y'].map((key) => bench.gate.running(key)));
    await giveUp(pool, 'a');
    await giveUp(pool, 'b');
    for (const key of ['y', 'x']) await bench.gate.open(key);
    const answers = await Promise.all(neighbours);
    expect(answers.map(({ reply }) => reply)).toMatchObject([
      { result: { key: 'x' } },
      { result: { key: 'y' } },
    ]);
    expect(bench.lab.of('spawn')).toHaveLength(1);
    expect(bench.lab.of('terminate')).toEqual([]);
  });

  it('are answered before the process ends when the tool does not cancel in time', async () => {
    const pool = cancellable('ignore', { maxConcurrency: 2, cancelGraceMs: 20 });
    const neighbour = call(pool, bench.gate.input('x'));
    await bench.gate.running('x');
    await giveUp(pool, 'a');
    await eventually(() => pool.stats().busy === 0);
    expect(bench.lab.of('terminate')).toEqual([]);
    await bench.gate.open('x');
    expect((await neighbour).reply).toMatchObject({ result: { key: 'x' } });
    await bench.lab.until('terminate');
  });
});

describe('a stopping process', () => {
  const goodbye = () => join(bench.folder, 'goodbye');

  it('gets shutdown before its input is closed when it declared it', async () => {
    const spec = bench.lab.spec(['--declares=shutdown', `--shutdown=${goodbye()}`]);
    const pool = bench.lab.pool({ spec, stopGraceMs: 30_000 });
    await result(pool, {});
    await pool.stop();
    expect(existsSync(goodbye())).toBe(true);
    expect(bench.lab.of('terminate')).toEqual([expect.objectContaining({ reason: 'stop', exitCode: 0 })]);
  });

  it('gets nothing when it did not', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec([`--shutdown=${goodbye()}`]) });
    await result(pool, {});
    await pool.stop();
    expect(existsSync(goodbye())).toBe(false);
  });
});
