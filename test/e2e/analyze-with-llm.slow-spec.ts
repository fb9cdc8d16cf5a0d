import { Cancellation } from '../../src/base/common/cancellation.js';
import { analyzeWithLlmTool } from '../../src/agents/trace-tools/analysis/analyze-with-llm.tool.js';
import { SpanIngest } from '../../src/records/spans/ingest/span-ingest.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type Heard, model, nextStep } from '../support/investigation.js';
import { type LlmServer, refuse, startLlmServer } from '../support/llm-endpoint.js';
import { exportRun, ordersFound, wentWrong } from '../support/planted-run.js';

// Real: the whole server, HTTP, PostgreSQL, the ingest of spans. Scripted: a model that answers only from what it reads.

let tk: TestApp;
let llm: LlmServer;

beforeAll(async () => {
  llm = await startLlmServer(model);
  tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'judge-1' });
  await tk.register('inventory', { keepAlive: true, semanticErrors: 'mark' });
  await tk.register('modest', { keepAlive: true });
});
beforeEach(() => {
  llm.asked.length = 0;
  llm.answer = model;
});
afterAll(async () => {
  await tk.close();
  await llm.close();
});

let traces = 0;

/** Sends a span for each output, and gives their ids. */
async function sent(outputs: readonly string[], attributes: Json = {}): Promise<string[]> {
  const trace_id = `trace-${++traces}`;
  const start = Date.now() * 1_000;
  const spans = outputs.map((output, n) => ({
    trace_id,
    span_id: `${trace_id}-${n}`,
    thread_id: 'thread-7',
    operation_name: 'tool_call',
    start_time_us: start + n * 1_000,
    finish_time_us: start + n * 1_000 + 500,
    attribute: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'inventory',
      'gen_ai.tool.call.result': output,
      ...attributes,
    },
  }));
  await tk.http.post('/api/v1/spans').send({ spans }).expect(200);
  await tk.app.get(SpanIngest).flush();
  return spans.map(({ span_id: id }) => id);
}

const analyse = async (input: Json): Promise<Json> =>
  (await tk.call('analyze_with_llm', input, { threadId: 'thread-7' }).expect(200)).body;

/** Asks what went wrong in a thread, as an agent would whose model calls tools. */
async function investigate(thread: string): Promise<{ tools: string[]; concluded: string }> {
  const heard: Heard[] = [];
  for (;;) {
    const next = nextStep(`What went wrong in thread "${thread}"?`, heard);
    if (typeof next === 'string') return { tools: heard.map(({ tool }) => tool), concluded: next };
    const { body } = await tk.call(next.tool, next.input, { threadId: thread }).expect(200);
    heard.push({ ...next, answer: body.result });
  }
}

it('an investigation finds what was planted in a run, and nothing once it is gone', async () => {
  await tk.register('find_orders', { keepAlive: true, semanticErrors: 'mark' });
  const healthAfter = async (thread: string, isPlanted: boolean) => {
    const { body } = await tk.call('find_orders', ordersFound(isPlanted)).expect(200);
    await exportRun(tk, { thread, isPlanted, executionId: body.executionId });
    await tk.app.get(SpanIngest).flush();
    const { tools, concluded } = await investigate(thread);
    const { body: health } = await tk.http.get('/api/v1/tool-health/find_orders').expect(200);
    return { tools: [...new Set(tools)], concluded, marks: health.semanticFailures };
  };
  const tools = ['fetch_spans_summary', 'get_span_content', 'analyze_with_llm'];
  expect(await healthAfter('odd', true)).toEqual({ tools, concluded: wentWrong, marks: 1 });
  expect(llm.asked[0]?.headers).toMatchObject({ 'x-label': 'analyze_with_llm', 'x-thread-id': 'odd' });
  expect(await healthAfter('sound', false)).toEqual({ tools, concluded: 'Nothing went wrong.', marks: 1 });
});

