/**
 * `fetch_spans_summary` over N spans of one thread and over N/20 of them, and the CPU of groups and totals over all; beside the way of a client that pulls all pages
 * and adds them up itself; the gateway's memory after each; and what calls of a tool notice of a summary that runs beside
 * them. BENCH_SPANS sets N.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { latencies, median, percentile, print, toolCall } from './measure.mjs';
import { startGateway, stop, withClient } from './metrics.bench.mjs';

const many = Number(process.env.BENCH_SPANS ?? 200_000);
const few = Math.round(many / 20);
/** Pulling pages takes time with the square of their number: the largest thread that is pulled. */
const pulled = Math.round(many / 4);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const batch = 1_000;
const hourUs = 3_600_000_000;
const pageSize = 100;

export async function benchSummary() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const { EmbeddedPostgres } = await import('../../dist/src/base/database/embedded/embedded-postgres.js');
  const server = await new EmbeddedPostgres({ directory: join(folder, 'postgres') }).start();
  let gateway;
  try {
    const url = await loadedDatabase(server.url);
    gateway = await startGateway(url, join(folder, 'gateway'));
    const ask = asker(gateway);
    await summaries(ask, gateway);
    await lists(ask, url, [gateway.child.pid, postmasterOf(folder)]);
    await pages(ask, gateway);
    await besideCalls(ask, gateway);
  } finally {
    if (gateway) await stop(gateway.child);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function loadedDatabase(server) {
  const { migrate } = await import('../../dist/src/base/database/migrate.js');
  const { migrations } = await import('../../dist/migrations/index.js');
  const url = new URL(server);
  url.pathname = '/spans';
  await withClient(server, (client) => client.query('CREATE DATABASE spans'));
  await migrate(url.toString(), migrations);
  const db = await connected(url.toString());
  const begun = performance.now();
  for (const [thread, count] of [
    ['few', few],
    ['pulled', pulled],
    ['many', many],
  ])
    await load(db, thread, count);
  await db.query('VACUUM ANALYZE spans, span_contents');
  await db.destroy();
  print(`${few + pulled + many} spans loaded in ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  return url.toString();
}

const connected = (url) => new DataSource({ type: 'postgres', url, installExtensions: false }).initialize();

/** As vLLora sends them: six spans a step, one of twenty with an error, answers of 1 KB. */
async function load(db, thread, count) {
  const { insertSpans, makeSpanDays } = await import('../../dist/src/records/spans/ingest/span-sink.js');
  const { normaliseSpan } = await import('../../dist/src/records/spans/ingest/normalise-span.js');
  const { spansInVllora } = await import('../../dist/src/records/spans/ingest/vllora-spans.js');
  const { startDayOf } = await import('../../dist/src/records/spans/span-row.js');
  const scope = { project: 'default', keyId: null, now: Date.now(), retentionDays: 30 };
  const start = Date.now() * 1_000 - hourUs;
  for (let first = 0; first < count; first += batch) {
    const spans = Array.from({ length: Math.min(batch, count - first) }, (_, at) =>
      span(thread, first + at, start),
    );
    const rows = spansInVllora(spans).spans.map((read) => normaliseSpan(read(), scope));
    await makeSpanDays(db, new Set(rows.map(startDayOf)));
    await insertSpans(db, rows);
  }
}

const operations = ['run', 'agent', 'api_invoke', 'model_call', 'tools', 'tool_call'];
const above = [undefined, 0, 1, 2, 1, 4];
const answer = 'The three cheapest flights leave on Monday. '.repeat(23);

function span(thread, index, base) {
  const [step, place] = [Math.floor(index / 6), index % 6];
  const trace = `${thread}-${Math.floor(step / 20)}`;
  const start = base + (index % 3_000) * 1_000_000 + index;
  const isModels = place === 2 || place === 3;
  return {
    trace_id: trace,
    span_id: `${step}-${place}`,
    ...(above[place] !== undefined && { parent_span_id: `${step}-${above[place]}` }),
    thread_id: thread,
    run_id: `${trace}-run`,
    operation_name: operations[place],
    start_time_us: start,
    finish_time_us: start + ((index * 7_919) % 4_000_000) + 1_000,
    attribute: {
      ...(isModels && {
        model_name: `model-${step % 5}`,
        usage: { input_tokens: 800, output_tokens: 60 },
        output: answer,
      }),
      ...(place === 2 && { cost: 0.0021, ttft: 240, label: `label-${step % 9}` }),
      ...(place === 5 && {
        tool_name: `tool-${step % 12}`,
        arguments: JSON.stringify({ step }),
        output: answer,
      }),
      ...(step % 20 === 0 && place === 5 && { error: `tool ${step} timed out` }),
    },
  };
}

function asker({ address, adminKey }) {
  const headers = { 'content-type': 'application/json', 'x-api-key': adminKey };
  return async (path, body) => {
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(address + path, init);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
}

async function summary(ask, thread) {
  const body = { input: { threadIds: [thread] } };
  const { status, error, result } = await ask('/api/v1/tools/fetch_spans_summary/execute', body);
  if (status !== 'success') throw new Error(error.message);
  return result;
}

const residentMb = ({ child }) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1_024;

async function summaries(ask, gateway) {
  await summary(ask, 'few');
  const [times, memory] = [
    { few: [], many: [] },
    { few: [], many: [] },
  ];
  let cold;
  for (let round = 0; round < rounds; round += 1) {
    for (const thread of ['few', 'many']) {
      const begun = performance.now();
      await summary(ask, thread);
      const took = performance.now() - begun;
      cold ??= thread === 'many' ? took : undefined;
      times[thread].push(took);
      memory[thread].push(residentMb(gateway));
    }
  }
  const sorted = (list) => list.toSorted((a, b) => a - b);
  const ms = (list) => median(sorted(list)).toFixed(0);
  print(`\nfetch_spans_summary, median of ${rounds}, ms`);
  print(
    `  ${few} spans ${ms(times.few)}; ${many} spans ${ms(times.many)}, the first time ${cold.toFixed(0)}`,
  );
  const grown = median(sorted(memory.many)) - median(sorted(memory.few));
  print(`  memory of the gateway after the large one, less after the small one: ${grown.toFixed(1)} MB`);
}

const questions = [
  'runs?limit=50',
  ...['time', 'thread', 'run'].flatMap((by) => [
    `group?group_by=${by}`,
    `group?group_by=${by}&has_errors=true&min_cost=0.001`,
  ]),
  'stats',
];

/** Both processes and those below them: of a question that is new, again, and after a run of 12 spans came. */
async function lists(ask, url, processes) {
  print('\nCPU of server and database, ms: the first time, again, and after a new run (medians of 5)');
  const db = await connected(url);
  let runs = 0;
  const middle = (list) => median(list.toSorted((a, b) => a - b));
  for (const question of questions) {
    const took = [];
    for (let round = 0; round < 11; round += 1) {
      if (round > 5) await load(db, `new-${(runs += 1)}`, 12);
      const before = cpuMs(processes);
      await ask(`/api/v1/${question}`);
      took.push(cpuMs(processes) - before);
    }
    const figures = [took[0], middle(took.slice(1, 6)), middle(took.slice(6))];
    print(`  ${question.padEnd(52)} ${figures.map((ms) => ms.toFixed(0).padStart(6)).join(' ')}`);
  }
  await db.destroy();
}

const postmasterOf = (folder) =>
  Number(readFileSync(join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);

/** Time on a core of all threads, in ms. */
function cpuMs(processes) {
  let spent = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = /\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      if (!processes.includes(Number(pid)) && !processes.includes(Number(parent))) continue;
      for (const thread of readdirSync(`/proc/${pid}/task`))
        spent += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      // It has ended.
    }
  }
  return spent;
}

/** All pages of a hundred, the first alone and the rest at once, and then what there is to add up. */
async function pull(ask, thread) {
  const page = (offset) => ask(`/api/v1/spans?thread_ids=${thread}&limit=${pageSize}&offset=${offset}`);
  const first = await page(0);
  const offsets = Array.from(
    { length: Math.ceil(first.pagination.total / pageSize) - 1 },
    (_, at) => (at + 1) * pageSize,
  );
  const spans = [...first.data];
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (let offset = offsets.shift(); offset !== undefined; offset = offsets.shift())
        spans.push(...(await page(offset)).data);
    }),
  );
  const durations = spans.map((each) => each.finish_time_us - each.start_time_us);
  return { spans: spans.length, longest: Math.max(...durations) };
}

async function pages(ask) {
  print('\nthe same by pulling pages of 100 and adding up, ms');
  for (const [thread, count] of [
    ['few', few],
    ['pulled', pulled],
  ]) {
    const begun = performance.now();
    await pull(ask, thread);
    const took = performance.now() - begun;
    const own = performance.now();
    await summary(ask, thread);
    const summed = performance.now() - own;
    print(
      `  ${count} spans ${took.toFixed(0)}, in SQL ${summed.toFixed(0)}: ratio ${(took / summed).toFixed(0)}`,
    );
  }
  try {
    Math.max(...new Array(many).fill(1));
    print(`  ${many} spans: would add up`);
  } catch (error) {
    print(`  ${many} spans: does not survive adding up (${error.message})`);
  }
}

async function besideCalls(ask, gateway) {
  const askTool = toolCall(gateway);
  const call = async () => {
    const status = await askTool();
    if (status !== 200) throw new Error(`a call was refused: ${status}`);
  };
  const load = async (ms) => (await Promise.all(Array.from({ length: 4 }, () => latencies(call, ms)))).flat();
  const p99 = (times) =>
    percentile(
      times.toSorted((a, b) => a - b),
      0.99,
    ).toFixed(2);
  await load(2_000);
  const quiet = await load(5_000);
  let over = false;
  const running = (async () => {
    let count = 0;
    for (; !over; count += 1) await summary(ask, 'many');
    return count;
  })();
  const beside = await load(5_000);
  over = true;
  print(
    `\np99 of calls of 4 callers, ms: quiet ${p99(quiet)}, beside ${await running} summaries of ${many} spans ${p99(beside)}`,
  );
}
