import { execFileSync } from 'node:child_process';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { defineTool } from '../../src/web/contract/define-tool.js';
import { ToolFailure } from '../../src/web/contract/tool-outcome.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { AssistantClient, calling, heardIn, ofType, textOf } from '../support/assistant.js';
import type { Json } from '../support/json.js';
import { type AskedOfLlm, type LlmServer, startLlmServer } from '../support/llm-endpoint.js';
import { until } from '../support/wait.js';

// real: the server, HTTP, PostgreSQL, its tools; scripted: a model that knows only the question, the page and what tools answered

const reads = { readOnly: true, idempotent: true, destructive: false, openWorld: false };
const [trace, span] = ['7bba9f33312b3dbb8b2c2c62bb7abe2d', '086e83747d0e381e'];
let tk: TestApp;
let llm: LlmServer;
let me: AssistantClient;
let failed: string;
let wrong: string;

beforeAll(async () => {
  llm = await startLlmServer(investigator);
  tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1', INVESTIGATION_CALLS_PER_TOOL: '0' });
  me = new AssistantClient(tk.url, tk.key);
  const registry = tk.app.get(ToolRegistry);
  const refused = new ToolFailure('tool_error', 'could not connect to orders-db: Connection refused');
  const run = { find_orders: () => Promise.reject(refused), count_orders: async () => ({ orders: [] }) };
  for (const [name, answer] of Object.entries(run))
    registry.register(defineTool({ name, description: name, input: {}, annotations: reads, run: answer }));
  await tk.call('find_orders').set({ 'x-project-id': 'shop' }).expect(200);
  for (let n = 0; n < 4; n += 1) await tk.call('find_orders', {}, { investigationId: 'inc-1' }).expect(200);
  wrong = (await tk.call('count_orders', {}, { threadId: 'talk-1' }).expect(200)).body.executionId;
  const { body } = await tk.http.get('/api/v1/tool-metrics/executions?tool=find_orders').expect(200);
  failed = body.data.find(({ investigationId }: Json) => investigationId === 'inc-1').metricId;
  await sendTrace();
  await tk.http
    .post('/api/v1/playbooks')
    .send({
      playbook_id: 'orders-db-restart',
      version: '1.0.0',
      name: 'Restart the database of orders',
      description: 'Helps when the orders database refuses connections.',
      content: { steps: [] },
    })
    .expect(201);
});
afterAll(async () => {
  await tk.close();
  await llm.close();
});

/** A trace whose run has an id of its own. */
async function sendTrace(): Promise<void> {
  const start = Date.now() * 1_000 - 5_000_000;
  const times = { start_time_us: start, finish_time_us: start + 1_000_000 };
  const of = { trace_id: trace, run_id: 'run-1', thread_id: 'talk-2' };
  const error = 'The planner gave up after 3 tries';
  await tk.http
    .post('/api/v1/spans')
    .send([{ ...of, ...times, span_id: span, operation_name: 'plan', attribute: { error } }])
    .expect(200);
  const isThere = async () => (await tk.http.get(`/api/v1/spans?trace_ids=${trace}`)).body.data.length > 0;
  await until(isThere, { what: 'the span' });
}

/** The id in the question, else that of the page; each kind of question has its first call. */
const firstCalls: readonly (readonly [RegExp, (id: string) => readonly [tool: string, input: Json]])[] = [
  [/^Mark/, (id) => ['mark_semantic_failure', { executionId: id, reason: 'It found no orders' }]],
  [/this trace/, (id) => ['fetch_spans_summary', { traceIds: [id] }]],
  [/the execution `/, (id) => ['get_execution', { executionId: id }]],
  [/the tool `/, (id) => ['get_tool_health', { tool: id }]],
  [/the span `/, (id) => ['get_span_content', { spanIds: [id] }]],
  [/the playbook `/, (id) => ['get_playbooks', { query: id.replaceAll('-', ' ') }]],
];

