/**
 * What one warm call costs: CPU of the server's main thread and of its whole process tree (threads, tool, PostgreSQL),
 * over REST and MCP, beside the floor (bare Fastify and one hand-written round trip to the same child). CPU time depends
 * much less than elapsed time on what else the machine does. Rounds are interleaved, each figure is the least of them, and
 * every reply is checked. With `--peers` also mcp-proxy (MCP) and mcp-hub (REST) in front of the same echo tool; with
 * `--must` the exit status is 1 above the limits of docs/internals/performance.md.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDoor, startFloor, text, wanted } from './door.bench.mjs';
import { print } from './measure.mjs';
import { startHub, startMcpProxy, stop } from './peers.mjs';

const calls = Number(process.env.BENCH_CALLS ?? 10_000);
const clients = Number(process.env.BENCH_CLIENTS ?? 16);
const rounds = Number(process.env.BENCH_ROUNDS ?? 2);
/** At most, as multiples of the floor or of mcp-proxy, and in KB a call. */
const must = { main: 2.8, all: 2.9, allocated: 48, ofMcpProxy: 0.6 };

const agent = new Agent({ keepAlive: true, maxSockets: clients });

export async function benchCost(options = process.argv.slice(2)) {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const started = [];
  const start = async (starting) => started[started.push(await starting) - 1];
  try {
    const door = await start(startDoor(folder, {}, true));
    const mcp = { child: door.child, target: mcpTarget(`${new URL(door.target.url).origin}/mcp`) };
    const sides = { floor: await start(startFloor()), 'toolkeeper, REST': door, 'toolkeeper, MCP': mcp };
    if (options.includes('--peers')) {
      const proxy = await start(startMcpProxy());
      sides['mcp-proxy, MCP'] = { child: proxy.child, target: mcpTarget(proxy.url) };
      sides['mcp-hub, REST'] = await start(startHub(folder, { text }, wanted));
    }
    const costs = await measured(sides, folder);
    for (const [name, cost] of Object.entries(costs)) print(lineOf(name, cost, costs.floor));
    const allocated = await allocatedKb(door);
    print(`toolkeeper, REST: ${allocated.toFixed(1)} KB allocated a call on the main thread`);
    if (options.includes('--must')) assertWithin(costs, allocated);
  } finally {
    agent.destroy();
    for (const { child } of started) await stop(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(sides, folder) {
  const costs = {};
  for (const side of Object.values(sides)) await load(side.target, Math.max(3_000, calls / 2));
  for (let round = 0; round < rounds; round++) {
    for (const [name, { child, target }] of Object.entries(sides)) {
      await new Promise((done) => setTimeout(done, 1_000));
      const before = [cpuOf(child.pid, child.pid), cpuOfTree(child.pid, folder)];
      await load(target, calls);
      // Records are still on their way to the database.
      await new Promise((done) => setTimeout(done, 1_500));
      const after = [cpuOf(child.pid, child.pid), cpuOfTree(child.pid, folder)];
      const [main, all] = after.map((ns, n) => (ns - before[n]) / calls / 1_000);
      const known = costs[name] ?? { main: Infinity, all: Infinity };
      costs[name] = { main: Math.min(known.main, main), all: Math.min(known.all, all) };
    }
  }
  return costs;
}

const lineOf = (name, { main, all }, floor) =>
  `${name.padEnd(18)} main thread ${main.toFixed(0).padStart(4)} µs a call, × ${(main / floor.main).toFixed(2)} of the floor;   ` +
  `all processes ${all.toFixed(0).padStart(4)} µs, × ${(all / floor.all).toFixed(2)}`;

function assertWithin(costs, allocated) {
  const { floor, 'toolkeeper, REST': rest, 'toolkeeper, MCP': mcp, 'mcp-proxy, MCP': proxy } = costs;
  const figures = [
    ['main thread, of the floor', rest.main / floor.main, must.main],
    ['all processes, of the floor', rest.all / floor.all, must.all],
    ['KB allocated a call', allocated, must.allocated],
    ...(proxy ? [['a call over MCP, of mcp-proxy', mcp.all / proxy.all, must.ofMcpProxy]] : []),
  ];
  for (const [what, figure, limit] of figures.filter(([, figure, limit]) => figure > limit)) {
    print(`too much: ${what}: ${figure.toFixed(2)}, the limit is ${limit}`);
    process.exitCode = 1;
  }
}

function mcpTarget(url) {
  const params = { name: 'bench_echo', arguments: { text } };
  let next = 1;
  return {
    url,
    wanted,
    sessions: [],
    body: () => ({ jsonrpc: '2.0', id: next++, method: 'tools/call', params }),
  };
}

async function load(target, count) {
  let left = count;
  const caller = async (_none, place) => {
    const session = target.sessions && (target.sessions[place] ??= await openSession(target.url));
    while (left-- > 0) {
      const body = typeof target.body === 'function' ? target.body() : target.body;
      const { status, text: said } = await post(target.url, body, session);
      const isRight =
        status === 200 && said.includes(target.wanted) && (!body.id || said.includes(`"id":${body.id}`));
      if (!isRight) throw new Error(`${target.url} answered ${status} ${said.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, caller));
}

/** MCP results carry the echoed JSON as text: its quotes are escaped there. */
function post(url, body, session) {
  const sent = JSON.stringify(body);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(sent),
    accept: 'application/json, text/event-stream',
    ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }),
  };
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', agent, headers }, (answer) => {
      let said = '';
      answer.setEncoding('utf8').on('data', (chunk) => (said += chunk));
      answer.on('end', () =>
        resolve({ status: answer.statusCode, headers: answer.headers, text: said.replaceAll('\\"', '"') }),
      );
    })
      .on('error', reject)
      .end(sent);
  });
}

async function openSession(url) {
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const { headers } = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const session = headers['mcp-session-id'];
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  return session;
}

/** Nanoseconds of CPU time of one thread. */
function cpuOf(pid, thread) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return 0;
  }
}

/** Of a process, of all that it started, and of the PostgreSQL of its data folder, which is detached from it. */
function cpuOfTree(pid, folder) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(
    pids.map((each) => [
      each,
      read(each, 'stat')
        .replace(/^.*\) /, '')
        .split(' ')[1],
    ]),
  );
  const roots = new Set([
    String(pid),
    ...pids.filter((each) => read(each, 'cmdline').includes(join(folder, 'postgres'))),
  ]);
  const isOurs = (each) => roots.has(each) || (parents.has(each) && isOurs(parents.get(each)));
  const threads = (each) => {
    try {
      return readdirSync(`/proc/${each}/task`);
    } catch {
      return [];
    }
  };
  return pids
    .filter(isOurs)
    .reduce((sum, each) => sum + threads(each).reduce((own, thread) => own + cpuOf(each, thread), 0), 0);
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** By V8's sampling heap profiler, with what was collected meanwhile. */
async function allocatedKb({ target, inspector }) {
  const socket = new globalThis.WebSocket((await inspector)[0]);
  await new Promise((opened) => socket.addEventListener('open', opened));
  const waiting = new Map();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
  });
  const ask = (method, params = {}) =>
    new Promise((resolve) => {
      const id = waiting.size + 1;
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
  await ask('HeapProfiler.startSampling', {
    samplingInterval: 4_096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await load(target, calls);
  const { profile } = await ask('HeapProfiler.stopSampling');
  socket.close();
  const bytesOf = ({ selfSize, children }) => children.reduce((sum, child) => sum + bytesOf(child), selfSize);
  return bytesOf(profile.head) / calls / 1_000;
}
