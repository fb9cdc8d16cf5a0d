import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type ClientCapabilities,
  type ElicitRequest,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { startAskingServer } from '../support/asking-modern-server.js';
import type { Json } from '../support/json.js';
import { mapLimit } from '../support/map-limit.js';
import { until } from '../support/wait.js';
import type { WebSite } from '../support/web-site.js';

// real: the whole server, PostgreSQL, HTTP, the official client and a server of the official library; mock: nothing

type Answer = {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
};

/** The fixture's libraries, which its sandbox must show. */
const library = join(__dirname, '..', '..', 'node_modules');

let tk: TestApp;
let upstream: WebSite;
const open: Client[] = [];

beforeAll(async () => {
  tk = await startApp({ SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}` });
  const args = [join(fixtures, 'asking-server.mjs')];
  const server = { command: 'node', args, protocol: 'mcp', timeoutMs: 3_000, poolSize: 4, maxConcurrency: 1 };
  const sandbox = { allowedPaths: [library] };
  upstream = await startAskingServer();
  await tk.http
    .post('/api/v1/custom-tools')
    .send({ name: 'new', protocol: 'mcp', url: upstream.url })
    .expect(201);
  for (const name of ['old', 'leave'])
    await tk.http
      .post('/api/v1/custom-tools')
      .send({ name, ...server, sandbox })
      .expect(201);
});
afterAll(async () => {
  await Promise.all(open.map((client) => client.close()));
  await tk.close();
  await upstream.stop();
});

/** The official client of the revisions with `initialize`. */
async function oldClient(
  answer: (asked: ElicitRequest['params']) => Answer | Promise<Answer>,
  elicitation: ClientCapabilities['elicitation'] | null = { form: {}, url: {} },
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: elicitation ? { elicitation } : {} },
  );
  if (elicitation) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params));
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', tk.url), { requestInit: { headers: tk.key } }),
  );
  open.push(client);
  return client;
}
const textOf = (result: object): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('');
const accept = (amount: number): Answer => ({ action: 'accept', content: { amount } });
const executionsOf = async (tool: string) =>
  (await tk.http.get('/api/v1/tool-metrics/executions').query({ tool }).expect(200)).body.data as {
    status: string;
    errorType: string | null;
    executionTimeMs: number;
    metadata: Record<string, unknown>;
  }[];

describe('an old client of an old server', () => {
  it('is asked by a form, and its answer reaches the tool', async () => {
    const asked: unknown[] = [];
    const client = await oldClient((params) => (asked.push(params), accept(3)));
    const result = await client.callTool({ name: 'old__order', arguments: { item: 'tea' } });
    expect(JSON.parse(textOf(result))).toEqual({ item: 'tea', action: 'accept', content: { amount: 3 } });
    expect(asked).toMatchObject([
      { mode: 'form', message: 'How many of tea?', requestedSchema: { required: ['amount'] } },
    ]);
    expect(await executionsOf('old__order')).toMatchObject([
      { status: 'success', metadata: { askedMs: expect.any(Number) } },
    ]);
  });

  it('is asked to open a URL', async () => {
    const client = await oldClient(({ message }) => ({
      action: message === 'Sign in' ? 'accept' : 'cancel',
    }));
    expect(textOf(await client.callTool({ name: 'old__sign_in' }))).toContain('accept');
  });

  it.each<[string, ClientCapabilities['elicitation'] | null, string]>([
    ['nothing', null, 'order'],
    ['forms alone', {}, 'sign_in'],
    ['URLs alone', { url: {} }, 'order'],
  ])('that declared %s is not asked for the rest, and reads why', async (_what, elicitation, tool) => {
    const client = await oldClient(() => accept(1), elicitation);
    const result = await client.callTool({ name: `old__${tool}`, arguments: { item: 'tea' } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/^capability_missing: .* asked a question/);
  });

  it('may have taken longer than the tool may: its deadline stands still meanwhile', async () => {
    const { timeoutMs } = { timeoutMs: 3_000 };
    const client = await oldClient(() => new Promise((done) => setTimeout(done, timeoutMs + 200, accept(9))));
    expect(textOf(await client.callTool({ name: 'old__order', arguments: { item: 'slow' } }))).toContain(
      '"amount":9',
    );
    const [latest] = await executionsOf('old__order');
    expect(latest?.executionTimeMs).toBeLessThan(timeoutMs);
  });

  it('that leaves ends the call as cancelled', async () => {
    const asked = Promise.withResolvers<void>();
    const client = await oldClient(() => (asked.resolve(), new Promise(() => undefined)));
    const call = client.callTool({ name: 'leave__twice' }).catch(() => undefined);
    await asked.promise;
    await client.close();
    await call;
    await until(async () => (await executionsOf('leave__twice')).length > 0, { what: 'the record' });
    expect(await executionsOf('leave__twice')).toMatchObject([{ status: 'error', errorType: 'cancelled' }]);
  });

  it('gets the answers of its own caller, of many that are asked at once', async () => {
    const clients = await Promise.all(
      Array.from([1, 2, 3, 4, 5, 6, 7, 8], async (n) => ({
        n,
        client: await oldClient(({ message }) => accept(n * 1_000 + Number(/\d+/.exec(message)?.[0]))),
      })),
    );
    const calls = Array.from({ length: 200 }, (_, call) => call);
    await mapLimit(calls, 16, async (call) => {
      const { n, client } = clients[call % clients.length]!;
      const tool = call % 3 === 0 ? 'new__order' : 'old__order';
      const result = await client.callTool({ name: tool, arguments: { item: `no. ${call}` } });
      expect(JSON.parse(textOf(result)).content).toEqual({ amount: n * 1_000 + call });
    });
  });
});

describe('an old client of a new server', () => {
  it.each([
    ['order', { item: 'tea' }, { item: 'tea', action: 'accept', content: { amount: 4 }, state: 'for tea' }],
    ['twice', {}, ['{"amount":4}', { amount: 4 }]],
    ['again', {}, 'now'],
  ])('is asked by %s within its request', async (tool, input, expected) => {
    const client = await oldClient(() => accept(4));
    const result = await client.callTool({ name: `new__${tool}`, arguments: input });
    expect(JSON.parse(textOf(result))).toEqual(expected);
  });

  it('is not asked for a model', async () => {
    const client = await oldClient(() => accept(4));
    const result = await client.callTool({ name: 'new__model' });
    expect(textOf(result)).toMatch(/^capability_missing: .*sampling/);
  });
});

const meta = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
const both = { elicitation: { form: {}, url: {} } };
let ids = 0;
/** A call as a client of 2026-07-28 sends it. */
async function modern(
  name: string,
  input: object = {},
  more: object = {},
  capabilities: object = both,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Json }> {
  const params = { name, arguments: input, ...more, _meta: meta(capabilities) };
  const { status, body } = await tk.http
    .post('/mcp')
    .set({ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' })
    .set({ 'mcp-method': 'tools/call', 'mcp-name': name, ...headers })
    .send({ jsonrpc: '2.0', id: ++ids, method: 'tools/call', params });
  return { status, body };
}
const tea = { item: 'tea' };
const how = { inputResponses: { how: accept(5) } };
const asked = async (name = 'new__order', input: object = tea): Promise<string> =>
  (await modern(name, input)).body.result.requestState;

describe('a new client of a new server', () => {
  it('gets its questions, and repeats the call with the answers: one execution', async () => {
    const { body } = await modern('new__order', tea);
    expect(body.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { how: { method: 'elicitation/create', params: { message: 'How many of tea?' } } },
    });
    expect(body.result.requestState).not.toContain('tea');
    const before = (await executionsOf('new__order')).length;
    const { requestState } = body.result;
    const { body: done } = await modern('new__order', tea, { requestState, ...how });
    expect(done.result.resultType).toBe('complete');
    expect(JSON.parse(textOf(done.result))).toEqual({ ...tea, ...accept(5), state: 'for tea' });
    const [latest, ...others] = await executionsOf('new__order');
    expect(latest).toMatchObject({ status: 'success' });
    expect(others).toHaveLength(before);
  });

  it('is asked twice, by one execution', async () => {
    const first = await asked('new__twice', {});
    const { body } = await modern(
      'new__twice',
      {},
      { requestState: first, inputResponses: { first: accept(1) } },
    );
    const { requestState, resultType } = body.result;
    expect(resultType).toBe('input_required');
    const { body: done } = await modern(
      'new__twice',
      {},
      { requestState, inputResponses: { second: accept(2) } },
    );
    expect(JSON.parse(textOf(done.result))).toEqual(['{"amount":1}', { amount: 2 }]);
  });

  it.each([
    ['order', {}, { elicitation: { form: {} } }],
    ['order', { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['sign_in', { elicitation: {} }, { elicitation: { url: {} } }],
    ['model', both, { sampling: {} }],
  ])('that did not declare what %s asks is refused (%j)', async (tool, declared, requiredCapabilities) => {
    const { status, body } = await modern(`new__${tool}`, tea, {}, declared);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    const [latest] = await executionsOf(`new__${tool}`);
    expect(latest).toMatchObject({ status: 'error', errorType: 'capability_missing' });
  });

  it.each<[string, (state: string) => object, RegExp]>([
    ['is forged', () => ({ requestState: Buffer.alloc(90, 7).toString('base64url') }), /altered/],
    ['is no text of ours', () => ({ requestState: 'for tea' }), /altered/],
    [
      'was altered',
      (state) => ({ requestState: `${state.slice(0, -2)}${state.endsWith('AA') ? 'BB' : 'AA'}` }),
      /altered/,
    ],
    ['is cut', (state) => ({ requestState: state.slice(0, 40) }), /altered/],
    ['is of another form', () => ({ requestState: 5 }), /requestState must be a string/],
    [
      'comes with other arguments',
      (requestState) => ({ requestState, arguments: { item: 'milk' } }),
      /other arguments/,
    ],
    ['comes for another tool', (requestState) => ({ requestState, name: 'new__twice' }), /another tool/],
    ['comes from another project', (requestState) => ({ requestState, project: 'other' }), /another project/],
  ])('is refused if its state %s', async (_what, change, why) => {
    const {
      name = 'new__order',
      arguments: input = tea,
      project,
      ...more
    } = change(await asked()) as {
      name?: string;
      arguments?: object;
      project?: string;
    };
    const { body } = await modern(
      name,
      input,
      { ...how, ...more },
      both,
      project ? { 'x-project-id': project } : {},
    );
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringMatching(why) });
  });

  it('is refused with the state of another caller, and with one that was used', async () => {
    const requestState = await asked();
    const { body: key } = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'b', scopes: ['tools:call'] })
      .expect(201);
    const other = { authorization: `Bearer ${key.key}` };
    const { body: foreign } = await modern('new__order', tea, { requestState, ...how }, both, other);
    expect(foreign.error).toMatchObject({ code: -32602, message: expect.stringContaining('another caller') });
    await modern('new__order', tea, { requestState, ...how });
    const { body: again } = await modern('new__order', tea, { requestState, ...how });
    expect(again.error).toMatchObject({ code: -32602, message: expect.stringContaining('used already') });
  });

  it('spends the budget of its investigation once', async () => {
    const headers = { 'x-investigation-id': 'inv-asks' };
    const { body } = await modern('new__order', tea, {}, both, headers);
    const { requestState } = body.result;
    await modern('new__order', tea, { requestState, ...how }, both, headers);
    const { body: budget } = await tk.http.get('/api/v1/investigations/inv-asks').expect(200);
    expect(JSON.stringify(budget)).toContain('"used":1');
  });
});

it('a new client of an old server is refused, and the server reads that nobody can be asked', async () => {
  const { status, body } = await modern('old__order', tea);
  expect(status).toBe(400);
  expect(body.error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } },
    message: expect.stringContaining('cannot be asked'),
  });
});

describe('a caller over REST', () => {
  const execute = (tool: string, body: object) => tk.http.post(`/api/v1/tools/${tool}/execute`).send(body);
  const elicitation = { form: {} };

  it('that can be asked is answered 202 with the questions, and repeats the call with the answers', async () => {
    const { body } = await execute('new__order', { input: tea, elicitation }).expect(202);
    expect(body).toMatchObject({
      status: 'input_required',
      inputRequests: { how: { method: 'elicitation/create' } },
    });
    const { requestState, executionId } = body;
    const { body: done } = await execute('new__order', {
      input: tea,
      elicitation,
      requestState,
      ...how,
    }).expect(200);
    expect(done).toMatchObject({ status: 'success', executionId });
    await execute('new__order', { input: tea, elicitation, requestState, ...how }).expect(400);
  });

  it.each(['old__order', 'new__order'])('is asked by %s on its stream', async (tool) => {
    const response = await fetch(`${tk.url}/api/v1/tools/${tool}/execute`, {
      method: 'POST',
      headers: { ...tk.key, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ input: tea, elicitation }),
    });
    let text = '';
    let answered = false;
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const [, questionId] = /event: question\ndata: \{.*"questionId":"(\w+)"/.exec(text) ?? [];
      if (questionId === undefined || answered) continue;
      answered = true;
      await tk.http.post(`/api/v1/questions/${questionId}`).send(accept(6)).expect(204);
      await tk.http.post(`/api/v1/questions/${questionId}`).send(accept(7)).expect(404);
    }
    expect(text).toContain('event: outcome');
    expect(text).toContain('\\"amount\\":6');
  });

  it.each(['old__order', 'new__order'])(
    'that cannot be asked by %s gets a refusal that says so',
    async (tool) => {
      const { body } = await tk.call(tool, tea).expect(200);
      const data = { requiredCapabilities: { elicitation: { form: {} } } };
      expect(body).toMatchObject({
        status: 'error',
        error: { type: 'capability_missing', code: -32021, data },
      });
    },
  );
});

it('a tool that copes without an answer succeeds', async () => {
  expect((await tk.call('old__copes').expect(200)).body).toMatchObject({ status: 'success' });
});