it('marks the execution that a judged span tells of, where its tool says so and the span came with the key of the call', async () => {
  const nothing = { items: [], complete: true };
  const tellOf = async (tool: string): Promise<string> => {
    const { body } = await tk.call(tool, nothing).expect(200);
    const spanIds = await sent([JSON.stringify(nothing)], { 'toolkeeper.execution_id': body.executionId });
    await analyse({ spanIds });
    await analyse({ spanIds });
    return body.executionId;
  };
  const reason = async (id: string): Promise<unknown> =>
    (await tk.http.get(`/api/v1/tool-metrics/executions/${id}`).expect(200)).body.semanticFailure;
  expect(await reason(await tellOf('inventory'))).toBe('Silent failure: "items":[]');
  expect(await reason(await tellOf('modest'))).toBeNull();
  const { body: health } = await tk.http.get('/api/v1/tool-health/inventory').expect(200);
  expect(health).toMatchObject({ totalCalls: 1, semanticFailures: 1 });
  // Somebody without a key tells of a keyed call.
  const { body: call } = await tk.call('inventory', {}).expect(200);
  const { http } = tk;
  Object.assign(tk, { http: tk.anonymous });
  const spanIds = await sent([JSON.stringify(nothing)], { 'toolkeeper.execution_id': call.executionId });
  Object.assign(tk, { http });
  await analyse({ spanIds });
  expect(await reason(call.executionId)).toBeNull();
});

it('judges the spans that are there, and names the others', async () => {
  const [id] = await sent(['well']);
  expect((await analyse({ spanIds: `${id}, nowhere` })).result).toMatchObject({
    success: true,
    spans_analyzed: 1,
    not_found: ['nowhere'],
    analysis: { issue_count: { high: 0, medium: 0, low: 0 }, span_analyses: [] },
  });
});

it.each([
  [{}, 'spanIds is required'],
  [{ spanIds: [] }, 'spanIds is required'],
  [
    { spanIds: Array.from({ length: 16 }, (_, n) => `s${n}`) },
    'Maximum 15 spans can be analyzed at once. Please reduce the number of span_ids.',
  ],
  [{ spanIds: ['nowhere'] }, 'None of these spans is there: nowhere'],
])('says what is wrong with %j, which is no fault of the tool', async (input, error) => {
  expect(await analyse(input)).toMatchObject({
    error: { code: -32602, message: error },
    result: { success: false, error },
  });
  expect(llm.asked).toEqual([]);
});

it('says what the model answered instead', async () => {
  const spanIds = await sent(['x']);
  llm.answer = (_, response) => refuse(response, 401, 'Incorrect API key provided');
  const { error, result } = await analyse({ spanIds });
  expect(error).toMatchObject({
    type: 'upstream_unavailable',
    message: expect.stringContaining('Incorrect API key provided'),
  });
  expect(result).toEqual({ success: false, error: error.message });
});

it('reads no spans of another project, and none for a key that may not', async () => {
  const spanIds = await sent(['x']);
  const elsewhere = await analyse({ spanIds, projectId: 'elsewhere' });
  expect(elsewhere.error.message).toMatch(/^None of these spans is there/);
  const key = { name: 'caller', scopes: ['tools:call'] };
  const { body } = await tk.http.post('/api/v1/keys').send(key).expect(201);
  const refused = await tk.anonymous
    .post('/api/v1/tools/analyze_with_llm/execute')
    .set('authorization', `Bearer ${body.key}`)
    .send({ input: { spanIds } });
  expect([refused.status, refused.body.detail]).toEqual([
    403,
    'analyze_with_llm needs the scope traces:read',
  ]);
});

it('says in one sentence that there is no model', async () => {
  const tool = analyzeWithLlmTool({
    analyst: undefined,
    reads: tk.app.get(TraceReads),
    onAnalysed: async () => undefined,
  });
  const run = {
    context: { projectId: 'default' },
    principal: { userId: 'u', scopes: new Set(['traces:read']) },
    deadline: { totalMs: 1_000, remainingMs: () => 1_000 },
    cancellation: new Cancellation(),
  };
  await expect(tool.run({ spanIds: ['s'] }, run as never)).rejects.toMatchObject({
    type: 'upstream_unavailable',
    message: expect.stringMatching(/^No language model is configured: set LLM_BASE_URL and LLM_MODEL/),
  });
});
