import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isSpecType } from '@modelcontextprotocol/client';
import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { askHolmes, installHolmes, noPython } from './holmes.mjs';
import { startPlatformServer } from './platform-server.mjs';
import { typeProblems } from './type-check.mjs';

// real: the built server, its tools, each platform's own types and validators; of Distri, which publishes no package, what its
// sources say; mock: nothing

const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'fixture-tool.mjs');
/** Whatever a schema may hold that platforms treat in ways of their own. */
const inputSchema = {
  type: 'object',
  $defs: { address: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] } },
  properties: {
    query: { type: 'string', description: 'What to look for', minLength: 1 },
    count: { type: 'integer', minimum: 1, default: 10 },
    kind: { enum: ['small', 'large'] },
    where: {
      type: 'object',
      properties: { path: { type: 'string' }, deep: { type: 'boolean' } },
      required: ['path'],
      additionalProperties: false,
    },
    parts: {
      type: 'array',
      maxItems: 3,
      items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
    either: { anyOf: [{ type: 'string' }, { type: 'object', properties: { id: true }, required: ['id'] }] },
    maybe: { type: ['string', 'null'] },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    address: { $ref: '#/$defs/address' },
    anything: true,
  },
  required: ['query'],
};

describe('what is said to a platform is what it takes', () => {
  let server;
  before(async () => {
    server = await startPlatformServer();
    const args = [fixture, '--name=find_things'];
    await server.register({
      name: 'find_things',
      description: 'Finds things',
      command: 'node',
      args,
      inputSchema,
    });
  });
  after(() => server.stop());

  const list = async (format) => (await server.ask(`tools?format=${format}`)).data;
  /** One call that succeeds, and one whose arguments are wrong. */
  const results = async (write, more) => {
    const toolCalls = [write('1', { query: 'a', count: 2 }), write('2', { count: 0 })];
    return (await server.ask('tool-calls', { method: 'POST', body: { toolCalls, ...more } })).results;
  };
  const openAiCall = (id, input) => ({
    id,
    type: 'function',
    function: { name: 'find_things', arguments: JSON.stringify(input) },
  });
  const check = (imports, values) => {
    const lines = Object.entries(values).map(
      ([type, value]) => `(${JSON.stringify(value)}) satisfies ${type};`,
    );
    // What the compiler must refuse shows that it knows the types.
    const wrong = Object.keys(values).map(
      (type) => `// @ts-expect-error\n([{ nothing: 1 }]) satisfies ${type};`,
    );
    assert.deepEqual(typeProblems([imports, ...lines, ...wrong].join('\n')), []);
  };

  it('OpenAI, by the types of its SDK', async () => {
    const called = (call_id, input) => {
      const { name, arguments: text } = openAiCall(call_id, input).function;
      return { type: 'function_call', call_id, name, arguments: text };
    };
    check("import type OpenAI from 'openai';", {
      'OpenAI.ChatCompletionFunctionTool[]': [
        ...(await list('openai')),
        ...(await list('openai&strict=true')),
      ],
      'OpenAI.Responses.FunctionTool[]': [
        ...(await list('openai-responses')),
        ...(await list('openai-responses&strict=true')),
      ],
      'OpenAI.ChatCompletionToolMessageParam[]': await results(openAiCall),
      'OpenAI.Responses.ResponseInputItem.FunctionCallOutput[]': await results(called),
    });
  });

  it('Anthropic, by the types of its SDK', async () => {
    const use = (id, input) => ({ type: 'tool_use', id, name: 'find_things', input });
    const answers = await results(use);
    check("import type Anthropic from '@anthropic-ai/sdk';", {
      'Anthropic.Tool[]': await list('anthropic'),
      'Anthropic.ToolResultBlockParam[]': answers,
    });
    assert.deepEqual(
      answers.map(({ is_error = false }) => is_error),
      [false, true],
    );
  });

  it('MCP, by the validators of its SDKs', async () => {
    const rpc = async (method, params) => {
      const headers = { 'content-type': 'application/json', ...server.key };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body });
      return (await answer.json()).result;
    };
    const listed = await rpc('tools/list');
    const tools = await list('mcp');
    assert.deepEqual(listed.tools, tools);
    assert.deepEqual(ListToolsResultSchema.parse({ tools }).tools, tools);
    for (const tool of tools) assert.ok(isSpecType.Tool(tool), tool.name);
    for (const input of [{ query: 'a' }, { query: 'a', action: 'error', code: -32001, message: 'no' }]) {
      const result = await rpc('tools/call', { name: 'find_things', arguments: input });
      assert.deepEqual(CallToolResultSchema.parse(result), result);
      assert.ok(isSpecType.CallToolResult(result));
    }
  });

  it('Distri, by what its sources say', async () => {
    const types = `
      interface FnTool { name: string; description: string; type: 'function'; parameters: object }
      interface ToolResultData { result: string | number | boolean | null | object; success: boolean; error?: string }
      interface ToolResult {
        tool_call_id: string;
        tool_name: string;
        parts: { part_type: 'data'; data: ToolResultData }[];
      }`;
    const call = (tool_call_id, input) => ({ tool_call_id, tool_name: 'find_things', input });
    check(types, { 'FnTool[]': await list('distri'), 'ToolResult[]': await results(call) });
  });

  it('HolmesGPT, by its own classes', async (test) => {
    if (!installHolmes()) return test.diagnostic(noPython);
    const [answered, refused] = await results(openAiCall, { format: 'holmes' });
    const said = await askHolmes({
      tools: await list('holmes'),
      results: [answered.result, refused.result],
    });
    assert.deepEqual(said.results, ['success', 'error']);
    const { parameters } = said.tools.find(({ name }) => name === 'find_things');
    // As HolmesGPT offers it to its model.
    assert.deepEqual(parameters.properties.where, {
      type: 'object',
      properties: { path: { type: 'string' }, deep: { type: 'boolean' } },
    });
    assert.deepEqual(parameters.properties.count, { type: 'integer', minimum: 1, default: 10 });
    assert.deepEqual(parameters.properties.address.properties, { street: { type: 'string' } });
    const branches = parameters.properties.either.anyOf.map(({ type }) => type);
    // Null is how its model leaves a parameter out.
    assert.deepEqual(branches, ['string', 'object', 'null']);
    assert.deepEqual(parameters.required, ['query']);
  });
});
