import { Logger } from '@nestjs/common';
import type OpenAI from 'openai';
import { defineTool } from '../../src/web/contract/define-tool.js';
import type { Tool } from '../../src/web/contract/tool.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

// real: the whole server, HTTP, OpenAI's SDK for its types; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ CUSTOM_TOOLS_MAX_OUTPUT_BYTES: '100000' });
  await tk.register('echo', { maxConcurrency: 4 });
});
afterAll(() => tk.close());

const run = async (toolCalls: object[], more: object = {}) =>
  (
    await tk.anonymous
      .post('/api/v1/tool-calls')
      .send({ toolCalls, ...more })
      .expect(200)
  ).body.results;

describe('tool calls as platforms write them', () => {
  it('OpenAI’s chat: arguments in a text, answers as messages', async () => {
    const call: OpenAI.ChatCompletionMessageFunctionToolCall = {
      id: 'call_1',
      type: 'function',
      function: { name: 'echo', arguments: '{"a":1}' },
    };
    const [message]: OpenAI.ChatCompletionToolMessageParam[] = await run([call]);
    expect(message).toEqual({ role: 'tool', tool_call_id: 'call_1', content: '{"a":1}' });
  });

  it('OpenAI’s responses', async () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: '' };
    expect(await run([call])).toEqual([{ type: 'function_call_output', call_id: 'call_1', output: '{}' }]);
  });

  it('Anthropic’s tool_use', async () => {
    const call = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: { a: 1 } };
    const failing = {
      ...call,
      id: 'toolu_2',
      input: { action: 'error', code: -32001, message: 'no such file' },
    };
    expect(await run([call, failing])).toEqual([
      { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"a":1}' },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: 'tool_error: no such file', is_error: true },
    ]);
  });

  it('Distri’s ToolCalls', async () => {
    const call = { tool_call_id: 'c1', tool_name: 'echo', input: { a: 1 } };
    const parts = [{ part_type: 'data', data: { result: { a: 1 }, success: true } }];
    expect(await run([call])).toEqual([{ tool_call_id: 'c1', tool_name: 'echo', parts }]);
  });

  it('HolmesGPT’s structured results', async () => {
    const call = (id: string, name: string) => ({
      id,
      type: 'function',
      function: { name, arguments: '{"a":1}' },
    });
    expect(await run([call('c1', 'echo'), call('c2', 'nowhere')], { format: 'holmes' })).toMatchObject([
      { tool_call_id: 'c1', result: { schema_version: 'robusta:v1.0.0', status: 'success', data: { a: 1 } } },
      { tool_call_id: 'c2', result: { status: 'error', error: expect.stringContaining('nowhere') } },
    ]);
  });

  it('each platform’s name asks for its form of the results, whatever the calls’ is', async () => {
    const calls = {
      openai: { id: 'c', function: { name: 'echo', arguments: '{"a":1}' } },
      'openai-responses': { type: 'function_call', call_id: 'c', name: 'echo', arguments: '{"a":1}' },
      anthropic: { type: 'tool_use', id: 'c', name: 'echo', input: { a: 1 } },
      distri: { tool_call_id: 'c', tool_name: 'echo', input: { a: 1 } },
    };
    const ofOpenAi = Object.values(calls);
    for (const [format, own] of Object.entries(calls)) {
      const [expected] = await run([own]);
      expect(await run(ofOpenAi, { format })).toEqual(ofOpenAi.map(() => expected));
    }
    await tk.anonymous
      .post('/api/v1/tool-calls')
      .send({ toolCalls: ofOpenAi, format: 'mcp' })
      .expect(400, /"pointer":"\/format"/);
  });

  it('are taken by either name, which an error points at', async () => {
    const post = (body: object) => tk.anonymous.post('/api/v1/tool-calls').send(body);
    const call = { type: 'tool_use', id: 't', name: 'echo', input: {} };
    for (const member of ['toolCalls', 'tool_calls']) {
      const { body } = await post({ [member]: [call] }).expect(200);
      expect(body.results).toHaveLength(1);
      await post({ [member]: [{}] }).expect(400, new RegExp(`"pointer":"/${member}/0"`));
      await post({ [member]: [] }).expect(400, new RegExp(`"pointer":"/${member}"`));
    }
    await post({}).expect(400, /"pointer":"\/toolCalls".*is required/);
    await post({ toolCalls: [call], tool_calls: [call] }).expect(400, /beside tool_calls/);
  });

  it('tells the model what it wrote wrong, in each platform’s own form', async () => {
    const why = expect.stringMatching(/^invalid_input: The arguments are not valid JSON/);
    const calls = [
      { id: 'c1', function: { name: 'echo', arguments: '{"a":' } },
      { type: 'function_call', call_id: 'c2', name: 'echo', arguments: 'a=1' },
      { tool_call_id: 'c3', tool_name: 'echo', input: '{' },
    ];
    expect(await run(calls)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: why },
      { type: 'function_call_output', call_id: 'c2', output: why },
      {
        tool_call_id: 'c3',
        tool_name: 'echo',
        parts: [{ part_type: 'data', data: { result: null, success: false, error: why } }],
      },
    ]);
    const [holmes] = await run(calls.slice(0, 1), { format: 'holmes' });
    expect(holmes.result).toMatchObject({ status: 'error', error: why, params: null, data: null });
  });

  it('what is JSON but no object is refused by the tool’s schema, in words', async () => {
    const call = (args: unknown) => ({ id: 'c', function: { name: 'find_tools', arguments: args } });
    const [list, none] = await run([call('[1]'), call('null')]);
    expect(list.content).toBe('invalid_input: input must be object, but is an array');
    expect(none.content).toMatch(/query is required/);
    const anthropic = { type: 'tool_use', id: 't', name: 'find_tools', input: 'disk full' };
    expect(await run([anthropic])).toMatchObject([
      { content: expect.stringContaining('must be object'), is_error: true },
    ]);
  });

  it('runs them side by side, each once under its key', async () => {
    const toolCalls = ['c1', 'c2'].map((id) => ({
      type: 'tool_use',
      id,
      name: 'echo',
      input: { action: 'count' },
    }));
    const send = () =>
      tk.anonymous
        .post('/api/v1/tool-calls')
        .set('idempotency-key', 'turn-1')
        .send({ toolCalls })
        .expect(200);
    const first = await send();
    expect((await send()).body).toEqual(first.body);
  });

  it('arguments that are nested without end are told as wrong, with a key and without', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const call = { id: 'c', function: { name: 'echo', arguments: `{"a":null,"b":${deep}}` } };
    const { body } = await tk.anonymous
      .post('/api/v1/tool-calls')
      .set('idempotency-key', 'deep')
      .send({ toolCalls: [call] })
      .expect(200);
    for (const [{ content }] of [body.results, await run([call])])
      expect(content).toBe("invalid_input: The arguments' JSON is nested deeper than 1000 levels");
  });

  it('results that are too large together are left out, and the model is told', async () => {
    const calls = Array.from({ length: 6 }, (_, n) => ({
      type: 'tool_use',
      id: `t${n}`,
      name: 'echo',
      input: { action: 'big', bytes: 90_000 },
    }));
    const results: { content: string; is_error?: boolean }[] = await run(calls);
    expect(results.filter(({ content }) => content.length === 90_000)).toHaveLength(4);
    const leftOut = results.filter(({ is_error: failed }) => failed);
    expect(leftOut.map(({ content }) => content)).toEqual(
      Array(2).fill(
        expect.stringMatching(/^output_too_large: .* 400000 characters .*CUSTOM_TOOLS_MAX_OUTPUT/),
      ),
    );
  });

  it('what goes wrong on our side is logged under the id that is told, over MCP as well', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const inside = new Error('what nobody outside should read');
    const echo = tk.app.get(ToolRegistry).find('echo');
    const validate = (): never => {
      throw inside;
    };
    tk.app.get(ToolRegistry).register({
      ...(echo as Tool),
      definition: { ...(echo as Tool).definition, name: 'broken' },
      validate,
    });
    const [{ content }] = await run([{ id: 'c', function: { name: 'broken', arguments: '{}' } }], {
      context: { requestId: 'r-1' },
    });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'broken' } };
    const { body } = await tk.anonymous.post('/mcp').send(message).expect(200);
    expect(content).toMatch(/^internal_error: /);
    expect(body.error).toMatchObject({ code: -32603, data: { code: 'internal_error' } });
    const ids = ['r-1', body.error.data.requestId];
    expect(logged.mock.calls).toEqual(ids.map((id) => [inside, `request ${id} failed`]));
    logged.mockRestore();
  });

  it('refuses what is nobody’s call, and says where', async () => {
    const { body } = await tk.anonymous
      .post('/api/v1/tool-calls')
      .send({ toolCalls: [{ hello: 1 }] })
      .expect(400);
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/toolCalls/0' })]);
  });
});

