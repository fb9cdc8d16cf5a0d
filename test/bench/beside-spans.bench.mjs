/**
 * What calls of a tool notice of spans: 16 callers alone, beside as many spans as the server takes, beside summaries of
 * those, and beside a flood for which the spans' journal has no room. Of each: calls, their p99, how many were refused, and
 * the longest block of the event loop, which is told for an idle server first: it is measured every 10 ms.
 * BENCH_SECONDS is how long each takes; a warm-up of BENCH_WARM_UP comes before.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { latencies, percentile, print, seconds, toolCall, warmUpSeconds } from './measure.mjs';
import { startGateway, stop, withClient } from './metrics.bench.mjs';
import { batchOf, waiting } from './spans.bench.mjs';

const [callers, senders] = [16, 4];
const threads = ['thread-0'];

export async function benchBesideSpans() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const { EmbeddedPostgres } = await import('../../dist/src/base/database/embedded/embedded-postgres.js');
  const server = await new EmbeddedPostgres({ directory: join(folder, 'postgres') }).start();
  const gateways = [];
  const gateway = async (name, variables) => {
    gateways.push(await startGateway(server.url, join(folder, name), variables));
    return gateways.at(-1);
  };
  try {
    const roomy = await gateway('roomy', {});
    print(`\n${callers} callers beside spans, ${seconds} s each`);
    await latenciesOf(roomy, warmUpSeconds);
    await idle(roomy);
    await measured('alone', roomy);
    await measured('beside ingest', roomy, (isOver) => send(roomy, isOver));
    while ((await waiting(roomy.address)) > 0) await setTimeout(50);
    await measured('beside summaries', roomy, (isOver) => summaries(roomy, isOver));
    await stop(roomy.child);
    const tight = await gateway('tight', { JOURNAL_MAX_BYTES: '8000000' });
    await latenciesOf(tight, warmUpSeconds);
    await idle(tight);
    await measured('alone', tight);
    await measured('beside a flood', tight, (isOver) => whileLocked(server.url, () => send(tight, isOver)));
  } finally {
    for (const { child } of gateways) await stop(child);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function idle(gateway) {
  await maxBlock(gateway);
  await setTimeout(seconds * 1_000);
  print(`  ${'nothing'.padEnd(17)} longest block ${(await maxBlock(gateway)).toFixed(0).padStart(4)} ms`);
}

/** @param beside what is done meanwhile; it is asked to end, and tells what it did */
async function measured(name, gateway, beside = async () => '') {
  let over = false;
  await maxBlock(gateway);
  const done = beside(() => over);
  const { times, refused } = await latenciesOf(gateway, seconds);
  over = true;
  const block = await maxBlock(gateway);
  const p99 = percentile(times, 0.99).toFixed(2);
  print(
    `  ${name.padEnd(17)} longest block ${block.toFixed(0).padStart(4)} ms, p99 ${p99.padStart(7)} ms, ${times.length} calls, ${refused} refused ${await done}`,
  );
}

async function latenciesOf(gateway, forSeconds) {
  const ask = toolCall(gateway);
  let refused = 0;
  const call = async () => {
    if ((await ask()) !== 200) refused += 1;
  };
  const times = await Promise.all(Array.from({ length: callers }, () => latencies(call, forSeconds * 1_000)));
  return { times: times.flat().sort((a, b) => a - b), refused };
}

/** Batches of new spans, as many as are taken. */
async function send({ address }, isOver) {
  const [trace, body] = batchOf(0);
  const statuses = new Map();
  const sender = async () => {
    while (!isOver()) {
      const fresh = body.replaceAll(trace, randomBytes(16).toString('hex'));
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${address}/v1/traces`, { method: 'POST', headers, body: fresh });
      await answer.text();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: senders }, sender));
  return `(batches by status: ${[...statuses].map((pair) => pair.join(' × ')).join(', ')})`;
}

async function summaries({ address, adminKey }, isOver) {
  const headers = { 'content-type': 'application/json', 'x-api-key': adminKey };
  const body = JSON.stringify({ input: { threadIds: threads } });
  const found = [];
  while (!isOver()) {
    const answer = await fetch(`${address}/api/v1/tools/fetch_spans_summary/execute`, {
      method: 'POST',
      headers,
      body,
    });
    const { status, error, result } = await answer.json();
    if (status !== 'success') throw new Error(error.message);
    found.push(result.summary.total_spans);
  }
  return `(${found.length} summaries of ${found.at(-1)} spans)`;
}

/** The database takes no spans meanwhile. */
const whileLocked = (url, work) =>
  withClient(url, async (client) => {
    await client.query('BEGIN');
    await client.query('LOCK TABLE spans IN ACCESS EXCLUSIVE MODE');
    return work();
  });

/** Milliseconds, since the last time of asking. */
async function maxBlock({ address, adminKey }) {
  const metrics = await (await fetch(`${address}/metrics`, { headers: { 'x-api-key': adminKey } })).text();
  return Number(/^nodejs_eventloop_lag_max_seconds ([\d.e-]+)$/m.exec(metrics)?.[1]) * 1_000;
}
