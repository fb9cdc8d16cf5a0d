/**
 * tools/call over /mcp with a warm echo tool (validation, guards and recording on) against mcp-proxy and supergateway in front
 * of the same tool, each client with a session of its own; and REST against mcp-hub. Rounds are interleaved; of every
 * reply the content and the id are checked.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDoor, text, wanted } from './door.bench.mjs';
import { load, memory } from './load.mjs';
import { median, print, rounds, seconds, warmUpSeconds } from './measure.mjs';
import { startHub, startMcpProxy, startSupergateway, stop } from './peers.mjs';

const clients = (process.env.BENCH_CLIENTS ?? '1,16,64,256').split(',').map(Number);
const params = { name: 'bench_echo', arguments: { text } };
const body = { jsonrpc: '2.0', id: '$ID', method: 'tools/call', params };

export async function benchMcp() {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const servers = [];
  const started = async (starting) => servers[servers.push(await starting) - 1];
  try {
    // More clients wait than a tool's queue holds by default.
    const toolkeeper = await started(startDoor(folder, { CUSTOM_TOOLS_MAX_QUEUE: '1000' }));
    const mcp = { child: toolkeeper.child, url: `${new URL(toolkeeper.target.url).origin}/mcp` };
    const overMcp = {
      toolkeeper: side(mcp),
      'mcp-proxy': side(await started(startMcpProxy())),
      supergateway: side(await started(startSupergateway())),
    };
    const overRest = { toolkeeper, 'mcp-hub': await started(startHub(folder, { text }, wanted)) };
    for (const each of [overMcp, overRest]) await warmUp(Object.values(each));
    for (const connections of clients) {
      for (const each of Object.values(overMcp)) await openSessions(each.target, connections);
      await compare(`MCP, ${connections} clients`, overMcp, connections);
      await compare(`REST, ${connections} clients`, overRest, connections);
    }
  } finally {
    for (const { child } of servers) await stop(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

const side = ({ child, url }) => ({ child, target: { url, body, wanted, sessions: [] } });

async function warmUp(sides) {
  for (const each of sides) {
    if (each.target.sessions) await openSessions(each.target, 16);
    await load(each, 16, warmUpSeconds);
  }
}

async function openSessions({ url, sessions }, count) {
  const send = async (message, session) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }),
    };
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${said}`);
    return answer.headers.get('mcp-session-id');
  };
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  while (sessions.length < count) {
    const session = await send({ id: 0, method: 'initialize', params: hello });
    await send({ method: 'notifications/initialized' }, session);
    sessions.push(session);
  }
}

/** Prints medians, the ratio to the best of the others in the same round, and the memory before and after. */
async function compare(title, sides, connections) {
  const names = Object.keys(sides);
  const before = names.map((name) => memory(sides[name].child));
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) results[name].push(await load(sides[name], connections, seconds));
  }
  print(`\n${title} (medians of ${rounds} interleaved rounds of ${seconds} s)`);
  for (const [place, name] of names.entries()) {
    const [rps, p50, p99] = ['rps', 'p50', 'p99'].map((field) =>
      median(results[name].map((run) => run[field])),
    );
    const after = memory(sides[name].child);
    const mb = (which) => `${before[place][which].toFixed(0)} → ${after[which].toFixed(0)}`;
    print(
      `  ${name.padEnd(14)}${rps.toFixed(0).padStart(7)} calls/s   p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms   ` +
        `memory ${mb('own')} MB, with its processes ${mb('all')} MB`,
    );
  }
  const [own, ...peers] = names;
  const ratio = (round) =>
    results[own][round].rps / Math.max(...peers.map((name) => results[name][round].rps));
  print(
    `  ${own} × ${median(Array.from({ length: rounds }, (_, round) => ratio(round))).toFixed(2)} of the best other`,
  );
}
