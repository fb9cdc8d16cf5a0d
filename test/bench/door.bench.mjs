/**
 * The door over REST with a warm echo tool (validation, guards and recording on) against the floor (bare Fastify and one
 * hand-written round trip to the same child) and against mcp-hub (REST in front of the same child, which speaks MCP, too).
 * Rounds are interleaved; every reply's content is checked.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from './load.mjs';
import { said, startHub, stop } from './peers.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const startCommand = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts.start;
const echo = join(root, 'test', 'bench', 'echo-tool.mjs');
const clients = (process.env.BENCH_CLIENTS ?? '1,16,64').split(',').map(Number);
/** The compiler needs this long until the larger program runs as fast as it will. */
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 10);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** What goes to the tool and comes back: about 100 bytes of JSON, or as many characters as are asked for. */
export const text = 'x'.repeat(Number(process.env.BENCH_CHARACTERS ?? 80));
export const wanted = `"text":"${text}"`;

export async function benchDoor() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const sides = {
    floor: await startFloor(),
    door: await startDoor(folder),
    'mcp-hub': await startHub(folder, { text }, wanted),
  };
  try {
    for (const side of Object.values(sides)) await load(side, 16, warmUpSeconds);
    for (const connections of clients) {
      const results = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [name, side] of Object.entries(sides))
          results[name].push(await load(side, connections, seconds));
      }
      report(connections, results);
    }
  } finally {
    for (const { child } of Object.values(sides)) await stop(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function startFloor() {
  const child = spawn(process.execPath, [join(root, 'test', 'bench', 'floor-server.mjs'), echo], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const { address } = JSON.parse(line);
  return { child, target: { url: `${address}/execute`, body: { input: { text } }, wanted } };
}

/** @param inspected gives the address of its inspector, too */
export async function startDoor(folder, variables = {}, inspected = false) {
  const env = {
    ...process.env,
    PORT: '0',
    LOG_LEVEL: 'info',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'none'),
    ...variables,
  };
  // As `npm start` starts it, with the same Node as the floor.
  env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const command = inspected ? startCommand.replace('exec node', '$& --inspect=127.0.0.1:0') : startCommand;
  const stdio = ['ignore', 'pipe', inspected ? 'pipe' : 'inherit'];
  const child = spawn('sh', ['-c', command], { cwd: root, env, stdio });
  const inspector = inspected && said({ stdout: child.stderr, once: () => undefined }, /ws:\S+/);
  const [, address] = await said(child, /ready: (http:\/\/[\w.:[\]]+)/);
  const adminKey = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
  const registration = await fetch(`${address}/api/v1/custom-tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': adminKey },
    body: JSON.stringify({
      name: 'bench_echo',
      command: process.execPath,
      args: [echo],
      keepAlive: true,
      maxConcurrency: 64,
    }),
  });
  if (registration.status !== 201) throw new Error(await registration.text());
  const url = `${address}/api/v1/tools/bench_echo/execute`;
  return { child, target: { url, body: { input: { text } }, wanted }, inspector };
}

function report(connections, results) {
  const lines = Object.entries(results).map(([name, runs]) => {
    const [rps, p50, p99, cpuUs] = ['rps', 'p50', 'p99', 'cpuUs'].map((field) => median(runs, field));
    const ratios = runs.map((run, round) => ({ ratio: run.rps / results.floor[round].rps }));
    return (
      `  ${name.padEnd(8)}${rps.toFixed(0).padStart(7)} requests/s   p50 ${p50.toFixed(2)} ms   ` +
      `p99 ${p99.toFixed(2)} ms   ${cpuUs.toFixed(0)} µs CPU a request   ${median(ratios, 'ratio').toFixed(2)} of the floor\n`
    );
  });
  const title = `${connections} clients (medians of ${rounds} interleaved rounds of ${seconds} s)`;
  process.stdout.write(`\n${title}\n${lines.join('')}`);
}

export const median = (runs, field) =>
  runs.map((run) => run[field]).sort((a, b) => a - b)[Math.floor(runs.length / 2)];