/** Asks find_tools for a question of no known kind, and calls what that found first. It repeats what it was told last. */
function investigator({ body }: AskedOfLlm): Json {
  const task: string = body.messages.findLast(({ role }: Json) => role === 'user').content;
  const heard = heardIn(body.messages);
  const [question = '', page = '{}'] = task.split(/\n\n<data-\w+ source="page">\n|\n<\/data/);
  const id = /`([^`]+)`/.exec(question)?.[1] ?? JSON.parse(page).params?.id;
  const known = firstCalls.find(([kind]) => kind.test(question))?.[1](id) ?? [
    'find_tools',
    { query: question },
  ];
  const found = heard.at(-1)?.answer.tools?.[0]?.name;
  const [tool, input] = found === undefined ? known : [found, {}];
  if (heard.length > 0 && found === undefined) return `I was told: ${JSON.stringify(heard.at(-1)?.answer)}`;
  const isOffered = body.tools.some((offered: Json) => offered.function.name === tool);
  return isOffered ? calling(tool, input) : `I have no tool ${tool}`;
}

/** The console's Ask buttons as they stand in its source, with an id in the place of each expression. */
const buttons = execFileSync('grep', ['-rhoE', 'AskButton question=.*', 'console/src/features'])
  .toString()
  .trim()
  .split('\n')
  .map((line) => /question=(?:"|\{`)(.*?)(?:"|`\}) ?\/>/.exec(line)?.[1]?.replaceAll('\\`', '`') ?? line);

describe('a question', () => {
  const asks: [question: RegExp, id: () => string, page: object, answer: RegExp][] = [
    [
      /this trace/,
      () => '',
      { screen: '/traces/$id', params: { id: trace } },
      /"with_errors":1|planner gave up/,
    ],
    [/the execution/, () => failed, {}, /tool_error.*orders-db: Connection refused/],
    [/the tool/, () => 'find_orders', {}, /"failingSince".*orders-db: Connection refused/],
    [/the span/, () => span, {}, /The planner gave up after 3 tries/],
    [/the playbook/, () => 'orders-db-restart', {}, /orders database refuses connections/],
  ];

  it.each(asks)('of an Ask button is answered: %s', async (kind, id, page, answer) => {
    expect(buttons).toHaveLength(asks.length);
    const template = buttons.find((text) => kind.test(text)) ?? '';
    const question = template.replace(/\$\{[^}]+\}/, id());
    expect(textOf(await me.say(await me.newChat(), question, { page }))).toMatch(answer);
  });

  it.each([
    ['Which tools are failing?', /"tool":"find_orders".*Connection refused/],
    ['Which executions failed in the last hour?', /"executions":\[\{"executionId".*tool_error/],
  ])('is answered by a tool that find_tools finds: %s', async (question, answer) => {
    expect(textOf(await me.say(await me.newChat(), question))).toMatch(answer);
  });

  it('to mark an execution waits for an approval; the mark is audited with who and when', async () => {
    const id = await me.newChat();
    const asked = await me.say(id, `Mark the execution \`${wrong}\` as wrong`);
    const [request] = ofType(asked, 'tool-approval-request');
    const marks = '/api/v1/audit?action=markSemanticFailure';
    expect((await tk.http.get(marks)).body.data).toEqual([]);
    const chunks = await me.chunks('POST', `/${id}/approvals/${request?.toolCallId}`, { approve: true });
    expect(ofType(chunks, 'tool-output-available')[0]?.output).toMatchObject({ status: 'success' });
    const { body } = await tk.http.get(marks).expect(200);
    expect(body.data).toEqual([
      expect.objectContaining({
        ...{
          action: 'markSemanticFailure',
          target: `tool-metrics/executions/${wrong}`,
          keyId: 'admin',
          project: 'default',
        },
        ...{ reason: 'It found no orders', status: 204, at: expect.any(String) },
      }),
    ]);
    const marked = await tk.call('get_execution', { executionId: wrong }).expect(200);
    expect(marked.body.result).toMatchObject({ status: 'success', markedAsWrong: 'It found no orders' });
  });
});

describe('find_executions', () => {
  const find = async (input: object): Promise<Json[]> =>
    (await tk.call('find_executions', input).expect(200)).body.result.executions;

  it.each<[filter: object, count: number]>([
    [{ tool: 'find_orders' }, 5],
    [{ tool: 'find_orders', limit: 2 }, 2],
    [{ tool: 'find_orders', status: 'failed', errorType: 'tool_error' }, 5],
    [{ tool: 'find_orders', status: 'success' }, 0],
    [{ investigationId: 'inc-1' }, 4],
    [{ threadId: 'talk-1' }, 1],
    [{ tool: 'find_orders', projectId: 'shop' }, 1],
    [{ tool: 'find_orders', since: '2999-01-01T00:00:00Z' }, 0],
  ])('with %j gives %d, the newest first and without nulls', async (filter, count) => {
    const found = await find(filter);
    expect(found).toHaveLength(count);
    expect(JSON.stringify(found)).not.toContain('null');
    const starts = found.map(({ startedAt }) => startedAt);
    expect(starts).toEqual(starts.toSorted().reverse());
  });

  it('finds those of a trace', async () => {
    const [{ traceId, executionId }] = (await find({ threadId: 'talk-1' })) as [Json];
    expect(await find({ traceId })).toMatchObject([{ executionId }]);
  });

  it.each([
    ['find_executions', { since: 'yesterday' }, /since must be a time/],
    ['get_execution', { executionId: trace }, /not found/],
    ['get_execution', {}, /executionId is required/],
  ])('%s %j says what is wrong', async (tool, input, why) => {
    const { body } = await tk.call(tool, input).expect(200);
    expect(body.result).toMatchObject({ success: false, error: expect.stringMatching(why) });
  });
});

it('a key sees and is offered only what it may use', async () => {
  const made = await tk.http.post('/api/v1/keys').send({ name: 'caller', scopes: ['tools:call'] });
  const key = bearer(made.body.key);
  const names = (body: Json): string[] => body.data.map(({ name }: Json) => name);
  const seen = names((await tk.anonymous.get('/api/v1/tools?limit=1000').set(key).expect(200)).body);
  expect(seen).toContain('find_tools');
  for (const tool of [
    'get_tool_health',
    'find_executions',
    'get_execution',
    'fetch_runs',
    'mark_semantic_failure',
  ])
    expect(seen).not.toContain(tool);
  const refused = await tk.anonymous
    .post('/api/v1/tools/get_tool_health/execute')
    .set(key)
    .send({ input: {} });
  expect(refused.body).toMatchObject({
    code: 'forbidden',
    detail: 'get_tool_health needs the scope metrics:read',
  });
});

it('a key of a project sees the executions and figures of that project alone', async () => {
  const scopes = ['tools:call', 'metrics:read'];
  const made = await tk.http.post('/api/v1/keys').send({ name: 'shop', scopes, projects: ['shop'] });
  const key = bearer(made.body.key);
  const call = async (tool: string, input: object): Promise<Json> => {
    const asked = tk.anonymous.post(`/api/v1/tools/${tool}/execute`).set(key).send({ input });
    return (await asked).body.result;
  };
  const { executions } = await call('find_executions', { tool: 'find_orders' });
  expect(executions.map(({ project }: Json) => project)).toEqual(['shop']);
  expect(await call('get_execution', { executionId: failed })).toMatchObject({ success: false });
  expect((await call('get_tool_health', { tool: 'find_orders' })).lastHour).toMatchObject({ totalCalls: 1 });
});

it('a tool that nobody registered has no health, and nobody needs attention without calls', async () => {
  const { body } = await tk.call('get_tool_health', { tool: 'no_such_tool' }).expect(200);
  expect(body.result).toMatchObject({ status: 'unknown', circuit: expect.stringMatching(/^none: /) });
  const all = (await tk.call('get_tool_health').expect(200)).body.result;
  expect(all.tools.map(({ tool }: Json) => tool)).toEqual(['find_orders']);
});
