/** Other gateways in front of the echo tool, which speaks MCP to them. Their packages are installed when they are first asked for. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'peers');
const echo = join(import.meta.dirname, 'echo-tool.mjs');

/** mcp-hub: REST in front of MCP servers. */
export async function startHub(dataFolder, input, wanted) {
  const program = installed('mcp-hub/dist/cli.js');
  const config = join(dataFolder, 'hub.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { bench: { command: process.execPath, args: [echo] } } }),
  );
  const port = portOf(0);
  // It asks a registry of its own at start, by fetch and then by curl: a benchmark reaches nothing but loopback.
  const loopbackOnly = `data:text/javascript,${encodeURIComponent("globalThis.fetch = () => Promise.reject(new Error('loopback only'))")}`;
  const flags = ['--import', loopbackOnly, program, '--port', String(port), '--config', config];
  const own = { XDG_STATE_HOME: dataFolder, XDG_CONFIG_HOME: dataFolder, XDG_DATA_HOME: dataFolder };
  const child = start(flags, { ...own, HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' });
  await said(child, /HUB_STARTED|ready|initialized/i);
  const body = { server_name: 'bench', tool: 'bench_echo', arguments: input };
  return { child, target: { url: `http://127.0.0.1:${port}/api/servers/tools`, body, wanted } };
}

/** mcp-proxy: Streamable HTTP in front of one MCP server, whose process all sessions share. */
export async function startMcpProxy() {
  const port = portOf(1);
  const flags = [
    '--server',
    'stream',
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--',
    process.execPath,
    echo,
  ];
  const child = start([installed('mcp-proxy/dist/bin/mcp-proxy.mjs'), ...flags]);
  return { child, url: await answering(child, `http://127.0.0.1:${port}/mcp`) };
}

/** supergateway: Streamable HTTP in front of an MCP server, of which each session has a process of its own. */
export async function startSupergateway() {
  const port = portOf(2);
  const stdio = [
    '--stdio',
    `${process.execPath} ${echo}`,
    '--outputTransport',
    'streamableHttp',
    '--stateful',
  ];
  const flags = [...stdio, '--port', String(port), '--logLevel', 'none'];
  const child = start([installed('supergateway/dist/index.js'), ...flags]);
  return { child, url: await answering(child, `http://127.0.0.1:${port}/mcp`) };
}

function installed(path) {
  const program = join(folder, 'node_modules', path);
  if (!existsSync(program)) {
    const install = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
    execFileSync('npm', install, { cwd: folder, stdio: 'inherit' });
  }
  return program;
}

const portOf = (place) => 20_000 + 3 * (process.pid % 3_000) + place;

const start = (args, variables) =>
  spawn(process.execPath, args, {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Waits until something answers there. @returns the address */
async function answering(child, url) {
  child.stdout.resume();
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return url;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** What the child has written when the pattern is there. */
export function said(child, pattern) {
  return new Promise((resolve, reject) => {
    let log = '';
    child.stdout.on('data', (chunk) => {
      log += chunk;
      const match = pattern.exec(log);
      if (match) resolve(match);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}:\n${log}`)));
  });
}

export async function stop(child) {
  if (child.exitCode !== null) return;
  child.removeAllListeners('exit');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
