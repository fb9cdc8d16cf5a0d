/**
 * What a Data Storage service that fails costs the other tools: the latency of an echo built-in, called at a steady rate
 * through the door, alone, while get_playbooks is called with ever new questions against a service that answers, and
 * against ones that do not. Each has a server of its own; rounds are interleaved. Once with the client's circuit as it is
 * configured, for which the goal holds, and once with the circuit held closed, so that every question hurts as much as
 * it can.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median, percentile, print, rounds, seconds } from './measure.mjs';
import { startPlaybookServer } from './playbook-server.mjs';

const script = join(
  fileURLToPath(new URL('../..', import.meta.url)),
  'test/fixtures/data-storage/server.mjs',
);
/** `none`: nobody asks anything. */
const modes = ['none', 'ok', 'black_hole', 'drip', 'server_error', 'huge'];
const echoesPerSecond = 500;
const questionsPerSecond = 20;
const goal = 1.1;

export async function benchDataStorage() {
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  const { url } = JSON.parse(line);
  try {
    const common = { DATA_STORAGE_URL: url };
    report('its circuit as configured', await measure(common), goal);
    const closed = ({ dataStorage, ...config }) => ({
      ...config,
      dataStorage: { ...dataStorage, circuit: { ...dataStorage.circuit, minCalls: 10_000 } },
    });
    report('its circuit held closed', await measure(common, closed), undefined);
  } finally {
    child.stdin.end();
  }
}

/** @returns the rounds of each mode */
async function measure(variables, adapted) {
  const servers = {};
  const measured = Object.fromEntries(modes.map((mode) => [mode, []]));
  try {
    for (const mode of modes) servers[mode] = await startPlaybookServer(variables, adapted);
    for (const mode of modes) await round(servers[mode], mode);
    for (let n = 0; n < rounds; n++) {
      for (const mode of n % 2 === 0 ? modes : modes.toReversed())
        measured[mode].push(await round(servers[mode], mode));
    }
  } finally {
    for (const server of Object.values(servers)) await server.close();
  }
  return measured;
}

/** @returns percentiles of the echo's latency in ms */
async function round(server, mode) {
  const questions = steadily(mode === 'none' ? 0 : questionsPerSecond, (n) =>
    server.call('get_playbooks', { query: `fault:${mode} ${process.hrtime.bigint()} ${n}` }),
  );
  const samples = [];
  await steadily(echoesPerSecond, async () => {
    const begun = performance.now();
    await server.call('bench_echo', { query: 'x' });
    samples.push(performance.now() - begun);
  });
  await questions;
  const sorted = samples.sort((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** Begins calls at a steady rate, however long each takes, and waits for all. */
async function steadily(rate, call) {
  const begun = performance.now();
  const calls = [];
  for (let passed = 0; passed < seconds * 1_000; passed = performance.now() - begun) {
    while (calls.length < (passed / 1_000) * rate) calls.push(call(calls.length));
    await delay(1);
  }
  await Promise.all(calls);
}

function report(circuit, measured, most) {
  print(
    `\nan echo built-in (${echoesPerSecond} calls/s) beside get_playbooks (${questionsPerSecond} new questions/s), ${circuit}, ${rounds} interleaved rounds of ${seconds} s`,
  );
  for (const [mode, all] of Object.entries(measured)) {
    const against = (other) => median(all.map(({ p99 }, n) => p99 / measured[other][n].p99));
    const ratio = against('ok');
    const fails = mode !== 'none' && mode !== 'ok';
    const judged = fails && most !== undefined;
    const compared = fails
      ? `, p99 ${ratio.toFixed(2)} × that beside a service that answers, ${against('none').toFixed(2)} × that alone`
      : '';
    const verdict = judged ? ` (goal at most ${most}: ${ratio <= most ? 'met' : 'MISSED'})` : '';
    print(
      `  ${mode.padEnd(14)} p50 ${median(all.map(({ p50 }) => p50)).toFixed(3)} ms, p99 ${median(all.map(({ p99 }) => p99)).toFixed(2)} ms${compared}${verdict}`,
    );
  }
}
