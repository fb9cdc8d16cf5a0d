import { readUIMessageStream, type UIMessageChunk } from 'ai';
import { defineTool } from '../../src/web/contract/define-tool.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { Gate } from '../fixtures/tools/gate.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { AssistantClient, calling, callsOf, ofType, textOf } from '../support/assistant.js';
import type { Json } from '../support/json.js';
import { type LlmServer, refuse, startLlmServer, streamed } from '../support/llm-endpoint.js';
import { until } from '../support/wait.js';

// real: the whole server twice on one database, HTTP, tools' processes, the requests to the model; scripted: its answers

const reads = { readOnly: true, idempotent: true, destructive: false, openWorld: false };
const writes = { readOnly: false, idempotent: false, destructive: true, openWorld: false };
let tk: TestApp;
let other: TestApp;
let llm: LlmServer;
let gate: Gate;
let me: AssistantClient;
let elsewhere: AssistantClient;

beforeAll(async () => {
  llm = await startLlmServer();
  gate = new Gate();
  const model = { LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1', LLM_API_KEY: 'sk-secret' };
  tk = await startApp(model);
  other = await startApp({ ...model, DATABASE_URL: tk.db.url, ADMIN_API_KEY: tk.key.authorization.slice(7) });
  await tk.register('reader', { annotations: reads });
  await tk.register('writer', { annotations: writes, keepAlive: true, ...gate.access });
  const isThere = async () => (await other.http.get('/api/v1/tools/writer')).status === 200;
  await until(isThere, { what: 'the tool at the other replica' });
  me = new AssistantClient(tk.url, tk.key);
  elsewhere = new AssistantClient(other.url, tk.key);
});
beforeEach(() => {
  llm.asked.length = 0;
});
afterAll(async () => {
  gate.close();
  await other.close();
  await tk.close();
  await llm.close();
});

/** Answers the first question of a turn with the call, and the second with what came of it. */
const script = (first: unknown, then: unknown = 'Done.'): void => {
  llm.answer = ({ body }) => (body.messages.at(-1).role === 'tool' ? then : first);
};
const rows = async (tool: string): Promise<Json[]> =>
  (await tk.http.get(`/api/v1/tool-metrics/executions?tool=${tool}&limit=100`).expect(200)).body.data;

it('streams a turn as the AI SDK reads it: text, a call with its outcome, text', async () => {
  script(calling('reader', { action: 'echo', text: 'hello' }), 'It says hello.');
  const id = await me.newChat();
  const chunks = await me.say(id, 'What does the reader say?', { page: { screen: 'trace', trace: 'abc' } });
  expect(chunks.map(({ type }) => type)).toEqual(
    expect.arrayContaining([
      'start',
      'start-step',
      'tool-input-available',
      'tool-output-available',
      'finish',
    ]),
  );
  const stream = ReadableStream.from(chunks as UIMessageChunk[]);
  let message: Json;
  for await (const each of readUIMessageStream({ stream, terminateOnError: true })) message = each;
  expect(message.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'dynamic-tool', toolName: 'reader', output: { status: 'success', result: { text: 'hello' } } },
    { type: 'step-start' },
    { type: 'text', text: 'It says hello.' },
  ]);
  const chat = await me.get(id);
  expect(chat).toMatchObject({
    state: 'idle',
    title: 'What does the reader say?',
    usage: { steps: 2, calls: 1 },
  });
  expect(chat.usage).toMatchObject({ inputTokens: 200, outputTokens: 40, cost: expect.any(Number) });
  expect(chat.messages[1].parts).toEqual(
    message.parts.map((part: Json) => expect.objectContaining({ type: part.type })),
  );
  const [{ body, headers }] = llm.asked as [Json];
  expect(headers.authorization).toBe('Bearer sk-secret');
  expect(body.tools.map((tool: Json) => tool.function.name)).toContain('find_tools');
  const boundary = /<data-(\w+) …>/.exec(body.messages[0].content)?.[1] ?? 'none';
  expect(body.messages[1].content).toContain(
    `<data-${boundary} source="page">\n{"screen":"trace","trace":"abc"}\n`,
  );
  const [row] = await rows('reader');
  expect(row).toMatchObject({ investigationId: `assistant-${id}`, status: 'success' });
  expect(callsOf({ messages: [{ parts: message.parts }] })[0].output.executionId).toBe(row?.metricId);
  const spent = await tk.http.get(`/api/v1/investigations/assistant-${id}`).expect(200);
  expect(spent.body.tools).toMatchObject([{ tool: 'reader', used: 1 }]);
});

