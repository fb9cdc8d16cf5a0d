/**
 * The door over REST with a warm echo tool (validation, guards and recording on) against the floor: bare Fastify and
 * one hand-written round trip to the same child. Rounds are interleaved; every reply's content is checked.
 */
import autocannon from 'autocannon';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const startCommand = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts.start;
const echo = join(root, 'test', 'bench', 'echo-tool.mjs');
const clients = (process.env.BENCH_CLIENTS ?? '1,16,64').split(',').map(Number);
/** The compiler needs this long until the larger program runs as fast as it will. */
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 10);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** What goes to the tool and comes back: about 100 bytes of JSON, or as many characters as are asked for. */
const text = 'x'.repeat(Number(process.env.BENCH_CHARACTERS ?? 80));

export async function benchDoor() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const floor = await startFloor();
  const door = await startDoor(folder);
  try {
    await load(floor, 16, warmUpSeconds);
    await load(door, 16, warmUpSeconds);
    for (const connections of clients) {
      const results = { floor: [], door: [] };
      await load(floor, connections, 1);
      await load(door, connections, 1);
      for (let round = 0; round < rounds; round++) {
        results.floor.push(await load(floor, connections, seconds));
        results.door.push(await load(door, connections, seconds));
      }
      report(connections, results);
    }
  } finally {
    await stop(door.child);
    await stop(floor.child);
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function startFloor() {
  const child = spawn(process.execPath, [join(root, 'test', 'bench', 'floor-server.mjs'), echo], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const { address } = JSON.parse(line);
  const valid = (body) => JSON.parse(body).result?.text === text;
  return { child, target: { url: `${address}/execute`, valid } };
}

export async function startDoor(folder, variables = {}) {
  const env = {
    ...process.env,
    PORT: '0',
    LOG_LEVEL: 'info',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'none'),
    // A model that embeds the sample catalogue meanwhile would be measured, too.
    EMBEDDINGS_PROVIDER: 'lexical',
    ...variables,
  };
  // As `npm start` starts it, with the same Node as the floor.
  env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const child = spawn('sh', ['-c', startCommand], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise((resolve, reject) => {
    let log = '';
    child.stdout.on('data', (chunk) => {
      log += chunk;
      const ready = /ready: (http:\/\/[\w.:[\]]+)/.exec(log);
      if (ready) resolve(ready[1]);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
  });
  const registration = await fetch(`${address}/api/v1/custom-tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'bench_echo',
      command: process.execPath,
      args: [echo],
      keepAlive: true,
      maxConcurrency: 64,
    }),
  });
  if (registration.status !== 201) throw new Error(await registration.text());
  const valid = (body) => {
    const { status, result } = JSON.parse(body);
    return status === 'success' && result.text === text;
  };
  return { child, target: { url: `${address}/api/v1/tools/bench_echo/execute`, valid } };
}

export async function load({ child, target: { url, valid } }, connections, duration) {
  let wrong;
  const before = cpuMs(child.pid);
  const result = await autocannon({
    url,
    connections,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: { text } }),
    verifyBody: (body) => {
      const good = valid(body);
      if (!good) wrong ??= String(body);
      return good;
    },
  });
  if (result.non2xx + result.errors + result.mismatches > 0) {
    throw new Error(
      `${url}: ${result.non2xx} refused, ${result.errors} errors, ${result.mismatches} wrong answers, such as ${wrong}`,
    );
  }
  const cpuUs = ((cpuMs(child.pid) - before) * 1_000) / result['2xx'];
  return { cpuUs, rps: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

function report(connections, { floor, door }) {
  const row = (name, runs) =>
    `${name.padEnd(6)} ${median(runs, 'rps').toFixed(0).padStart(7)} requests/s   p50 ${median(runs, 'p50')} ms   p99 ${median(runs, 'p99')} ms   ${median(runs, 'cpuUs').toFixed(0)} µs CPU a request`;
  const ratios = door.map(({ rps }, round) => ({ ratio: rps / floor[round].rps }));
  process.stdout.write(
    `\n${connections} clients (median of ${rounds} interleaved rounds of ${seconds} s)\n` +
      `  ${row('floor', floor)}\n  ${row('door', door)}\n  ratio  ${median(ratios, 'ratio').toFixed(2)}\n`,
  );
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export const median = (runs, field) =>
  runs.map((run) => run[field]).sort((a, b) => a - b)[Math.floor(runs.length / 2)];

export async function stop(child) {
  if (child.exitCode !== null) return;
  child.removeAllListeners('exit');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