describe('OpenAI’s strict mode', () => {
  const list = async (query: string) =>
    (await tk.anonymous.get(`/api/v1/tools/find_tools?${query}`).expect(200)).body;

  it('is given to a tool whose schema has a strict form', async () => {
    const strict: OpenAI.ChatCompletionFunctionTool = await list('format=openai&strict=true');
    expect(strict.function).toMatchObject({
      strict: true,
      parameters: { required: ['query', 'limit'], properties: { limit: { type: ['integer', 'null'] } } },
    });
    expect(await list('format=openai')).not.toHaveProperty('function.strict');
    expect(await list('format=openai-responses')).toMatchObject({ type: 'function', strict: false });
    await tk.anonymous.get('/api/v1/tools?format=anthropic&strict=true').expect(400, /"pointer":"\/strict"/);
  });

  it('nulls of what a model left out, and arguments that are a text, are read on every way in', async () => {
    const input = { query: 'playbooks', limit: null };
    const args = JSON.stringify(input);
    const calls = [
      { id: 'c1', function: { name: 'find_tools', arguments: args } },
      { id: 'c2', function: { name: 'find_tools', arguments: JSON.stringify(args) } },
      { type: 'function_call', call_id: 'c3', name: 'find_tools', arguments: args },
      { type: 'tool_use', id: 'c4', name: 'find_tools', input },
      { type: 'tool_use', id: 'c5', name: 'find_tools', input: args },
    ];
    const results = await run(calls);
    const texts = results.map(({ content, output }: Json) => content ?? output);
    expect(JSON.parse(texts[0]).tools[0].name).toBe('get_playbooks');
    expect(texts).toEqual(calls.map(() => texts[0]));
    for (const sent of [input, args]) {
      const { body } = await tk.anonymous
        .post('/api/v1/tools/find_tools/execute')
        .send({ input: sent })
        .expect(200);
      expect(body.result.tools[0].name).toBe('get_playbooks');
    }
  });

  it('the same key stands for the same input as it was sent, repaired or not', async () => {
    const send = (input: object) =>
      tk.anonymous.post('/api/v1/tools/find_tools/execute').set('idempotency-key', 'nulls').send({ input });
    const first = await send({ query: 'playbooks', limit: null }).expect(200);
    const again = await send({ limit: null, query: 'playbooks' }).expect(200);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.body.executionId).toBe(first.body.executionId);
  });
});

