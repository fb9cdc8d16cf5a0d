/**
 * How many spans a second the server acknowledges, and brings to the database, where nothing else is to be done; and, for the
 * same rows in the same run, what their insert alone takes on one connection: the floor of the second figure. A round's
 * sides take turns. BENCH_SPANS sets how many spans (1 KB of attributes each), BENCH_ROUNDS how many rounds.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { median, print } from './measure.mjs';
import { startGateway, stop } from './metrics.bench.mjs';

const count = Number(process.env.BENCH_SPANS ?? 100_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const [perBatch, perInsert, clients] = [500, 1_000, 4];

export async function benchSpans() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const { EmbeddedPostgres } = await import('../../dist/src/base/database/embedded/embedded-postgres.js');
  const server = await new EmbeddedPostgres({ directory: join(folder, 'postgres'), settings: {} }).start();
  const figures = { acknowledged: [], visible: [], alone: [], share: [] };
  const gateway = await startGateway(server.url, join(folder, 'data'));
  try {
    for (let round = 0; round < rounds; round++) {
      const bodies = batches();
      const { acknowledged, visible } = await send(gateway.address, bodies);
      const alone = await insertAlone(server.url, bodies);
      figures.acknowledged.push(acknowledged);
      figures.visible.push(visible);
      figures.alone.push(alone);
      figures.share.push(visible / alone);
    }
  } finally {
    await stop(gateway.child);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  print(
    `\nspans, ${count} of 1 KB in batches of ${perBatch}, ${clients} clients (median of ${rounds} rounds)`,
  );
  print(`  acknowledged     ${median(figures.acknowledged).toFixed(0).padStart(7)} a second`);
  print(`  in the database  ${median(figures.visible).toFixed(0).padStart(7)} a second`);
  print(`  insert alone     ${median(figures.alone).toFixed(0).padStart(7)} a second`);
  print(`  of it            ${median(figures.share).toFixed(2).padStart(7)}`);
}

/** Bodies that are made before the clock runs. */
const batches = () => Array.from({ length: count / perBatch }, (_, batch) => batchOf(batch)[1]);

/** A trace and its spans. Every fourth one is a model call, the others are steps around it. */
export function batchOf(batch) {
  const startNs = BigInt(Date.now() - 60_000) * 1_000_000n;
  const traceId = randomBytes(16).toString('hex');
  const spans = Array.from({ length: perBatch }, (_, n) => ({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name: n % 4 === 0 ? 'chat gpt-4o' : 'step',
    startTimeUnixNano: String(startNs + BigInt(n) * 1_000_000n),
    endTimeUnixNano: String(startNs + BigInt(n + 5) * 1_000_000n),
    attributes: [
      ...(n % 4 === 0 ? call : []),
      text('session.id', `thread-${batch % 20}`),
      text('content', words(n)),
    ],
  }));
  return [traceId, JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })];
}

const text = (key, value) => ({ key, value: { stringValue: value } });
const call = [
  text('gen_ai.operation.name', 'chat'),
  text('gen_ai.request.model', 'gpt-4o'),
  { key: 'gen_ai.usage.input_tokens', value: { intValue: '1200' } },
  { key: 'gen_ai.usage.output_tokens', value: { intValue: '80' } },
  text(
    'gen_ai.output.messages',
    '[{"role":"assistant","parts":[{"type":"text","content":"All pods of the shop run."}]}]',
  ),
];
const words = (n) => `line ${n} of what a step had to say; `.repeat(26).slice(0, 900);

/** @returns spans a second, until the last is acknowledged and until none waits for the database */
async function send(address, bodies) {
  const left = [...bodies];
  const begun = performance.now();
  const client = async () => {
    for (let body = left.pop(); body !== undefined; body = left.pop()) {
      const answer = await fetch(`${address}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const said = await answer.text();
      if (said !== '{}') throw new Error(`${answer.status}: ${said}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const acknowledged = performance.now() - begun;
  while ((await waiting(address)) > 0) await setTimeout(50);
  const visible = performance.now() - begun;
  return { acknowledged: (count * 1_000) / acknowledged, visible: (count * 1_000) / visible };
}

export async function waiting(address) {
  const metrics = await (await fetch(`${address}/metrics`)).text();
  return Number(/^toolkeeper_spans_waiting (\d+)$/m.exec(metrics)?.[1]);
}

/** The same spans in another project, as rows in memory. */
async function insertAlone(url, bodies) {
  const { spansInJson } = await import('../../dist/src/records/spans/ingest/otlp-json.js');
  const { normaliseSpan } = await import('../../dist/src/records/spans/ingest/normalise-span.js');
  const { insertSpans } = await import('../../dist/src/records/spans/ingest/span-sink.js');
  const scope = { project: 'alone', keyId: null, now: Date.now(), retentionDays: 30 };
  const rows = bodies.flatMap((body) =>
    spansInJson(JSON.parse(body)).spans.map((read) => normaliseSpan(read(), scope)),
  );
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const begun = performance.now();
    for (let from = 0; from < count; from += perInsert)
      await insertSpans(client, rows.slice(from, from + perInsert));
    return (count * 1_000) / (performance.now() - begun);
  } finally {
    await client.end();
  }
}