describe('a call that writes', () => {
  it('runs once it is approved, and only as it was shown', async () => {
    script(calling('writer', { action: 'echo', text: 'x' }), 'Written.');
    const id = await me.newChat();
    const before = (await rows('writer')).length;
    const asked = await me.say(id, 'Write x');
    const [{ approvalId, toolCallId }] = ofType(asked, 'tool-approval-request') as [Json];
    expect(asked.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { state: 'waiting' } });
    expect(await me.get(id)).toMatchObject({ state: 'waiting' });
    const path = `/${id}/approvals/${toolCallId}`;
    expect((await me.ask('POST', path, { approve: true, approvalId: 'other' })).status).toBe(409);
    expect((await me.ask('POST', `/${id}/approvals/t001s0199`, { approve: true })).status).toBe(404);
    expect(await rows('writer')).toHaveLength(before);
    const chunks = await elsewhere.chunks('POST', path, { approve: true, approvalId });
    expect(ofType(chunks, 'tool-output-available')[0]?.output).toMatchObject({ status: 'success' });
    expect(textOf(chunks)).toBe('Written.');
    expect((await me.ask('POST', path, { approve: true })).status).toBe(404);
    await until(async () => (await rows('writer')).length > before, {
      what: 'the record of the other replica',
    });
    expect(await rows('writer')).toHaveLength(before + 1);
  });

  it('is not run if the person declines, or goes on with something else', async () => {
    script(calling('writer'), 'I leave it.');
    const id = await me.newChat();
    const before = (await rows('writer')).length;
    const [{ toolCallId }] = ofType(await me.say(id, 'Write'), 'tool-approval-request') as [Json];
    const declined = await me.chunks('POST', `/${id}/approvals/${toolCallId}`, { approve: false });
    expect(ofType(declined, 'tool-output-denied')).toHaveLength(1);
    expect(llm.asked.at(-1)?.body.messages.at(-1).content).toMatch(/^approval_required: .*not run/);
    await me.say(id, 'Write again');
    llm.answer = () => 'Fine.';
    await me.say(id, 'Never mind');
    expect(callsOf({ messages: [(await me.get(id)).messages[3]] })).toMatchObject([
      { state: 'output-denied' },
    ]);
    expect(await rows('writer')).toHaveLength(before);
  });

  it('waits beside calls that read, and two are decided one by one', async () => {
    const calls = ['reader', 'writer', 'writer'].map((name) => calling(name).tool_calls[0]);
    script({ tool_calls: calls }, 'Both.');
    const id = await me.newChat();
    const first = await me.say(id, 'Do all');
    const requests = ofType(first, 'tool-approval-request');
    expect([requests.length, ofType(first, 'tool-output-available').length]).toEqual([2, 1]);
    const decide = ({ toolCallId }: Json, approve: boolean) =>
      me.chunks('POST', `/${id}/approvals/${toolCallId}`, { approve });
    expect((await decide(requests[0], true)).at(-1)).toMatchObject({ messageMetadata: { state: 'waiting' } });
    expect(textOf(await decide(requests[1], false))).toBe('Both.');
    expect(callsOf(await me.get(id)).map(({ state }) => state)).toEqual([
      'output-available',
      'output-available',
      'output-denied',
    ]);
  });
});

