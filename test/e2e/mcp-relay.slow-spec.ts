import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announceServer } from '../../src/base/common/server-file.js';
import { startApp, type TestApp } from '../support/app.js';
import { CommandLine } from '../support/command-line.js';
import { relayedClient, type RelayedClient } from '../support/mcp-relay.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: `toolkeeper mcp` as a process, the official client at its pipe, the whole server; mock: the server to which a client shakes hands twice

let tk: TestApp;
let relayed: RelayedClient;
const data = makeTestFolder();

beforeAll(async () => {
  tk = await startApp({ TOOLKEEPER_DATA_DIR: data });
  announceServer(data, tk.url);
  await tk.register('echo');
  relayed = await relayedClient({ TOOLKEEPER_DATA_DIR: data });
});
afterAll(async () => {
  await relayed.client.close();
  await tk.close();
  rmSync(data, { recursive: true, force: true });
});

const inFlight = async (): Promise<boolean> =>
  (await tk.http.get('/metrics')).text.includes('calls_in_flight{tool="echo"} 1');
const lastErrors = async (): Promise<string> =>
  (await tk.http.get('/api/v1/tool-metrics/errors').query({ tool: 'echo' })).text;

it('a client at its pipe lists and calls the tools of the server that runs', async () => {
  const { client } = relayed;
  expect(client.getServerVersion()).toMatchObject({ name: 'toolkeeper' });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('echo');
  const calls = Array.from({ length: 20 }, (_, at) =>
    client.callTool({ name: 'echo', arguments: { at, text: 'ü\u2028\n' } }),
  );
  const results = await Promise.all(calls);
  expect(results.map(({ structuredContent }) => structuredContent)).toEqual(
    calls.map((_, at) => ({ at, text: 'ü\u2028\n' })),
  );
});

it('hears how far a call is, and that the list of tools has changed', async () => {
  const { client } = relayed;
  const heard: unknown[] = [];
  const messages = [{ method: 'progress', params: { id: '$ID', progress: 1, total: 2 } }];
  const input = { action: 'say', messages };
  const onprogress = (progress: unknown) => heard.push(progress);
  // The client drops what it reads in one piece with the result.
  await until(
    async () => {
      await client.callTool({ name: 'echo', arguments: input }, undefined, { onprogress });
      return heard.length > 0;
    },
    { what: 'the progress' },
  );
  expect(heard).toEqual([{ progress: 1, total: 2 }]);
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
  await until(
    async () => {
      await tk.http.post('/api/v1/custom-tools/echo/disable').expect(200);
      await tk.http.post('/api/v1/custom-tools/echo/enable').expect(200);
      return changes > 0;
    },
    { what: 'the news' },
  );
});

it('a call that its client cancels ends, and so do those of a relay that is killed', async () => {
  const over = new AbortController();
  const cancelled = relayed.client.callTool({ name: 'echo', arguments: { action: 'hang' } }, undefined, {
    signal: over.signal,
  });
  await until(inFlight, { what: 'the call' });
  over.abort();
  await expect(cancelled).rejects.toThrow();
  await until(async () => !(await inFlight()), { what: 'its end' });

  const other = await relayedClient({ TOOLKEEPER_DATA_DIR: data });
  const lost = other.client.callTool({ name: 'echo', arguments: { action: 'hang' } });
  await until(inFlight, { what: 'the other call' });
  process.kill(other.pid, 'SIGKILL');
  await expect(lost).rejects.toThrow();
  await until(async () => !(await inFlight()), { what: 'the end of that' });
  await until(async () => (await lastErrors()).split('"cancelled"').length === 3, { what: 'both records' });
  expect((await relayed.client.callTool({ name: 'echo', arguments: {} })).isError).toBeFalsy();
});

it('stdout carries messages alone, whatever comes in', async () => {
  const lines = [
    'no JSON',
    '[]',
    '{"jsonrpc":"2.0","id":7,"method":"no/such"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}',
    '{"jsonrpc":"2.0","id":"modern","method":"tools/call","params":{"name":"echo","arguments":{"n":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}',
  ];
  const relay = new CommandLine({ TOOLKEEPER_DATA_DIR: data }, data).start('mcp');
  let said = '';
  relay.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  relay.stdin.write(`${lines.join('\n')}\n`);
  const answers = await until(() => (said.split('\n').length === 5 ? said.trim().split('\n') : undefined), {
    what: 'four answers',
  });
  const byId = new Map(
    answers.map((line) => {
      const { id, error, result } = JSON.parse(line);
      return [id, error?.code ?? result];
    }),
  );
  expect(byId.get(7)).toBe(-32601);
  expect(byId.get(null)).toEqual(expect.any(Number));
  expect(byId.get('modern')).toMatchObject({ structuredContent: { n: 1 } });
  relay.stdin.end();
  await until(() => relay.exitCode === 0, { what: 'its end' });
});

it('a client that shakes hands again gets the notifications of its new session alone', async () => {
  const open = new Set<string>();
  let sessions = 0;
  const server = createServer(({ method, headers }, response) => {
    if (method !== 'GET') {
      response.writeHead(202, { 'mcp-session-id': `s${sessions++}` }).end();
      return;
    }
    const session = String(headers['mcp-session-id']);
    open.add(session);
    response.once('close', () => open.delete(session));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const relay = new CommandLine({ TOOLKEEPER_URL: url, TOOLKEEPER_DATA_DIR: data }, data).start('mcp');
  for (const session of ['s0', 's2']) {
    relay.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize"}\n');
    await until(() => sessions % 2 === 1, { what: 'the handshake' });
    relay.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    await until(() => [...open].join() === session, { what: 'the stream of the session' });
  }
  relay.stdin.end();
  await until(() => relay.exitCode === 0, { what: 'its end' });
  await server[Symbol.asyncDispose]();
});

it('a server that was named and does not answer is told as the error of a request', async () => {
  const variables = { TOOLKEEPER_URL: 'http://127.0.0.1:2', TOOLKEEPER_DATA_DIR: data };
  const relay = new CommandLine(variables, data).start('mcp');
  let said = '';
  relay.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  relay.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await until(() => said.endsWith('\n'), { what: 'the answer' });
  expect(JSON.parse(said)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('ECONNREFUSED') },
  });
  relay.stdin.end();
  await until(() => relay.exitCode === 0, { what: 'its end' });
});
