/**
 * What the sandbox costs: the pool with the smallest tool, as its command is and as the sandbox makes it, in each tier
 * that this host has. Warm calls must not notice it; a start may take a few milliseconds more. Both sides take turns.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../dist/src/base/config/app-config.js';
import { tierOf, upToTier } from '../../dist/src/runtime/sandbox/enforcement.js';
import { probeHost } from '../../dist/src/runtime/sandbox/host-probe.js';
import { Sandbox } from '../../dist/src/runtime/sandbox/sandbox.js';
import { latencies, median, percentile, print, rounds, seconds, warmUpSeconds } from './measure.mjs';
import { makePool, poolCall } from './pool-under-test.mjs';
import { smallestChild } from './smallest-child.mjs';

const goals = { warmRatio: 1.05, extraSpawnMs: 8 };
const turns = 20;
const { root, sandbox: settings } = loadConfig({});

export async function benchSandbox() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  try {
    const { what, command, args } = smallestChild(folder);
    const plain = { command, args, cwd: folder, env: { PATH: process.env.PATH } };
    const host = await probeHost({
      path: `${process.env.PATH}:/usr/bin:/bin`,
      launcher: join(root, 'native', 'bin', `launcher-${process.arch}`),
      cgroup: settings.cgroup,
    });
    print(`\nThe sandbox around a ${what} tool (${rounds} rounds of ${seconds} s, ${turns} turns each)`);
    for (const tier of [1, 2, 3]) await benchTier(tier, upToTier(host, tier), plain, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchTier(tier, abilities, plain, folder) {
  if (tierOf(abilities) !== tier) return print(`  tier ${tier}: not on this host`);
  const grants = { secrets: [], readOnly: [], grantable: [] };
  const options = { enabled: true, mode: 'best-effort', defaults: settings.defaults, uid: 1, ...grants };
  const confined = await new Sandbox({ ...options, abilities }).confine({}, plain, folder);
  try {
    const sides = { plain: [plain, () => undefined], sandbox: [confined.command, confined.ended] };
    await compareWarm(tier, sides);
    await compareSpawn(tier, sides);
  } finally {
    await confined.dispose();
  }
}

/** @param ended told of each process that is gone */
function poolOf([spec, ended], overrides) {
  const pool = makePool(spec.command, spec.args, { spec, ...overrides });
  pool.events.subscribe((event) => event.type === 'terminate' && ended(event.pid));
  return pool;
}

async function compareWarm(tier, sides) {
  const pools = Object.entries(sides).map(([name, side]) => [name, poolOf(side)]);
  const measure = (pool, ms) => latencies(() => poolCall(pool, {}), ms);
  for (const [, pool] of pools) await measure(pool, (warmUpSeconds * 1_000) / 6);
  const p50s = await yieldingForEach(pools, (pool) =>
    measure(pool, (seconds * 1_000) / turns / pools.length),
  );
  await Promise.all(pools.map(([, pool]) => pool.stop(1_000)));
  const us = (name) => (median(p50s[name]) * 1_000).toFixed(1);
  const ratio = median(p50s.sandbox.map((p50, round) => p50 / p50s.plain[round]));
  print(
    `  tier ${tier}, warm call, p50: plain ${us('plain')} µs, sandbox ${us('sandbox')} µs, ratio ${ratio.toFixed(3)}   (goal: at most ${goals.warmRatio})`,
  );
}

async function compareSpawn(tier, sides) {
  const starts = await yieldingForEach(Object.entries(sides), spawnTimes);
  const ms = (name) => median(starts[name]).toFixed(2);
  const extra = median(starts.sandbox.map((p50, round) => p50 - starts.plain[round]));
  print(
    `  tier ${tier}, start to ready, p50: plain ${ms('plain')} ms, sandbox ${ms('sandbox')} ms, ${extra.toFixed(2)} ms more   (goal: at most ${goals.extraSpawnMs} ms)`,
  );
}

/** Processes one after the other for a turn. @returns ms from the start to the answer to `initialize` */
async function spawnTimes(side) {
  const times = [];
  const end = performance.now() + (seconds * 1_000) / turns / 2;
  do {
    const pool = poolOf(side, { minProcesses: 1 });
    const ready = new Promise((resolve) => {
      pool.events.subscribe((event) => event.type === 'spawn' && resolve(event.durationMs));
    });
    pool.warm();
    times.push(await ready);
    await pool.stop();
  } while (performance.now() < end);
  return times;
}

/** @returns for each side the p50 of each round; within a round the sides take short turns, first the one, then the other */
async function yieldingForEach(sides, measure) {
  const p50s = Object.fromEntries(sides.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    const samples = Object.fromEntries(sides.map(([name]) => [name, []]));
    for (let turn = 0; turn < turns; turn++) {
      const order = turn % 2 === 0 ? sides : [...sides].reverse();
      for (const [name, side] of order) samples[name].push(...(await measure(side)));
    }
    for (const [name, all] of Object.entries(samples))
      p50s[name].push(
        percentile(
          all.sort((a, b) => a - b),
          0.5,
        ),
      );
  }
  return p50s;
}