describe('calls of one answer', () => {
  const order: string[] = [];
  beforeAll(() => {
    const registry = tk.app.get(ToolRegistry);
    const run = (name: string) => async () => {
      order.push(name);
      // A faster call would end first, if it had begun.
      await new Promise((resolve) => setTimeout(resolve, name === 'first' ? 50 : 0));
      order.push(`${name} ended`);
    };
    for (const name of ['first', 'second'])
      registry.register(
        defineTool({ name, description: name, input: {}, annotations: reads, run: run(name) }),
      );
  });
  beforeEach(() => {
    order.length = 0;
  });
  const answer = (...names: string[]) => ({
    tool_calls: names.map((name, at) => calling(name, {}, `c${at}`).tool_calls[0]),
  });

  it('run as they were written, and none after one that waits until that was decided', async () => {
    script(answer('first', 'second', 'writer', 'first'), 'Done.');
    const id = await me.newChat();
    const [{ toolCallId }] = ofType(await me.say(id, 'Go'), 'tool-approval-request') as [Json];
    expect(order).toEqual(['first', 'first ended', 'second', 'second ended']);
    const chunks = await me.chunks('POST', `/${id}/approvals/${toolCallId}`, { approve: true });
    expect(textOf(chunks)).toBe('Done.');
    expect(order.slice(4)).toEqual(['first', 'first ended']);
  });

  it('are told as not run if the person goes on with something else', async () => {
    script(answer('writer', 'first'), 'Fine.');
    const id = await me.newChat();
    await me.say(id, 'Go');
    llm.answer = () => 'Fine.';
    await me.say(id, 'Never mind');
    expect(callsOf({ messages: [(await me.get(id)).messages[1]] })).toMatchObject([
      { state: 'output-denied' },
      { state: 'output-denied' },
    ]);
    expect(order).toEqual([]);
  });

  it('run as soon as those before them are decided', async () => {
    script(answer('writer', 'writer'), 'Both.');
    const id = await me.newChat();
    const requests = ofType(await me.say(id, 'Go'), 'tool-approval-request');
    const decide = (at: number) =>
      me.chunks('POST', `/${id}/approvals/${requests[at]?.toolCallId}`, { approve: true });
    expect(ofType(await decide(1), 'tool-output-available')).toEqual([]);
    expect(ofType(await decide(0), 'tool-output-available')).toHaveLength(2);
  });
});

it('asks nobody about a call that cannot run', async () => {
  const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const run = jest.fn(async () => 'noted');
  tk.app.get(ToolRegistry).register(defineTool({ name: 'note', description: 'Note', input, run }));
  script(calling('note', { txt: 1 }), 'I see.');
  const id = await me.newChat();
  const chunks = await me.say(id, 'Note it');
  expect(ofType(chunks, 'tool-approval-request')).toEqual([]);
  expect(ofType(chunks, 'tool-output-error')[0]?.errorText).toMatch(
    /^invalid_input: input\/text is required/,
  );
  expect(textOf(chunks)).toBe('I see.');
  expect(run).not.toHaveBeenCalled();
});

it('counts what was spent on an answer that was stopped', async () => {
  const asked = Promise.withResolvers<void>();
  llm.answer = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const id = await me.newChat();
  const turn = me.say(id, 'Think');
  await asked.promise;
  await me.ask('POST', `/${id}/stop`);
  await turn;
  expect((await me.get(id)).usage.inputTokens).toBeGreaterThan(100);
});

it.each<[how: string, answer: LlmServer['answer'], said: RegExp]>([
  ['before it answers', (_, response) => void response.destroy(), /other side closed/],
  [
    'after its headers',
    (_, response) => {
      response.setHeader('content-type', 'text/event-stream').flushHeaders();
      response.socket?.resetAndDestroy();
    },
    /./,
  ],
  [
    'in its text',
    (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(streamed({ content: 'Begun' }), () => response.destroy());
    },
    /./,
  ],
  ['with an error', (_, response) => refuse(response, 500, 'boom'), /^The model gave no answer: [^A]*boom/],
])('says that the endpoint broke off %s', async (_, answer, said) => {
  llm.answer = answer;
  const id = await me.newChat();
  const [error] = ofType(await me.say(id, 'Hello'), 'error');
  expect(error?.errorText).toMatch(/^The model gave no answer: /);
  expect(error?.errorText).toMatch(said);
});

