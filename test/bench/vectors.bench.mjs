/**
 * Playbooks' vectors at 1,000, 10,000 and 100,000 playbooks (BENCH_PLAYBOOKS, comma-separated): the index as a start
 * builds it from the database, its memory, and searches in it. Vectors are random, of 512 dimensions as the bundled
 * model's. DATABASE_URL names a server to measure on, with pgvector if it has it; else an embedded one is started. Each
 * size has a process of its own, so that memory is its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { latencies, percentile, print, seconds } from './measure.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sizes = (process.env.BENCH_PLAYBOOKS ?? '1000,10000,100000').split(',').map(Number);
const product = join(root, 'native/bin/product.wasm');
const dimensions = 512;
const provider = { id: 'bench', close: async () => undefined };

export async function benchVectors() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const { server, stop } = await databaseServer(folder);
  try {
    const results = [];
    for (const size of sizes) {
      const result = await inOwnProcess(server, size);
      print(`${size}: ${JSON.stringify(result.figures)}`);
      results.push(result);
    }
    report(results);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function databaseServer(folder) {
  if (process.env.DATABASE_URL) return { server: process.env.DATABASE_URL, stop: async () => undefined };
  const { EmbeddedPostgres } = await import('../../dist/src/database/embedded/embedded-postgres.js');
  const settings = { fsync: 'off', shared_buffers: '512MB', max_wal_size: '8GB' };
  const server = await new EmbeddedPostgres({ directory: join(folder, 'postgres'), settings }).start();
  return { server: server.url, stop: () => server.stop() };
}

async function inOwnProcess(server, size) {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), server, String(size)];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [[result]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
  return result;
}

function report(results) {
  const names = Object.keys(results[0].figures);
  print(['figure', ...results.map(({ size }) => `${size}`), 'growth by ten'].join(' | '));
  for (const name of names) {
    const values = results.map(({ figures }) => figures[name]);
    const growth = values.slice(1).map((value, at) => (value / values[at]).toFixed(1));
    print([name, ...values.map((value) => value?.toFixed(2) ?? '-'), growth.join(', ')].join(' | '));
  }
}

/** One size, in this process. @returns milliseconds, MB */
async function measure(server, size) {
  const { Logger } = await import('@nestjs/common');
  Logger.overrideLogger(false);
  const { DataSource } = await import('typeorm');
  const { EmbeddingsRepository } =
    await import('../../dist/src/playbook-search/embeddings/embeddings.repository.js');
  const url = await freshDatabase(server, `vectors_${size}`);
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [] }).initialize();
  try {
    const repository = new EmbeddingsRepository(dataSource);
    await fill(dataSource, repository, size);
    const figures = await inMemory(repository);
    Object.assign(figures, await byPgvector(dataSource, repository));
    return figures;
  } finally {
    await dataSource.destroy();
  }
}

async function freshDatabase(server, name) {
  const { default: pg } = await import('pg');
  const { migrate } = await import('../../dist/src/database/migrate.js');
  const { migrations } = await import('../../dist/migrations/index.js');
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  await migrate(url.toString(), migrations);
  return url.toString();
}

async function fill(dataSource, repository, size) {
  const { hashOf } = await import('../../dist/src/playbook-search/embeddings/embedding-generation.js');
  const { passagesOf } = await import('../../dist/src/playbook-search/ranking/passages.js');
  await dataSource.query(
    `INSERT INTO playbook_catalog (playbook_id, version, name, description, content, content_hash, is_latest_version)
     SELECT 'playbook-' || n, '1.0.0', 'Playbook ' || n, repeat('What is wrong and what helps. ', 8) || n, '{}',
       repeat('0', 64), true
     FROM generate_series(1, $1::int) n`,
    [size],
  );
  const playbooks = await repository.playbooks();
  for (let at = 0; at < playbooks.length; at += 1_000) {
    const embeddings = playbooks
      .slice(at, at + 1_000)
      .map((playbook) => ({ playbook, hash: hashOf(passagesOf(playbook)), vector: randomVector() }));
    await repository.store(provider.id, embeddings);
  }
}

