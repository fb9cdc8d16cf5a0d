import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.js';
import { Gate } from '../fixtures/tools/gate.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { processesWith } from '../support/processes.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the built server as a process of its own, its tools, PostgreSQL, the official client in processes of their own,
// SIGKILL; mock: nothing

const mcpFixture = join(__dirname, '../fixtures/tools/mcp-server.mjs');
const fixture = join(__dirname, '../fixtures/tools/fixture-tool.mjs');
let db: TestDatabase;
let folder: string;
let gate: Gate;
let server: ServerProcess;
let tool: string;

const start = async (port = '0'): Promise<void> => {
  server = await startServer({
    PORT: port,
    DATABASE_URL: db.url,
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'tools'),
  });
};

async function register(settings: object): Promise<void> {
  const answer = await fetch(`${server.url}/api/v1/custom-tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...server.key },
    body: JSON.stringify({ command: 'node', ...settings }),
  });
  expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 201 });
}

beforeEach(async () => {
  db = await createTestDatabase({ connect: false });
  folder = makeTestFolder();
  gate = new Gate();
  tool = `mortal_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await start();
  await register({ name: tool, description: tool, args: [fixture, `--name=${tool}`], ...gate.access });
});

afterEach(async () => {
  await server.end('SIGTERM');
  gate.close();
  rmSync(folder, { recursive: true, force: true });
  await db.release();
});

/** The process of the tool, in whatever it is wrapped. */
const ownProcesses = (): number[] => processesWith(`--name=${tool}`);

/** How the calls of a tool that failed are recorded, the latest first. */
async function errors(name = tool): Promise<string[]> {
  const answer = await fetch(`${server.url}/api/v1/tool-metrics/errors?tool=${name}`, {
    headers: server.key,
  });
  const { data } = (await answer.json()) as { data: { errorType: string }[] };
  return data.map(({ errorType }) => errorType);
}

async function connected(): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url)));
  return client;
}

/** A client that calls the tool and waits, as a process that can be killed. */
function callingProcess(key: string): ChildProcess {
  const code = `
    import { Client } from '@modelcontextprotocol/sdk/client/index.js';
    import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL('${server.url}/mcp')));
    await client.callTool({ name: '${tool}', arguments: ${JSON.stringify(gate.input(key))} });`;
  return spawn(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: projectRoot(),
    stdio: 'inherit',
  });
}

it('a gateway that is killed in mid-call leaves no process, its record says so, and the same client goes on', async () => {
  const client = await connected();
  const cut = expect(client.callTool({ name: tool, arguments: { ...gate.input('a') } })).rejects.toThrow();
  await gate.running('a');
  expect(ownProcesses()).not.toEqual([]);
  await server.end('SIGKILL');
  await cut;
  await until(() => ownProcesses().length === 0, { what: 'the tool to end with the gateway' });
  await start(new URL(server.url).port);
  await until(async () => (await errors()).length > 0, { what: 'the record' });
  expect(await errors()).toEqual(['interrupted']);
  const result = await client.callTool({ name: tool, arguments: { a: 1 } });
  expect(result.structuredContent).toEqual({ a: 1 });
  await client.close();
});

it('a client that is killed in mid-call cancels its call, and the next one is served', async () => {
  const killed = callingProcess('b');
  await gate.running('b');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  await until(async () => (await errors()).length > 0, { what: 'the record' });
  expect(await errors()).toEqual(['cancelled']);
  const client = await connected();
  const result = await client.callTool({ name: tool, arguments: { a: 1 } });
  expect(result.structuredContent).toEqual({ a: 1 });
  await client.close();
  await server.end('SIGTERM');
  expect(ownProcesses()).toEqual([]);
});

it('an MCP server that is called when the gateway is killed leaves no process either, and serves the next gateway', async () => {
  const mark = `--mark=${tool}`;
  await register({ name: 'upstream', protocol: 'mcp', args: [mcpFixture, mark] });
  const client = await connected();
  const cut = expect(client.callTool({ name: 'upstream__child', arguments: {} })).rejects.toThrow();
  await until(() => processesWith(`child-of${mark}`).length > 0, { what: 'the call to run' });
  await server.end('SIGKILL');
  await cut;
  await until(() => processesWith(mark).length === 0, { what: 'the server and its child to end' });
  await start(new URL(server.url).port);
  await until(async () => (await errors('upstream__child')).length > 0, { what: 'the record' });
  expect(await errors('upstream__child')).toEqual(['interrupted']);
  const result = await client.callTool({ name: 'upstream__echo', arguments: { text: 'on' } });
  expect(result.structuredContent).toEqual({ text: 'on' });
  await client.close();
});