describe('a tool whose schema a platform refuses', () => {
  const branch = (name: string) => ({
    properties: { [name]: { type: 'array', items: { properties: { 'in side': { type: 'string' } } } } },
    required: [name],
    additionalProperties: false,
  });
  beforeAll(() => tk.register('awkward', { inputSchema: { oneOf: [branch('a b'), branch('c d')] } }));
  const aliases = async (format: string) => {
    const { body } = await tk.http.get(`/api/v1/tools/awkward?format=${format}`).expect(200);
    const { properties, ...others } = body.function?.parameters ?? body.parameters ?? body.input_schema;
    expect(others).toEqual({ type: 'object' });
    const [first, second] = Object.keys(properties);
    return { first, second, inside: Object.keys(properties[first ?? ''].items.properties)[0] };
  };
  const call: Record<string, (input: object) => object> = {
    openai: (input) => ({ id: 'c', function: { name: 'awkward', arguments: JSON.stringify(input) } }),
    'openai-responses': (input) => ({
      ...{ type: 'function_call', call_id: 'c', name: 'awkward' },
      arguments: JSON.stringify(input),
    }),
    anthropic: (input) => ({ type: 'tool_use', id: 'c', name: 'awkward', input }),
    distri: (input) => ({ tool_call_id: 'c', tool_name: 'awkward', input }),
  };

  it.each(Object.keys(call))(
    'is called by the names that %s was given, and checked by its own',
    async (format) => {
      const { first, second, inside } = await aliases(format);
      const written = [{ [`${first}`]: [{ [`${inside}`]: 'x' }] }, { [`${first}`]: [], [`${second}`]: [] }];
      const toolCalls = written.map((input) => call[format]?.(input));
      const { body } = await tk.http.post('/api/v1/tool-calls').send({ toolCalls, format: 'anthropic' });
      expect(JSON.parse(body.results[0].content)).toEqual({ 'a b': [{ 'in side': 'x' }] });
      expect(body.results[1]).toMatchObject({
        is_error: true,
        content: expect.stringMatching(/^invalid_input/),
      });
    },
  );

  it('is called by these names too if only another replica has registered it so far', async () => {
    const { first } = await aliases('anthropic');
    const registry = tk.app.get(ToolRegistry);
    const tool = registry.find('awkward') as Tool;
    const { fetch } = registry;
    registry.exchange([tool], []);
    registry.fetch = async () => registry.replace(tool);
    const toolCalls = [call['anthropic']?.({ [`${first}`]: [] })];
    const { body } = await tk.http.post('/api/v1/tool-calls').send({ toolCalls });
    registry.fetch = fetch;
    expect(JSON.parse(body.results[0].content)).toEqual({ 'a b': [] });
  });
});

