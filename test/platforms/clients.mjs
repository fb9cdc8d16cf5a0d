import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

// real: the built server, its tools' processes, HTTP, each platform's client; mock: the models, which answer only from what
// they are sent

const { runAgentsPage } = await import('../support/agents-page.ts');
const { startScriptedModel } = await import('../support/scripted-model.ts');
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
/** For a scripted model, which repeats what its call came to. */
const task = 'Call test_simple_text with {}';
const told = new RegExp(`^I was told: .*${said}`, 's');

const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-platforms-'));
let server;
let model;
let mcp;
before(async () => {
  model = await startScriptedModel();
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
  await model.close();
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

/** Runs the page's own code, followed by this. */
const page = (which, after, before = '') =>
  runAgentsPage(which, { url: server.url, key: server.key, folder: import.meta.dirname, before, after });

describe('clients, by the code of docs/agents.md', () => {
  it('the SDK of the stateless revision', async () => {
    const printed = await page(
      'stateless',
      `const { name } = (await client.listTools()).tools.find(({ name }) => name === 'test_simple_text');
      const result = await client.callTool({ name, arguments: {} });
      console.log(result.content[0].text);
      await client.close();`,
    );
    assert.equal(printed, said);
  });

  it('the AI SDK, with a model', async () => {
    const printed = await page(
      'ai',
      `const model = createOpenAICompatible({ name: 'scripted', baseURL: '${model.url}/v1' })('scripted');
      const { text } = await generateText({ model, tools, prompt: '${task}', stopWhen: isStepCount(3) });
      console.log(text);
      await client.close();`,
      `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
      import { generateText, isStepCount } from 'ai';`,
    );
    assert.match(printed, told);
  });

  it('the OpenAI Agents SDK, with a model', async () => {
    const printed = await page(
      'agents',
      `const provider = { apiKey: 'none', baseURL: '${model.url}/v1', useResponses: false };
      const modelProvider = new OpenAIProvider(provider);
      const runner = new Runner({ modelProvider, model: 'scripted', tracingDisabled: true });
      console.log((await runner.run(agent, '${task}')).finalOutput);
      await toolkeeper.close();`,
      "import { OpenAIProvider, Runner } from '@openai/agents';",
    );
    assert.match(printed, told);
  });

  it('LangChain', async () => {
    const printed = await page(
      'langchain',
      `const tool = tools.find(({ name }) => name.endsWith('test_simple_text'));
      console.log(JSON.stringify(await tool.invoke({})));
      await client.close();`,
    );
    assert.ok(printed.includes(said));
  });

  it('Anthropic’s API, with a model', async () => {
    const printed = await page(
      'anthropic',
      `const last = await anthropic.messages.create({ model, max_tokens: 1024, messages, tools });
      console.log(last.content[0].text);`,
      `import Anthropic from '@anthropic-ai/sdk';
      const anthropic = new Anthropic({ apiKey: 'none', baseURL: '${model.url}' });
      const model = 'scripted';
      const messages = [{ role: 'user', content: '${task}' }];`,
    );
    assert.match(printed, told);
  });

  it('the models were sent nothing that their platforms refuse', () => assert.deepEqual(model.refused, []));

  it('the inspector', async () => {
    const inspect = (...asked) =>
      run(process.execPath, [join(bin, 'mcp-inspector'), '--cli', mcp, '--transport', 'http', ...asked]);
    assert.match((await inspect('--method', 'tools/list')).stdout, /test_simple_text/);
    const called = await inspect('--method', 'tools/call', '--tool-name', 'test_simple_text');
    assert.match(called.stdout, new RegExp(said));
  });
});
