import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { on } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startApp, type TestApp } from '../support/app.js';
import { built } from '../support/built.js';
import { processesWith } from '../support/processes.js';
import { until } from '../support/wait.js';

// real: `toolkeeper mcp` as a process, clients that end or die, the whole server; mock: nothing

let tk: TestApp;
let bridge: readonly [command: string, ...args: string[]];
beforeAll(async () => {
  tk = await startApp();
  await tk.register('echo');
  bridge = [process.execPath, join(built(), 'bin', 'toolkeeper.mjs'), '--url', tk.url, 'mcp'];
});
afterAll(() => tk.close());

const bridges = (): number[] => processesWith(bridge.slice(2).join(' '));
const connections = (): Promise<number> =>
  new Promise((resolve) => tk.app.getHttpServer().getConnections((_error, count) => resolve(count)));

/** A client that owns the pipe to its bridge: its death closes the bridge's stdin. */
const owner = `const [command, ...args] = process.argv.slice(1);
  const { stdin } = require('child_process').spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
  process.stdin.pipe(stdin);`;

/** Sends a handshake, some requests one after another and a call that does not end, to which a stream is open. */
async function used(requests: number, parent: readonly string[]): Promise<ChildProcessWithoutNullStreams> {
  const [command = '', ...args] = [...parent, ...bridge];
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], TOOLKEEPER_KEY: tk.key.authorization.replace('Bearer ', '') },
  });
  child.stderr.resume();
  const answers = on(createInterface(child.stdout), 'line');
  const send = (message: object): boolean =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (id: number, method: string, params: object = {}): Promise<void> => {
    send({ id, method, params });
    const [line] = (await answers.next()).value as [string];
    expect(JSON.parse(line)).toMatchObject({ id, result: expect.anything() });
  };
  const clientInfo = { name: 'test', version: '1.0.0' };
  await ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  send({ method: 'notifications/initialized' });
  for (let id = 1; id < requests; id++) await ask(id, 'ping');
  send({ id: requests, method: 'tools/call', params: { name: 'echo', arguments: { action: 'hang' } } });
  return child;
}

it.each<
  readonly [how: string, parent: readonly string[], end: (child: ChildProcessWithoutNullStreams) => void]
>([
  ['its stdin ends', [], (child) => child.stdin.end()],
  ['it gets SIGTERM', [], (child) => child.kill('SIGTERM')],
  ['it gets SIGINT', [], (child) => child.kill('SIGINT')],
  ['its client is killed', [process.execPath, '-e', owner], (child) => child.kill('SIGKILL')],
  [
    'its parent is killed, and another process holds its stdin open',
    ['sh', '-c', '"$@"; exit', 'sh'],
    (child) => child.kill('SIGKILL'),
  ],
])(
  'the bridge exits and frees its streams when %s, after any number of requests',
  async (_how, parent, end) => {
    const clients = await Promise.all([1, 20, 100, 300].map((requests) => used(requests, parent)));
    await until(async () => (await connections()) >= 2 * clients.length, {
      what: 'a stream and a call of each',
    });
    clients.forEach(end);
    await until(() => bridges().length === 0, { timeoutMs: 10_000, what: 'the end of the bridges' });
    await until(async () => (await connections()) === 0, { what: 'the end of their connections' });
    for (const { stdin } of clients) stdin.destroy();
  },
);
