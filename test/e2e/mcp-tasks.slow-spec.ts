import { startApp, type TestApp } from '../support/app.js';
import { bearer } from '../support/admin-key.js';
import type { Json } from '../support/json.js';
import { postForEvents } from '../support/sse.js';
import { startAskingServer } from '../support/asking-modern-server.js';
import { until } from '../support/wait.js';
import type { WebSite } from '../support/web-site.js';

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

describe('a task that asks', () => {
  let upstream: WebSite;
  beforeAll(async () => {
    upstream = await startAskingServer();
    const server = { name: 'asking', protocol: 'mcp', url: upstream.url, timeoutMs: 120_000 };
    await tk.http.post('/api/v1/custom-tools').send(server).expect(201);
  });
  afterAll(() => upstream.stop());

  const capabilities = { ...declared, elicitation: { form: {} } };
  const accept = (amount: number) => ({ action: 'accept', content: { amount } });
  const get = async (taskId: string): Promise<Json> => (await ask('tasks/get', { taskId })).result;
  const update = (taskId: string, inputResponses: object): Promise<Json> =>
    ask('tasks/update', { taskId, inputResponses });
  const begun = async (headers = {}): Promise<Json> => {
    const { result } = await call('asking__late', {}, { capabilities, headers });
    expect(result).toMatchObject({ resultType: 'task', taskId: expect.any(String) });
    return endOf(result.taskId);
  };
  const executionsOf = async (tool: string): Promise<Json[]> =>
    (await tk.http.get('/api/v1/tool-metrics/executions').query({ tool: `asking__${tool}` })).body.data;

  it('shows its questions, goes on with all answers, and is one execution that spends its budget once', async () => {
    const { taskId, ...asks } = await begun({ 'x-investigation-id': 'inv-task' });
    expect(asks).toMatchObject({ status: 'input_required', inputRequests: { first: {}, second: {} } });
    const { result } = await update(taskId, { other: accept(9) });
    expect(Object.keys(result).sort()).toEqual(['_meta', 'resultType']);
    expect(await get(taskId)).toMatchObject(asks);
    await update(taskId, { first: accept(1) });
    const left = await get(taskId);
    expect(left).toMatchObject({ status: 'input_required' });
    expect(Object.keys(left.inputRequests)).toEqual(['second']);
    await update(taskId, { first: accept(3), second: accept(2) });
    const ended = await endOf(taskId);
    expect(ended).toMatchObject({ status: 'completed' });
    expect(JSON.parse(ended.result.content[0].text)).toEqual({ first: accept(1), second: accept(2) });
    // It has ended: there is nothing to answer.
    await update(taskId, { second: accept(3) });
    expect(await get(taskId)).toEqual(ended);
    expect(await executionsOf('late')).toMatchObject([{ status: 'success' }]);
    const { body: budget } = await tk.http.get('/api/v1/investigations/inv-task').expect(200);
    expect(JSON.stringify(budget)).toContain('"used":1');
  });

  it('tells those that follow it what it asks', async () => {
    const { result } = await call('asking__late', {}, { capabilities });
    const params = { notifications: { taskIds: [result.taskId] }, _meta: metaOf(declared) };
    const message = { jsonrpc: '2.0', id: 's2', method: 'subscriptions/listen', params };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': message.method, ...tk.key };
    const stream = await postForEvents(`${tk.url}/mcp`, message, { headers });
    const told = async (): Promise<Json> => (await stream.next())?.data.params;
    let task = await told();
    while (task.status !== 'input_required') task = await told();
    expect(Object.keys(task.inputRequests)).toEqual(['first', 'second']);
    await update(result.taskId, { first: accept(1), second: accept(2) });
    const seen = (await stream.rest()).map(({ data }) => data.params?.status);
    expect(seen).toContain('completed');
  });

  it('asks within the call what it asks at once, and may go on as a task: a state is used once', async () => {
    const input = { item: 'tea' };
    const keyed = { capabilities, meta: { 'toolkeeper/idempotencyKey': 'tea' } };
    await call('asking__order', input, keyed);
    const { result: asks } = await call('asking__order', input, keyed);
    expect(asks).toMatchObject({ resultType: 'input_required', inputRequests: { how: {} } });
    expect(asks).not.toHaveProperty('taskId');
    const { requestState } = asks;
    const next = {
      name: 'asking__order',
      arguments: input,
      requestState,
      inputResponses: { how: accept(5) },
    };
    const { result } = await ask('tools/call', next, { capabilities });
    expect(JSON.parse(result.content[0].text)).toEqual({ ...input, ...accept(5), state: 'for tea' });
    const { error } = await ask('tools/call', next, { capabilities });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('used already') });
    expect(await executionsOf('order')).toMatchObject([{ status: 'success' }]);
  });

  it('that only wants to be called again ends by itself', async () => {
    const { result } = await call('asking__again', {}, { capabilities });
    const ended = result.resultType === 'task' ? (await endOf(result.taskId)).result : result;
    expect(JSON.parse(ended.content[0].text)).toBe('now');
  });

  it('is cancelled while it asks, and is recorded so at once', async () => {
    const before = await executionsOf('late');
    const { taskId } = await begun();
    await ask('tasks/cancel', { taskId });
    const [record, ...others] = await executionsOf('late');
    expect(others).toEqual(before);
    expect(record).toMatchObject({ status: 'error', errorType: 'cancelled' });
    await update(taskId, { first: accept(1), second: accept(1) });
    expect((await get(taskId)).status).toBe('cancelled');
  });

  it('fails if its client cannot be asked', async () => {
    const { result } = await call('asking__order', { item: 'tea' });
    const requiredCapabilities = { elicitation: { form: {} } };
    expect(await endOf(result.taskId)).toMatchObject({
      status: 'failed',
      error: { code: -32021, data: { error: { data: { requiredCapabilities } } } },
    });
  });

  it('takes answers over REST, too', async () => {
    const queued = await tk.http
      .post('/api/v1/tools/asking__order/execute')
      .set('prefer', 'respond-async')
      .send({ input: { item: 'tea' }, elicitation: { form: {} } })
      .expect(202);
    const place = `/api/v1/executions/${queued.body.id}`;
    const { body: asks } = await tk.http.get(`${place}?waitMs=30000`).expect(200);
    expect(asks).toMatchObject({ status: 'input_required', inputRequests: { how: expect.any(Object) } });
    await tk.http.post(`${place}/answers`).send({}).expect(400);
    await tk.http
      .post(`${place}/answers`)
      .send({ inputResponses: { how: accept(8) } })
      .expect(200);
    const { body: ended } = await tk.http.get(`${place}?waitMs=30000`).expect(200);
    expect(ended).toMatchObject({ status: 'ended', outcome: { status: 'success' } });
    expect(JSON.stringify(ended.outcome.result)).toContain('\\"amount\\":8');
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
