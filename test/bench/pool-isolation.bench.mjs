/**
 * What starting processes costs those who do not start any: the delay of the event loop of a server with much memory
 * while processes start, and a warm tool's latency while another one crashes again and again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { latencies, median, percentile, print, rounds, seconds } from './measure.mjs';
import { makePool, poolCall } from './pool-under-test.mjs';
import { smallestChild } from './smallest-child.mjs';

const ballastBytes = 512 * 1_048_576;
const spawnsPerSecond = 20;

export async function benchPoolIsolation() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  try {
    const child = smallestChild(folder);
    await benchCrashLoop(child);
    await benchEventLoop(child);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchEventLoop({ what, command, args }) {
  const ballast = Array.from({ length: ballastBytes / 4_194_304 }, () => Buffer.alloc(4_194_304, 1));
  const runs = { still: [], spawning: [] };
  let spawned = 0;
  for (let round = 0; round < rounds; round++) {
    runs.still.push(await loopDelay(() => undefined));
    const pool = makePool(command, args, { keepAlive: false, poolSize: 4 });
    pool.events.subscribe(({ type }) => (spawned += type === 'spawn' ? 1 : 0));
    runs.spawning.push(await loopDelay(() => void poolCall(pool, {}).catch(print)));
    await pool.stop(1_000);
  }
  const mb = ballast.reduce((sum, { length }) => sum + length, 0) / 1_048_576;
  print(
    `\nEvent loop delay with ${mb} MB of ballast, p99 (median of ${rounds} interleaved rounds of ${seconds} s)`,
  );
  print(`  nothing starts           ${median(runs.still).toFixed(1).padStart(7)} ms`);
  print(
    `  ${(spawned / rounds / seconds).toFixed(0)} ${what} processes a second ${median(runs.spawning).toFixed(1).padStart(7)} ms   (goal: under 10)`,
  );
}

/** @returns p99 in ms of what the event loop was late while `tick` ran `spawnsPerSecond` times a second */
async function loopDelay(tick) {
  const resolution = 1;
  const histogram = monitorEventLoopDelay({ resolution });
  histogram.enable();
  const timer = setInterval(tick, 1_000 / spawnsPerSecond);
  await delay(seconds * 1_000);
  clearInterval(timer);
  histogram.disable();
  return histogram.percentile(99) / 1e6 - resolution;
}

async function benchCrashLoop({ what, command, args }) {
  const warm = makePool(command, args);
  const measure = async () => percentile(await latencies(() => poolCall(warm, {}), seconds * 1_000), 0.99);
  await measure();
  const runs = { alone: [], beside: [] };
  let crashes = 0;
  for (let round = 0; round < rounds; round++) {
    runs.alone.push(await measure());
    // Each backs off after its failed starts, and begins anew with the next round.
    const crashing = Array.from({ length: 5 }, () => makePool('/bin/false', [], { minProcesses: 1 }));
    for (const pool of crashing) {
      pool.events.subscribe(({ type }) => (crashes += type === 'start_failed' ? 1 : 0));
      pool.warm();
    }
    runs.beside.push(await measure());
    await Promise.all(crashing.map((pool) => pool.stop()));
  }
  await warm.stop();
  const ratio = median(runs.beside.map((p99, round) => p99 / runs.alone[round]));
  const us = (values) => (median(values) * 1_000).toFixed(1).padStart(7);
  print(`\nA warm ${what} tool, p99 (median of ${rounds} interleaved rounds of ${seconds} s)`);
  print(`  alone                                    ${us(runs.alone)} µs`);
  print(
    `  beside five that crash ${(crashes / rounds / seconds).toFixed(1).padStart(5)} times a second ${us(runs.beside)} µs`,
  );
  print(`  ratio ${ratio.toFixed(2)}   (goal: at most 1.1)`);
}