async function inMemory(repository) {
  const { MemoryStore } = await import('../../dist/src/playbook-search/embeddings/memory.store.js');
  const before = memoryMb();
  const store = new MemoryStore({ product, threadAboveBytes: Infinity });
  const { playbooks, ms } = await load(store, repository);
  const keys = keysOf(playbooks);
  const some = keys.filter((_, at) => at % 10 === 0);
  const after = memoryMb() + store.bytes / 1e6;
  const figures = {
    'index built from the database, ms': ms,
    'index built from vectors at hand, ms': await buildAlone(keys),
    'its vectors, MB': store.bytes / 1e6,
    'memory of the process for it, MB': after - before,
    'search among all, p50 ms': await p50((query) => store.scores(query, keys)),
    'search among all for the nearest 200, p50 ms': await p50((query) => store.scores(query, keys, 200)),
    'search among a tenth, p50 ms': await p50((query) => store.scores(query, some)),
  };
  const inThread = new MemoryStore({ product, threadAboveBytes: 0 });
  await load(inThread, repository);
  figures['in the thread: among all for the nearest 200, p50 ms'] = await p50((query) =>
    inThread.scores(query, keys, 200),
  );
  await inThread.close();
  return figures;
}

async function byPgvector(dataSource, repository) {
  const { PgvectorStore } = await import('../../dist/src/playbook-search/embeddings/pgvector.store.js');
  const store = await PgvectorStore.open(dataSource, provider.id);
  if (!store) {
    print('this server has no pgvector');
    return {};
  }
  const { playbooks, ms } = await load(store, repository);
  await dataSource.query('ANALYZE playbook_vectors');
  const keys = keysOf(playbooks);
  const some = keys.filter((_, at) => at % 10 === 0);
  return {
    'pgvector: index built, ms': ms,
    'pgvector: among all, p50 ms': await p50((query) => store.scores(query, keys)),
    'pgvector: among all for the nearest 200, p50 ms': await p50((query) => store.scores(query, keys, 200)),
    'pgvector: among a tenth, p50 ms': await p50((query) => store.scores(query, some)),
  };
}

async function load(store, repository) {
  const { EmbeddingGeneration } =
    await import('../../dist/src/playbook-search/embeddings/embedding-generation.js');
  const begun = performance.now();
  const playbooks = await repository.playbooks();
  const lacking = await new EmbeddingGeneration(provider, store, repository).load(playbooks);
  if (lacking.length > 0) throw new Error(`${lacking.length} playbooks have no vector`);
  return { playbooks, ms: performance.now() - begun };
}

async function buildAlone(keys) {
  const { MemoryStore } = await import('../../dist/src/playbook-search/embeddings/memory.store.js');
  const entries = keys.map((key) => ({ key, hash: 'x', vector: randomVector() }));
  const begun = performance.now();
  await new MemoryStore({ product, threadAboveBytes: Infinity }).put(entries);
  return performance.now() - begun;
}

const keysOf = (playbooks) => playbooks.map(({ playbook_id, version }) => `${playbook_id}@${version}`);

async function p50(search) {
  const queries = Array.from({ length: 16 }, randomVector);
  let next = 0;
  const ask = () => search(queries[next++ % queries.length]);
  await latencies(ask, 300);
  return percentile(await latencies(ask, seconds * 1_000), 0.5);
}

/** Objects and buffers after garbage is gone: the resident set would hold that, too. WebAssembly's memory is not in it. */
function memoryMb() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

function randomVector() {
  const vector = Float32Array.from({ length: dimensions }, () => Math.random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , server, size] = process.argv;
  const figures = await measure(server, Number(size));
  process.send({ size: Number(size), figures });
  process.disconnect();
}
