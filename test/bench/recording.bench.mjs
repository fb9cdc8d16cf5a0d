/**
 * What recording costs: the door with 16 clients as it is, and with every record synced to the disk
 * before its caller is answered, against the floor of the door's own benchmark. The sides take turns, every second
 * round backwards; a turn begins with a second that is not counted, so that a backlog is written off while it is
 * measured as another grows, and ends when the journal is empty, so that nobody pays for the one before. All servers
 * are started several times, because equal ones differ by a twentieth from start to start. Then the drain alone: how
 * many executions a second go from a journal into the database.
 */
import { Logger } from '@nestjs/common';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { migrations } from '../../dist/migrations/index.js';
import { newId } from '../../dist/src/base/common/ids.js';
import { EmbeddedPostgres } from '../../dist/src/base/database/embedded/embedded-postgres.js';
import { migrate } from '../../dist/src/base/database/migrate.js';
import { JournalDrain } from '../../dist/src/records/journal/journal-drain.js';
import { encodeLine } from '../../dist/src/records/journal/journal-entry.js';
import { ExecutionSink } from '../../dist/src/records/executions/execution-sink.js';
import { median, startDoor, startFloor } from './door.bench.mjs';
import { load } from './load.mjs';
import { percentile } from './measure.mjs';
import { stop } from './peers.mjs';

const starts = Number(process.env.BENCH_STARTS ?? 3);
/** Of each start. */
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** The larger a program, the longer its compiler needs: the floor is at its best after seconds, the door after thirty. */
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 30);
const executions = Number(process.env.BENCH_EXECUTIONS ?? 200_000);
const clients = 16;
const variants = {
  on: {},
  power: { JOURNAL_DURABILITY: 'power' },
};

export async function benchRecording() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const results = {};
  for (let start = 0; start < starts; start++) await measureStart(folder, results);
  report(results);
  await drainAlone(join(folder, 'alone'));
  rmSync(folder, { recursive: true, force: true });
}

async function measureStart(folder, results) {
  const sides = { floor: await startFloor() };
  try {
    for (const [name, variables] of Object.entries(variants)) {
      sides[name] = await startDoor(mkdtempSync(join(folder, name)), variables);
    }
    for (const side of Object.values(sides)) await load(side, clients, warmUpSeconds);
    const turns = Object.entries(sides);
    for (let round = 0; round < rounds; round++) {
      for (const [name, side] of turns) (results[name] ??= []).push(await turn(side));
      turns.reverse();
    }
  } finally {
    for (const { child } of Object.values(sides)) await stop(child);
  }
}

function report(results) {
  process.stdout.write(
    `\nrecording, ${clients} clients (median of ${starts} × ${rounds} interleaved rounds of ${seconds} s)\n`,
  );
  for (const [name, runs] of Object.entries(results)) {
    const of = (other) => quartiles(runs.map(({ rps }, n) => rps / results[other][n].rps));
    process.stdout.write(
      `  ${name.padEnd(6)} ${median(runs, 'rps').toFixed(0).padStart(7)} requests/s   p50 ${median(runs, 'p50')} ms   ` +
        `p99 ${median(runs, 'p99')} ms   ${of('floor')} of the floor\n`,
    );
  }
}

async function turn(side) {
  await load(side, clients, 1);
  const run = await load(side, clients, seconds);
  while ((await waiting(side)) > 0) await setTimeout(50);
  return run;
}

/** @returns executions in the journal that are not in the database yet; the floor has none */
async function waiting({ target }) {
  const metrics = await (await fetch(new URL('/metrics', target.url))).text();
  return Number(/^toolkeeper_recorder_depth (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/** The median, and in brackets the first and the third quartile. */
function quartiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [first, middle, third] = [0.25, 0.5, 0.75].map((share) => percentile(sorted, share).toFixed(2));
  return `${middle} (${first} to ${third})`;
}

async function drainAlone(folder) {
  const journal = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-journal-'));
  const server = await new EmbeddedPostgres({ directory: folder, settings: {} }).start();
  const sink = new ExecutionSink({ url: server.url, connectTimeoutMs: 5_000, queryTimeoutMs: 30_000 });
  // Each migration would say that it ran.
  Logger.overrideLogger(false);
  try {
    await migrate(server.url, migrations);
    writeFileSync(join(journal, '0000000001.journal'), lines());
    writeFileSync(join(journal, '0000000002.journal'), '');
    const settings = { folder: journal, batchSize: 5_000, replayThrough: 1 };
    const drain = new JournalDrain(settings, sink, () => undefined);
    const began = performance.now();
    while (await drain.step());
    const took = (performance.now() - began) / 1_000;
    process.stdout.write(
      `  the drain alone: ${Math.round(executions / took)} executions/s (${executions} in ${took.toFixed(1)} s)\n`,
    );
  } finally {
    await sink.close();
    await server.stop();
    rmSync(journal, { recursive: true, force: true });
  }
}

function lines() {
  const text = [];
  for (let n = 1; n <= executions; n++) {
    const id = newId();
    const now = Date.now();
    const start = {
      toolName: 'bench_echo',
      userId: 'anonymous',
      requestId: newId(),
      parametersHash: 'a'.repeat(64),
      inputSize: 91,
      startedAt: now,
      metadata: { version: '1.0.0', projectId: 'default' },
    };
    const notes = { attempts: 1, revision: 1, queueMs: 0.1, pid: 4711 };
    const end = { status: 'success', executionTimeMs: n % 7, outputSize: 91, metadata: notes };
    text.push(
      encodeLine(n - 1, now, JSON.stringify({ id, start })),
      encodeLine(n, now, JSON.stringify({ id, end })),
    );
  }
  return text.join('');
}