describe('a tool whose name a platform refuses', () => {
  const name = `notes.read everything__${'x'.repeat(120)}`;
  const aliasIn = async (format: string) => {
    const { body } = await tk.anonymous.get(`/api/v1/tools?format=${format}`).expect(200);
    const names = body.data.map((tool: Json) => tool.function?.name ?? tool.name);
    return names.find((each: string) => each.startsWith('notes'));
  };
  const echo = (tool: string) => tk.anonymous.post(`/api/v1/tools/${tool}/execute`);
  beforeAll(() => {
    const registry = tk.app.get(ToolRegistry);
    const run = async (input: object) => input;
    // Callers without a key may call it.
    const annotations = { readOnly: true, openWorld: false };
    const about = { name, description: 'Reads notes', input: { type: 'object' }, annotations };
    registry.register(defineTool({ ...about, run }));
  });

  it('has an alias in its format, by which native calls find it', async () => {
    const [openai, anthropic] = [await aliasIn('openai'), await aliasIn('anthropic')];
    expect([openai.length, anthropic.length]).toEqual([64, 128]);
    expect(
      await run([
        { id: 'c1', function: { name: openai, arguments: '{"a":1}' } },
        { type: 'tool_use', id: 'c2', name: anthropic, input: { a: 2 } },
      ]),
    ).toMatchObject([{ content: '{"a":1}' }, { content: '{"a":2}' }]);
  });

  it('is found by it over MCP and REST, where its own name is told', async () => {
    const alias = await aliasIn('mcp');
    expect(alias).toMatch(/^notes\.read_everything__/);
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: alias, arguments: { a: 1 } },
    };
    const { body } = await tk.anonymous
      .post('/mcp')
      .set('accept', 'application/json, text/event-stream')
      .send(message)
      .expect(200);
    expect(body.result.structuredContent).toEqual({ a: 1 });
    expect(
      (
        await echo(alias)
          .send({ input: { a: 1 } })
          .expect(200)
      ).body,
    ).toMatchObject({ tool: name });
    expect((await tk.anonymous.get(`/api/v1/tools/${alias}`).expect(200)).body.name).toBe(name);
  });

  it('is one tool under all its names: a call with a key is not run twice', async () => {
    const keyed = async (tool: string) =>
      (
        await echo(tool)
          .set('idempotency-key', 'once')
          .send({ input: { a: 1 } })
          .expect(200)
      ).body.executionId;
    expect(await keyed(await aliasIn('openai'))).toBe(await keyed(encodeURIComponent(name)));
  });
});