describe('a turn', () => {
  it('goes on when its reader leaves, and is followed again here and at another replica', async () => {
    const more = Promise.withResolvers<void>();
    llm.answer = async (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(streamed({ content: 'Begun' }));
      await more.promise;
      response.end(`${streamed({ content: ', ended.' }, { finish_reason: 'stop' })}data: [DONE]\n\n`);
    };
    const id = await me.newChat();
    const leaving = new AbortController();
    for await (const chunk of me.stream('POST', `/${id}/turns`, { message: 'Go' }, leaving.signal))
      if (chunk.type === 'text-delta') break;
    leaving.abort();
    expect((await me.ask('POST', `/${id}/turns`, { message: 'And?' })).body).toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('turn_running'),
    });
    const [here, there] = [me.chunks('GET', `/${id}/stream`), elsewhere.chunks('GET', `/${id}/stream`)];
    await until(async () => (await elsewhere.get(id)).messages.at(-1).parts.length > 1, { what: 'the text' });
    more.resolve();
    expect([textOf(await here), textOf(await there)]).toEqual(['Begun, ended.', 'Begun, ended.']);
    expect((await me.ask('GET', `/${id}/stream`)).status).toBe(204);
  });

  it('is stopped, also from another replica; a retry goes on and runs no call twice', async () => {
    script(calling('writer', gate.input('stopped')), 'Done.');
    const id = await me.newChat();
    const [{ toolCallId }] = ofType(await me.say(id, 'Write'), 'tool-approval-request') as [Json];
    const before = (await rows('writer')).length;
    const turn = me.chunks('POST', `/${id}/approvals/${toolCallId}`, { approve: true });
    await gate.running('stopped');
    expect((await elsewhere.ask('POST', `/${id}/stop`)).body).toMatchObject({ state: 'stopped' });
    expect((await turn).map(({ type }) => type)).toContain('abort');
    expect(callsOf(await me.get(id))).toMatchObject([{ state: 'approval-responded' }]);
    await gate.open('stopped');
    const chunks = await elsewhere.chunks('POST', `/${id}/retry`);
    expect(ofType(chunks, 'tool-output-available')[0]?.output).toMatchObject({ status: 'success' });
    expect(textOf(chunks)).toBe('Done.');
    expect(await rows('writer')).toHaveLength(before + 1);
    expect((await me.ask('POST', `/${id}/retry`)).body.code).toBe('conflict');
  });

  it('says why the model gave no answer, and is retried', async () => {
    llm.answer = (_, response) => refuse(response, 400, 'no such model');
    const id = await me.newChat();
    const [error] = ofType(await me.say(id, 'Hello'), 'error');
    expect(error?.errorText).toContain('no such model');
    llm.answer = () => 'Hello.';
    expect(textOf(await me.chunks('POST', `/${id}/retry`))).toBe('Hello.');
    expect((await me.get(id)).messages).toHaveLength(2);
  });

  it('ends after 20 steps, and a chat at its budget of tokens', async () => {
    llm.answer = () => calling('reader');
    const id = await me.newChat();
    expect(ofType(await me.say(id, 'Loop'), 'error')[0]?.errorText).toContain('20 steps');
    expect(await me.get(id)).toMatchObject({ state: 'failed', usage: { steps: 20, calls: 20 } });
    expect(llm.asked).toHaveLength(20);
    const spent = callsOf(await me.get(id)).filter(({ errorText = '' }) =>
      errorText.includes('budget_spent'),
    );
    expect(spent).toHaveLength(10);
    await tk.db.dataSource.query(
      `UPDATE assistant_chats SET usage = '{"steps":1,"calls":0,"inputTokens":999999,"outputTokens":1,"cost":0}' WHERE id = $1`,
      [id],
    );
    expect(ofType(await me.say(id, 'More'), 'error')[0]?.errorText).toMatch(
      /1000000 tokens.*ASSISTANT_MAX_TOKENS/,
    );
  });

  it('reads arguments that are no JSON, and an unknown tool, as answers for the model', async () => {
    const broken = { id: 'a', type: 'function', function: { name: 'reader', arguments: '{"a": ' } };
    script({ tool_calls: [broken, calling('no_such_tool', {}, 'b').tool_calls[0]] }, 'Sorry.');
    const id = await me.newChat();
    expect(textOf(await me.say(id, 'Try'))).toBe('Sorry.');
    expect(callsOf(await me.get(id)).map(({ errorText }) => errorText)).toEqual([
      expect.stringMatching(/^not run: /),
      expect.stringMatching(/^tool_not_found: /),
    ]);
  });
});

