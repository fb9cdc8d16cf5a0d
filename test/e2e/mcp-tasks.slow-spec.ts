import { startApp, type TestApp } from '../support/app.js';
import { bearer } from '../support/admin-key.js';
import type { Json } from '../support/json.js';
import { postForEvents } from '../support/sse.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, PostgreSQL, the tools' processes; mock: nothing

const extension = 'io.modelcontextprotocol/tasks';
const declared = { extensions: { [extension]: {} } };
const metaOf = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
  // Calls of it may take longer than clients wait.
  await tk.register('slow', { timeoutMs: 120_000, poolSize: 4 });
  await tk.register('quick');
});
afterAll(() => tk.close());

interface Options {
  readonly capabilities?: object;
  readonly headers?: Record<string, string>;
  readonly meta?: object;
}

async function ask(method: string, params: Json = {}, options: Options = {}): Promise<Json> {
  const { capabilities = declared, headers = {}, meta = {} } = options;
  const name: string | undefined = params.taskId ?? params.name;
  const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...tk.key };
  const answer = await tk.anonymous
    .post('/mcp')
    .set({ ...own, ...(name !== undefined && { 'mcp-name': name }), ...headers })
    .set('accept', 'application/json, text/event-stream')
    .send({
      jsonrpc: '2.0',
      id: 7,
      method,
      params: { ...params, _meta: { ...metaOf(capabilities), ...meta } },
    });
  return { status: answer.status, ...answer.body };
}
const call = (name: string, input: object, options?: Options): Promise<Json> =>
  ask('tools/call', { name, arguments: input }, options);
const sleep = (ms: number): Promise<Json> => call('slow', { action: 'sleep', ms });
const endOf = (taskId: string): Promise<Json> =>
  until(
    async () => {
      const { result } = await ask('tasks/get', { taskId });
      return result.status !== 'working' && result;
    },
    { what: 'the end of the task' },
  );

describe('a call by a client that declares tasks', () => {
  it('is a task once it takes longer than a moment, with its result at the end', async () => {
    expect((await ask('server/discover')).result.capabilities.extensions).toHaveProperty([extension]);
    const { result: created } = await sleep(700);
    expect(created).toMatchObject({
      resultType: 'task',
      taskId: expect.any(String),
      status: 'working',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttlMs: 86_400_000,
      pollIntervalMs: expect.any(Number),
    });
    expect((await ask('tasks/get', { taskId: created.taskId })).result).toMatchObject({
      resultType: 'complete',
      taskId: created.taskId,
      status: 'working',
    });
    expect(await endOf(created.taskId)).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text' }], structuredContent: { slept: 700 } },
    });
    const execution = await tk.http.get(`/api/v1/executions/${created.taskId}`).expect(200);
    expect(execution.body).toMatchObject({ id: created.taskId, status: 'ended' });
  });

  it.each([
    ['ends at once', () => call('slow', { action: 'echo', n: 1 })],
    ['is of a tool that no client gives up on', () => call('quick', { action: 'sleep', ms: 400 })],
    [
      'is by a client that wants it within a minute',
      () => call('slow', { action: 'sleep', ms: 400 }, { meta: { 'toolkeeper/timeoutMs': 50_000 } }),
    ],
    [
      'is by a client without the extension',
      () => call('slow', { action: 'sleep', ms: 400 }, { capabilities: {} }),
    ],
  ])('is answered with its result if it %s', async (_what, asked) => {
    expect((await asked()).result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
  });

  it('fails as a task only if there is no answer of the tool', async () => {
    const { result: told } = await call('slow', { action: 'error' });
    expect(told).toMatchObject({ resultType: 'complete', isError: true });
    const { result: lost } = await call('slow', { action: 'crash' });
    expect(lost).toMatchObject({ resultType: 'task' });
    expect(lost).not.toHaveProperty('error');
    const failed = await endOf(lost.taskId);
    expect(failed).toMatchObject({ status: 'failed', error: { code: -32603, message: expect.any(String) } });
    expect(failed).not.toHaveProperty('result');
  });

  it('is cancelled, once and again', async () => {
    const { taskId } = (await sleep(60_000)).result;
    for (let n = 0; n < 2; n++) {
      const { result } = await ask('tasks/cancel', { taskId });
      expect(Object.keys(result).sort()).toEqual(['_meta', 'resultType']);
    }
    expect((await endOf(taskId)).status).toBe('cancelled');
  });

  it('is queued once for one idempotency key', async () => {
    const once = { meta: { 'toolkeeper/idempotencyKey': 'the same' } };
    const input = { action: 'sleep', ms: 60_000 };
    const [first, second] = [await call('slow', input, once), await call('slow', input, once)];
    expect(second.result.taskId).toBe(first.result.taskId);
    await ask('tasks/cancel', { taskId: first.result.taskId });
  });
});

describe('the methods of tasks', () => {
  it.each([
    ['of no task', () => '01a224fa-02ff-7918-a0a6-7eacf597e034'],
    ['of no form', () => 'gone'],
    ['of another caller', async () => (await sleep(300)).result.taskId as string],
  ])('refuse an id %s', async (what, idOf) => {
    const made = { name: what, scopes: ['tools:call'] };
    const { body: key } = await tk.http.post('/api/v1/keys').send(made).expect(201);
    const taskId = await idOf();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await ask(method, { taskId, inputResponses: {} }, { headers: bearer(key.key) });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(taskId) });
    }
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s is for clients that declare it',
    async (method) => {
      const asked = await ask(method, { taskId: 'any', inputResponses: {} }, { capabilities: {} });
      expect(asked).toMatchObject({
        status: 400,
        error: { code: -32021, data: { requiredCapabilities: declared } },
      });
      const { error } = await ask(method, { taskId: 'any' }, { headers: { 'mcp-name': 'other' } });
      expect(error.code).toBe(-32020);
    },
  );

  it.each(['tasks/list', 'tasks/result'])('%s is of the past', async (method) => {
    expect(await ask(method, { taskId: 'any' })).toMatchObject({ status: 404, error: { code: -32601 } });
  });
});

describe('a subscription to tasks', () => {
  it('gets each change until all have ended, and nothing of tasks that are not its own', async () => {
    const { taskId } = (await sleep(900)).result;
    const params = { notifications: { taskIds: [taskId, 'gone'] }, _meta: metaOf(declared) };
    const message = { jsonrpc: '2.0', id: 's1', method: 'subscriptions/listen', params };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': message.method, ...tk.key };
    const stream = await postForEvents(`${tk.url}/mcp`, message, { headers });
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 's1' };
    expect((await stream.next())?.data).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] }, _meta },
    });
    const seen = (await stream.rest()).map(({ data }) => data);
    expect(seen.slice(0, -1).map(({ method, params: { status } }) => [method, status])).toEqual([
      ['notifications/tasks', 'working'],
      ['notifications/tasks', 'completed'],
    ]);
    expect(seen[1].params).toMatchObject({ taskId, result: { content: [{ type: 'text' }] }, _meta });
    expect(seen.at(-1)).toMatchObject({ id: 's1', result: { resultType: 'complete' } });
  });
});
