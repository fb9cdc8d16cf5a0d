import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

// real: the built server, its tools' processes, HTTP, each platform's client; mock: nothing

const { startServer } = await import('../support/server-process.ts');
const bin = join(import.meta.dirname, 'node_modules', '.bin');
const run = promisify(execFile);
const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'content-tool.mjs');
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
};
const tools = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_tool_with_logging',
  'test_tool_with_progress',
  'test_error_handling',
  'json_schema_2020_12_tool',
];
/** What a server of tools has to do; the suite's others are about prompts, resources and questions to the client. */
const scenarios = [
  'server-initialize',
  'logging-set-level',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-with-progress',
  'tools-call-error',
  'json-schema-2020-12',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
];
const said = 'This is a simple text response for testing.';

const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-platforms-'));
let server;
let mcp;
before(async () => {
  server = await startServer({
    PORT: '0',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'tools'),
  });
  mcp = `${server.url}/mcp`;
  for (const name of tools) {
    const answer = await fetch(`${server.url}/api/v1/custom-tools`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...server.key },
      body: JSON.stringify({
        name,
        description: name,
        command: 'node',
        args: [fixture, `--as=${name}`],
        ...(name.startsWith('json') && { inputSchema: schema2020 }),
      }),
    });
    assert.equal(answer.status, 201, await answer.text());
  }
});
after(async () => {
  await server.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

describe('the conformance suite of MCP', () => {
  for (const scenario of scenarios) {
    it(scenario, async () => {
      const asked = ['server', '--url', mcp, '--scenario', scenario];
      await run(process.execPath, [join(bin, 'conformance'), ...asked], { cwd: folder });
    });
  }
});

describe('clients', () => {
  it('the SDK of the stateless revision', async () => {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const options = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
    const client = new Client({ name: 'test', version: '1.0.0' }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(mcp)));
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'test_simple_text'));
    assert.equal((await client.callTool({ name: 'test_simple_text', arguments: {} })).content[0].text, said);
    await client.close();
  });

  it('the AI SDK', async () => {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const client = await createMCPClient({ transport: { type: 'http', url: mcp } });
    const { test_simple_text: tool } = await client.tools();
    const result = await tool.execute({}, { toolCallId: 'c1', messages: [] });
    assert.equal(result.content[0].text, said);
    await client.close();
  });

  it('the OpenAI Agents SDK', async () => {
    const { MCPServerStreamableHttp } = await import('@openai/agents');
    const client = new MCPServerStreamableHttp({ url: mcp, name: 'toolkeeper' });
    await client.connect();
    assert.ok((await client.listTools()).some(({ name }) => name === 'test_simple_text'));
    assert.equal((await client.callTool('test_simple_text', {}))[0].text, said);
    await client.close();
  });

  it('LangChain', async () => {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
    const client = new MultiServerMCPClient({ toolkeeper: { transport: 'http', url: mcp } });
    const tool = (await client.getTools()).find(({ name }) => name.endsWith('test_simple_text'));
    assert.match(JSON.stringify(await tool.invoke({})), new RegExp(said));
    await client.close();
  });

  it('the inspector', async () => {
    const inspect = (...asked) =>
      run(process.execPath, [join(bin, 'mcp-inspector'), '--cli', mcp, '--transport', 'http', ...asked]);
    assert.match((await inspect('--method', 'tools/list')).stdout, /test_simple_text/);
    const called = await inspect('--method', 'tools/call', '--tool-name', 'test_simple_text');
    assert.match(called.stdout, new RegExp(said));
  });
});
