/**
 * Answers about executions over REST, with N rows over 30 days and 200 tools and with N/10 of them, asked in turns; then
 * days are dropped while a tool is called. BENCH_ROWS sets N. The rows are made in the database and counted into the
 * cells by the statement that journals use.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { latencies, median, percentile, print } from './measure.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const rows = Number(process.env.BENCH_ROWS ?? 1_000_000);
const questionsAsked = Number(process.env.BENCH_QUESTIONS ?? 60);
const days = 30;
const tools = 200;
const dayMs = 86_400_000;
const loaders = 3;
const callers = 4;

const questions = {
  'health of all tools': '/api/v1/tool-health',
  dashboard: '/api/v1/tool-health/dashboard',
  'error patterns': '/api/v1/tool-health/tool_17/error-patterns',
  'statistics, 24 h': '/api/v1/tool-metrics/stats/tool_17',
  'executions of an investigation': '/api/v1/tool-metrics/executions?investigationId=inv_77&limit=20',
};

export async function benchMetrics() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const { EmbeddedPostgres } = await import('../../dist/src/base/database/embedded/embedded-postgres.js');
  const settings = { fsync: 'off', max_connections: '60', shared_buffers: '1GB', max_wal_size: '8GB' };
  const server = await new EmbeddedPostgres({ directory: join(folder, 'postgres'), settings }).start();
  const gateways = [];
  try {
    for (const count of [rows, rows / 10]) {
      const url = await loadedDatabase(server.url, count);
      gateways.push(await startGateway(url, join(folder, String(count))));
    }
    await ask(gateways);
    await dropUnderLoad(gateways[0]);
  } finally {
    for (const { child } of gateways) await stop(child);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function loadedDatabase(server, count) {
  const { migrate } = await import('../../dist/src/base/database/migrate.js');
  const { migrations } = await import('../../dist/migrations/index.js');
  const { countedColumns, rollUp } = await import('../../dist/src/records/executions/rollups/rollup.sql.js');
  const url = new URL(server);
  url.pathname = `/rows_${count}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE rows_${count}`));
  await migrate(url.toString(), migrations);
  const begun = performance.now();
  const indexes = await withClient(url, dropIndexes);
  const starts = Array.from(
    { length: days },
    (_, ago) => Math.floor(Date.now() / dayMs) * dayMs - ago * dayMs,
  );
  const work = Array.from({ length: loaders }, () =>
    withClient(url, async (client) => {
      await client.query("SET synchronous_commit = off; SET work_mem = '256MB'");
      for (let start = starts.pop(); start !== undefined; start = starts.pop()) {
        await loadDay(client, start, count / days, (table) =>
          rollUp(`SELECT ${countedColumns} FROM ${table}`, '1'),
        );
      }
    }),
  );
  await Promise.all(work);
  await withClient(url, async (client) => {
    for (const { indexdef } of indexes) await client.query(indexdef.replace(' ON ONLY ', ' ON '));
    await client.query('VACUUM ANALYZE tool_metrics, tool_metric_rollups');
  });
  print(`${count} rows loaded in ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  return url.toString();
}

/** What is built once at the end costs less than what is kept up with every row. */
async function dropIndexes(client) {
  const { rows: indexes } = await client.query(
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'tool_metrics' AND indexname <> 'tool_metrics_pkey'",
  );
  for (const { indexname } of indexes) await client.query(`DROP INDEX ${indexname}`);
  return indexes;
}

/** Log-normal durations, 3 % errors, 1 % timeouts; today has its share up to now. */
async function loadDay(client, start, perDay, rollUpOf) {
  const length = Math.min(dayMs, Date.now() - start);
  const count = Math.round((perDay * length) / dayMs);
  const day = new Date(start).toISOString().slice(0, 10);
  const table = `tool_metrics_${day.replaceAll('-', '')}`;
  await client.query('SELECT make_tool_metrics_day($1::date)', [day]);
  await client.query(`
    INSERT INTO ${table} (
      tool_name, user_id, request_id, investigation_id, status, execution_time_ms, error_type, error_message,
      parameters_hash, input_size, output_size, metadata, tool_fault, recorded_at
    )
    SELECT 'tool_' || i % ${tools}, 'anonymous', 'req-' || i, 'inv_' || i / 20,
           CASE WHEN end_ < 0.03 THEN 'error' WHEN end_ < 0.04 THEN 'timeout' ELSE 'success' END,
           exp(5 + 0.6 * (random() + random() + random() + random() - 2) * 1.7)::int,
           CASE WHEN end_ < 0.03 THEN 'tool_error' WHEN end_ < 0.04 THEN 'timeout' END,
           CASE WHEN end_ < 0.04 THEN 'upstream ' || i % 7 || ' did not answer' END,
           md5((i % 5000)::text), 100, 2000, '{"attempts": 1, "queueMs": 0, "version": "1.0.0"}', end_ < 0.04,
           to_timestamp(${start / 1_000} + i::float8 / ${count} * ${length / 1_000})
    FROM (SELECT i, random() AS end_ FROM generate_series(0, ${count} - 1) AS i) AS made`);
  await client.query(rollUpOf(table));
}

