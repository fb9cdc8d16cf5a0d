import type OpenAI from 'openai';
import { startApp, type TestApp } from '../support/app.js';

// real: the whole server, HTTP, OpenAI's SDK for its types; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
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

  it('tells the model what it wrote wrong', async () => {
    const [{ content }] = await run([{ id: 'c1', function: { name: 'echo', arguments: '{"a":' } }]);
    expect(content).toMatch(/^invalid_input: The arguments are not valid JSON/);
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

  it('refuses what is nobody’s call, and says where', async () => {
    const { body } = await tk.anonymous
      .post('/api/v1/tool-calls')
      .send({ toolCalls: [{ hello: 1 }] })
      .expect(400);
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/toolCalls/0' })]);
  });
});
