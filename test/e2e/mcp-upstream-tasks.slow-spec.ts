import { startApp, type TestApp } from '../support/app.js';
import { McpModernServer } from '../support/mcp-modern-server.js';
import { McpTaskServer } from '../support/mcp-task-server.js';
import { until } from '../support/wait.js';

// real: the whole server, a server of the official SDK with tasks, HTTP; mock: the extension of 2026-07-28, which no SDK serves

let tk: TestApp;
let tasks: McpTaskServer;
let modern: McpModernServer;
beforeAll(async () => {
  tk = await startApp({}, { circuit: { openMs: 600_000 } });
  tasks = await McpTaskServer.start();
  modern = await McpModernServer.start();
  for (const [name, { site }] of Object.entries({ tasks, modern }))
    await tk.http.post('/api/v1/custom-tools').send({ name, protocol: 'mcp', url: site.url }).expect(201);
});
afterAll(async () => {
  await tk.close();
  await tasks.stop();
  await modern.stop();
});

const call = async (tool: string, input: object = {}) => (await tk.call(tool, input).expect(200)).body;

/** A call whose caller leaves as soon as something has come true. */
async function leave(tool: string, when: () => Promise<boolean> | boolean): Promise<void> {
  const controller = new AbortController();
  const left = fetch(`${tk.url}/api/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { ...tk.key, 'content-type': 'application/json' },
    body: JSON.stringify({ input: {} }),
    signal: controller.signal,
  });
  await until(when, { timeoutMs: 10_000, what: 'the task' });
  controller.abort();
  await expect(left).rejects.toThrow();
}

describe('a tool of 2025-11-25 that runs as a task alone', () => {
  it.each([1, 200])('is polled for the caller: %i ms', async (ms) => {
    expect(await call('tasks__work', { ms, text: `${ms}` })).toMatchObject({
      status: 'success',
      result: { content: [{ type: 'text', text: `${ms}` }] },
    });
  });

  it('serves many callers at once, each with its own result', async () => {
    const texts = Array.from({ length: 20 }, (_, at) => `t${at}`);
    const answers = await Promise.all(texts.map((text, at) => call('tasks__work', { text, ms: at * 7 })));
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(texts);
  });

  it('fails as its task does', async () => {
    expect(await call('tasks__fail', { text: 'no luck' })).toMatchObject({
      status: 'error',
      error: { type: 'tool_error', message: 'no luck' },
    });
  });

  it('is cancelled when its caller leaves, and the next call is served', async () => {
    await leave('tasks__endless', async () => (await tasks.lastStatus()) === 'working');
    await until(async () => (await tasks.lastStatus()) === 'cancelled', {
      timeoutMs: 10_000,
      what: 'its end',
    });
    expect(await call('tasks__work')).toMatchObject({ status: 'success' });
  });
});

describe('a server of 2026-07-28 that answers with a task', () => {
  const reads: [string, object, object][] = [
    [
      'completed',
      { status: 'completed', result: { content: [{ type: 'text', text: 'ok' }] } },
      { status: 'success' },
    ],
    [
      'completed with an error of the tool',
      { status: 'completed', result: { isError: true, content: [{ type: 'text', text: 'bad' }] } },
      { status: 'error', error: { message: 'bad' } },
    ],
    [
      'failed',
      { status: 'failed', error: { code: -32602, message: 'wrong' } },
      { status: 'error', error: { code: -32602, message: 'wrong' } },
    ],
    [
      'cancelled',
      { status: 'cancelled' },
      { status: 'error', error: { message: 'Its task ended as cancelled' } },
    ],
  ];
  it.each(reads)('that is %s, hands the outcome back', async (_what, last, expected) => {
    let polls = 0;
    modern.instead = ({ id, method }, response) => {
      if (!['tools/call', 'tasks/get'].includes(method ?? '')) return false;
      const { headers, body } = modern.site.seen.at(-1) ?? {};
      expect(headers?.['mcp-name']).toBe(method === 'tools/call' ? 'echo' : 't1');
      expect(body).toContain('"extensions":{"io.modelcontextprotocol/tasks":{}}');
      const working = { taskId: 't1', status: 'working', ttlMs: null, pollIntervalMs: 60 };
      const state = method === 'tools/call' || polls++ < 2 ? working : { ...working, ...last };
      const result = { resultType: method === 'tools/call' ? 'task' : 'complete', ...state };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    };
    expect(await call('modern__echo')).toMatchObject(expected);
    expect(polls).toBe(3);
  });

  it('that asks, is told the answers, and ends', async () => {
    const asks = { how: { method: 'elicitation/create', params: { message: 'How?' } } };
    let told: unknown;
    modern.instead = ({ id, method }, response) => {
      if (!['tools/call', 'tasks/get', 'tasks/update'].includes(method ?? '')) return false;
      const task = { taskId: 't3', ttlMs: null, pollIntervalMs: 60 };
      if (method === 'tasks/update') told = JSON.parse(modern.site.seen.at(-1)?.body ?? '').params;
      const states = {
        'tools/call': { resultType: 'task', ...task, status: 'working' },
        'tasks/update': { resultType: 'complete' },
        'tasks/get': told
          ? { ...task, status: 'completed', result: { content: [{ type: 'text', text: 'so' }] } }
          : { ...task, status: 'input_required', inputRequests: asks },
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: states[method as keyof typeof states] }));
      return true;
    };
    const execute = (more: object) =>
      tk.http
        .post('/api/v1/tools/modern__echo/execute')
        .send({ input: {}, elicitation: { form: {} }, ...more });
    const { body: asked } = await execute({}).expect(202);
    expect(asked).toMatchObject({ status: 'input_required', inputRequests: asks });
    const inputResponses = { how: { action: 'accept', content: { way: 'so' } } };
    const { body } = await execute({ requestState: asked.requestState, inputResponses }).expect(200);
    expect(body).toMatchObject({ status: 'success', result: { content: [{ text: 'so' }] } });
    expect(told).toMatchObject({ taskId: 't3', inputResponses });
  });

  it('is told when the caller leaves', async () => {
    modern.instead = ({ id, method }, response) => {
      if (!['tools/call', 'tasks/get', 'tasks/cancel'].includes(method ?? '')) return false;
      const task = { taskId: 't2', status: 'working', ttlMs: null, pollIntervalMs: 60 };
      const result =
        method === 'tools/call' ? { resultType: 'task', ...task } : { resultType: 'complete', ...task };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    };
    modern.heard.length = 0;
    await leave('modern__echo', () => modern.heard.filter((method) => method === 'tasks/get').length > 2);
    await until(() => modern.heard.includes('tasks/cancel'), { timeoutMs: 10_000, what: 'its cancellation' });
  });
});