async function ask(gateways) {
  print(`\nmedian of ${questionsAsked} answers over REST, asked in turns (p95 in brackets), ms`);
  for (const [name, path] of Object.entries(questions)) {
    const times = gateways.map(() => []);
    for (let i = 0; i < questionsAsked + 5; i += 1) {
      for (const [index, { address }] of gateways.entries()) {
        const begun = performance.now();
        const answer = await fetch(address + path);
        await answer.text();
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
        if (i >= 5) times[index].push(performance.now() - begun);
      }
    }
    const [many, few] = times.map((list) => list.sort((a, b) => a - b));
    const shown = (list) => `${median(list).toFixed(1)} (${percentile(list, 0.95).toFixed(1)})`;
    print(
      `  ${name.padEnd(32)} ${rows} rows ${shown(many).padEnd(14)} ${rows / 10} rows ${shown(few).padEnd(14)} ` +
        `ratio ${(median(many) / median(few)).toFixed(2)}`,
    );
  }
}

async function dropUnderLoad({ address, url, adminKey }) {
  const body = JSON.stringify({
    name: 'bench_echo',
    command: process.execPath,
    args: [join(root, 'test', 'bench', 'echo-tool.mjs')],
    keepAlive: true,
  });
  const headers = { 'content-type': 'application/json', 'x-api-key': adminKey };
  const made = await fetch(`${address}/api/v1/custom-tools`, { method: 'POST', headers, body });
  if (made.status !== 201) throw new Error(await made.text());
  const call = async () => {
    const init = { method: 'POST', headers, body: JSON.stringify({ input: { text: 'x' } }) };
    const answer = await fetch(`${address}/api/v1/tools/bench_echo/execute`, init);
    await answer.text();
    if (answer.status !== 200) throw new Error(`a call was refused: ${answer.status}`);
  };
  const load = async (ms) =>
    (await Promise.all(Array.from({ length: callers }, () => latencies(call, ms)))).flat();
  await load(10_000);
  const { MetricPartitions } = await import('../../dist/src/records/executions/rollups/metric-partitions.js');
  const db = await new DataSource({ type: 'postgres', url, installExtensions: false }).initialize();
  const partitions = new MetricPartitions(db);
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const remove = (ago) => partitions.dropBefore(new Date(today - ago * dayMs));
  print(
    `\np99 of a call while, of ${callers} callers, ms (all calls of rounds of 3 s; by round in brackets)`,
  );
  const results = [];
  for (let round = 0; round < 12; round += 1) {
    results.push(await besideRemoval(load, () => remove(days - 2 - round), round % 2 === 0));
  }
  const p99 = (times) =>
    percentile(
      times.sort((a, b) => a - b),
      0.99,
    );
  const [during, quiet] = ['during', 'quiet'].map((kind) => p99(results.flatMap((result) => result[kind])));
  const ratios = results.map((result) => p99(result.during) / p99(result.quiet));
  print(
    `  ${'a day is dropped'.padEnd(32)} ${during.toFixed(2)}, else ${quiet.toFixed(2)}: ratio ${(during / quiet).toFixed(2)} ` +
      `(${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}, median ${median(ratios).toFixed(2)}); ` +
      `takes ${median(results.map(({ took }) => took)).toFixed(2)} ms`,
  );
  await db.destroy();
}

/** Each goes first as often, so that a host that slows down favours neither. */
async function besideRemoval(load, remove, quietFirst) {
  const first = quietFirst ? await load(3_000) : undefined;
  const begun = performance.now();
  const removed = remove().then((count) => {
    if (count === 0) throw new Error('nothing was removed');
    return performance.now() - begun;
  });
  const during = await load(3_000);
  const took = await removed;
  return { quiet: first ?? (await load(3_000)), during, took };
}

/** @param variables of the environment, beside those that every one has */
export async function startGateway(databaseUrl, folder, variables = {}) {
  mkdirSync(folder);
  const env = {
    ...process.env,
    PORT: '0',
    DATABASE_URL: databaseUrl,
    METRICS_RETENTION_DAYS: '60',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'none'),
    ...variables,
  };
  const options = { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] };
  const child = spawn(process.execPath, ['dist/src/main.js'], options);
  const address = await new Promise((resolve, reject) => {
    let log = '';
    child.stdout.on('data', (chunk) => {
      log = (log + chunk).slice(-10_000);
      const ready = /ready: (http:\/\/[\w.:[\]]+)/.exec(log);
      if (ready) resolve(ready[1]);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
  });
  const adminKey = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
  return { child, address, adminKey, url: databaseUrl };
}

export async function stop(child) {
  if (child.exitCode !== null) return;
  child.removeAllListeners('exit');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: String(url) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