it('takes a message back with all that followed, and says another in its place', async () => {
  llm.answer = ({ body }) => `Heard ${body.messages.length}`;
  const id = await me.newChat();
  for (const message of ['One', 'Two']) await me.say(id, message);
  const [, , two] = (await me.get(id)).messages;
  await me.say(id, 'Three', { insteadOf: two.id });
  const heard = llm.asked.at(-1)?.body.messages.map(({ content }: Json) => content);
  expect(heard.slice(1)).toEqual(['One', 'Heard 2', 'Three']);
  expect((await me.get(id)).messages).toHaveLength(4);
  expect((await me.ask('POST', `/${id}/turns`, { message: 'x', insteadOf: two.id })).body.code).toBe(
    'invalid_request',
  );
});

it('offers at most 40 tools, and those that find_tools found', async () => {
  const registry = tk.app.get(ToolRegistry);
  for (let n = 0; n < 45; n++)
    registry.register(
      defineTool({
        name: `spare_${n}`,
        description: `Spare number ${n}`,
        input: {},
        annotations: reads,
        run: async () => n,
      }),
    );
  script(calling('find_tools', { query: 'spare_44', limit: 3 }));
  const id = await me.newChat();
  await me.say(id, 'xyz');
  const offered = llm.asked.map(({ body }) => body.tools.map((tool: Json) => tool.function.name) as string[]);
  expect(offered[0]).toContain('find_tools');
  expect(offered[0]).not.toContain('spare_44');
  expect(offered[1]).toContain('spare_44');
  expect(Math.max(...offered.map(({ length }) => length))).toBeLessThanOrEqual(40);
});

it('keeps the chats of two keys apart, and needs a key', async () => {
  const made = await tk.http
    .post('/api/v1/keys')
    .send({ name: 'b', scopes: ['tools:call'], tools: ['reader'] });
  const them = new AssistantClient(tk.url, bearer(made.body.key));
  const id = await me.newChat();
  const places = [`/${id}`, `/${id}/stream`] as const;
  for (const place of places) expect((await them.ask('GET', place)).status).toBe(404);
  for (const act of ['turns', 'retry', 'stop', 'rewind', 'approvals/t001s0101']) {
    const body = {
      turns: { message: 'x' },
      rewind: { messageId: id },
      'approvals/t001s0101': { approve: true },
    };
    expect((await them.ask('POST', `/${id}/${act}`, body[act as keyof typeof body])).status).toBe(404);
  }
  expect((await them.ask('DELETE', `/${id}`)).status).toBe(404);
  expect((await them.ask('GET')).body.data).toEqual([]);
  script(calling('writer'));
  const own = await them.newChat();
  await them.say(own, 'Write');
  expect(llm.asked[0]?.body.tools.map((tool: Json) => tool.function.name)).toEqual(['reader']);
  expect(callsOf(await them.get(own))[0]).toMatchObject({
    state: 'output-error',
    errorText: expect.stringMatching(/^forbidden: .*writer/),
  });
  await tk.anonymous.get('/api/v1/assistant/chats').expect(401);
  expect((await me.ask('DELETE', `/${id}`)).status).toBe(204);
  expect((await me.ask('GET', `/${id}`)).status).toBe(404);
});

it('counts the tokens of analyze_with_llm', async () => {
  const start = Date.now() * 1_000 - 5_000_000;
  const times = { start_time_us: start, finish_time_us: start + 1_000_000 };
  const [trace, span] = ['7bba9f33312b3dbb8b2c2c62bb7abe2d', '086e83747d0e381e'];
  const sent = {
    ...times,
    trace_id: trace,
    span_id: span,
    operation_name: 'plan',
    attribute: { output: 'x' },
  };
  await tk.http.post('/api/v1/spans').send([sent]).expect(200);
  const isThere = async () => (await tk.http.get(`/api/v1/spans?trace_ids=${trace}`)).body.data.length > 0;
  await until(isThere, { what: 'the span' });
  const judged = { overall_assessment: 'fine', span_analyses: [], correlations: [], recommendations: [] };
  llm.answer = ({ body }) => {
    if (!body.stream) return judged;
    return body.messages.at(-1).role === 'tool' ? 'Done.' : calling('analyze_with_llm', { spanIds: [span] });
  };
  const id = await me.newChat();
  expect(textOf(await me.say(id, 'Judge it'))).toBe('Done.');
  // Two steps, and one question of the tool's own.
  expect((await me.get(id)).usage).toMatchObject({ steps: 2, inputTokens: 300, outputTokens: 60 });
});
