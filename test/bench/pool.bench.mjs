/**
 * A warm lease, call and release of the pool against a minimal hand-written client over the same child and transport,
 * and the official MCP SDK's stdio client beside them. Rounds are interleaved; replies are checked while it warms up.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
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
import { MinimalClient } from './minimal-client.mjs';
import { context, launch, makePool, poolCall } from './pool-under-test.mjs';

const echo = join(import.meta.dirname, 'echo-tool.mjs');
const server = join(import.meta.dirname, 'mcp-echo-server.mjs');
const processes = 4;
const goals = { '100 B': 1.25, '10 KB': 1.1, '1 MB': 1.1 };

const record = (n) => ({
  id: n,
  name: `record ${n}`,
  tags: ['a', 'b'],
  score: n / 7,
  active: n % 2 === 0,
  note: 'x'.repeat(60),
});
const inputs = {
  '100 B': { text: 'x'.repeat(80) },
  '10 KB': { records: Array.from({ length: 70 }, (_, n) => record(n)) },
  '1 MB': { records: Array.from({ length: 7_000 }, (_, n) => record(n)) },
};

export async function benchPool() {
  const pool = makePool(process.execPath, [echo], { maxPendingInputBytes: 8_388_608 });
  const many = makePool(process.execPath, [echo], { poolSize: processes, minProcesses: processes });
  const clients = await Promise.all(Array.from({ length: processes }, startMinimalClient));
  const mcp = new Client({ name: 'bench', version: '1.0.0' });
  await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [server] }));
  const minimalCall = (client, input) =>
    client.request('execute', { input, context: { ...context, timeout: 30_000 } });
  const sides = {
    minimal: (input) => minimalCall(clients[0], input),
    pool: (input) => poolCall(pool, input),
    'MCP SDK': async (input) => (await mcp.callTool({ name: 'echo', arguments: input })).structuredContent,
  };
  const crowds = {
    minimal: clients.map((client) => () => minimalCall(client, inputs['100 B'])),
    pool: clients.map(() => () => poolCall(many, inputs['100 B'])),
  };
  try {
    many.warm();
    await warmUp(sides, crowds);
    for (const [size, input] of Object.entries(inputs)) await compareLatency(size, input, sides);
    await compareThroughput(crowds);
  } finally {
    for (const { child } of clients) child.kill('SIGKILL');
    await Promise.all([mcp.close(), pool.stop(), many.stop()]);
  }
}

async function startMinimalClient() {
  const env = { PATH: process.env.PATH };
  const child = launch({ command: process.execPath, args: [echo], cwd: process.cwd(), env });
  const client = new MinimalClient(child);
  await once(child, 'spawn');
  return client;
}

async function warmUp(sides, crowds) {
  for (const input of Object.values(inputs)) {
    for (const call of Object.values(sides)) {
      assert.deepEqual(await call(input), input);
      await latencies(() => call(input), (warmUpSeconds * 1_000) / 6);
    }
  }
  for (const calls of Object.values(crowds)) await throughput(calls, (warmUpSeconds * 1_000) / 4);
}

async function compareLatency(size, input, sides) {
  const runs = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // Short turns, so that all sides meet the same moments of a shared machine.
    const samples = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
    for (let turn = 0; turn < 5; turn++) {
      for (const [name, call] of Object.entries(sides)) {
        samples[name].push(...(await latencies(() => call(input), (seconds * 1_000) / 15)));
      }
    }
    for (const [name, all] of Object.entries(samples)) {
      all.sort((a, b) => a - b);
      runs[name].push({ p50: percentile(all, 0.5), p99: percentile(all, 0.99) });
    }
  }
  const ratio = median(runs.pool.map(({ p50 }, round) => p50 / runs.minimal[round].p50));
  print(`\n${size}, one call at a time (median of ${rounds} interleaved rounds)`);
  for (const [name, each] of Object.entries(runs)) {
    const us = (field) => (median(each.map((run) => run[field])) * 1_000).toFixed(1).padStart(9);
    print(`  ${name.padEnd(8)} p50 ${us('p50')} µs   p99 ${us('p99')} µs`);
  }
  print(`  pool / minimal, p50: ${ratio.toFixed(2)}   (goal: at most ${goals[size]})`);
}

async function compareThroughput(crowds) {
  const runs = { minimal: [], pool: [] };
  for (let round = 0; round < rounds; round++) {
    const rates = { minimal: 0, pool: 0 };
    for (let turn = 0; turn < 5; turn++) {
      for (const [name, calls] of Object.entries(crowds)) {
        rates[name] += (await throughput(calls, (seconds * 1_000) / 10)) / 5;
      }
    }
    for (const [name, rate] of Object.entries(rates)) runs[name].push(rate);
  }
  const ratio = median(runs.pool.map((rate, round) => rate / runs.minimal[round]));
  print(`\n${processes} processes, 100 B, one call in flight each`);
  for (const [name, rates] of Object.entries(runs))
    print(`  ${name.padEnd(8)} ${median(rates).toFixed(0).padStart(7)} calls/s`);
  print(`  pool / minimal: ${ratio.toFixed(2)}   (goal: at least 0.8)`);
}
