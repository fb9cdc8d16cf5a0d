/**
 * What a cached get_playbooks call costs, against an echo built-in through the same door in the same process: with one
 * call in flight and with sixteen; rounds are interleaved, and every answer is looked at.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  latencies,
  median,
  percentile,
  print,
  rounds,
  seconds,
  throughput,
  warmUpSeconds,
} from './measure.mjs';
import { startPlaybookServer } from './playbook-server.mjs';

const goal = 1.1;
const keptWithinMs = 120_000;
const input = {
  query: 'a pod was OOMKilled: exit code 137, its memory reached the limit',
  similarity_threshold: 0.5,
};
const labels = { environment: 'production' };

export async function benchCachedPlaybooks() {
  const server = await startPlaybookServer();
  try {
    const found = (await server.call('get_playbooks', input, labels)).outcome;
    if (found.status !== 'success') throw new Error(`get_playbooks answers ${JSON.stringify(found)}`);
    await answersAreKept(server);
    const sides = {
      cached: async () => check((await server.call('get_playbooks', input, labels)).outcome.cached),
      echo: async () =>
        check((await server.call('bench_echo', input, labels)).outcome.result.query === input.query),
    };
    for (const call of Object.values(sides)) await throughput(Array(16).fill(call), warmUpSeconds * 500);
    print(
      `\ncached get_playbooks against an echo built-in, the door itself (${rounds} interleaved rounds of ${seconds} s; answer: ${found.result.total_results} playbooks)`,
    );
    await compareLatency(sides);
    await compareThroughput(sides);
  } finally {
    await server.close();
  }
}

/** While the playbooks are embedded, after a first start, answers are by words alone and are not kept. */
async function answersAreKept(server) {
  for (const end = performance.now() + keptWithinMs; performance.now() < end; await delay(100))
    if ((await server.call('get_playbooks', input, labels)).outcome.cached) return;
  throw new Error(`get_playbooks keeps no answers within ${keptWithinMs} ms`);
}

async function compareLatency(sides) {
  const p50s = { cached: [], echo: [] };
  const p99s = { cached: [], echo: [] };
  for (let round = 0; round < rounds; round++) {
    for (const name of inTurn(round)) {
      const sorted = await latencies(sides[name], seconds * 1_000);
      p50s[name].push(percentile(sorted, 0.5) * 1_000);
      p99s[name].push(percentile(sorted, 0.99) * 1_000);
    }
  }
  const [cached, echo] = [median(p50s.cached), median(p50s.echo)];
  print(
    `  1 in flight    p50 ${cached.toFixed(1)} µs against ${echo.toFixed(1)} µs, p99 ${median(p99s.cached).toFixed(0)} against ${median(p99s.echo).toFixed(0)}`,
  );
  verdict(median(p50s.cached.map((value, n) => value / p50s.echo[n])));
}

async function compareThroughput(sides) {
  const rates = { cached: [], echo: [] };
  for (let round = 0; round < rounds; round++) {
    for (const name of inTurn(round))
      rates[name].push(await throughput(Array(16).fill(sides[name]), seconds * 1_000));
  }
  print(
    `  16 in flight   ${median(rates.cached).toFixed(0)} calls/s against ${median(rates.echo).toFixed(0)}`,
  );
  verdict(median(rates.cached.map((value, n) => rates.echo[n] / value)));
}

/** Who is first changes with every round. */
const inTurn = (round) => (round % 2 === 0 ? ['cached', 'echo'] : ['echo', 'cached']);

const verdict = (ratio) =>
  print(`    cost ${ratio.toFixed(2)} × echo; goal at most ${goal}: ${ratio <= goal ? 'met' : 'MISSED'}`);

function check(isRight) {
  if (!isRight) throw new Error('a wrong answer');
}
