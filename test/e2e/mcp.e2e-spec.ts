import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { manifest } from '../../src/base/common/project.js';
import { startApp, type TestApp } from '../support/app.js';
import { postForEvents } from '../support/sse.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, the official client; mock: nothing

let tk: TestApp;
let client: Client;
beforeAll(async () => {
  tk = await startApp();
  await tk.register('echo');
  client = await connect();
});
afterAll(async () => {
  await client.close();
  await tk.close();
});

async function connect(headers: Record<string, string> = {}): Promise<Client> {
  const made = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', tk.url), { requestInit: { headers } });
  // The SDK was not written for exactOptionalPropertyTypes.
  await made.connect(transport);
  return made;
}
const textOf = (result: object): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('');

const inFlight = async (name: string): Promise<boolean> =>
  (await tk.http.get('/metrics')).text.includes(`calls_in_flight{tool="${name}"} 1`);
const errorsOf = async (tool: string): Promise<string> =>
  (await tk.http.get('/api/v1/tool-metrics/errors').query({ tool })).text;
/** A log line of a tool that answers nothing after it. */
const spoken = `${JSON.stringify({ jsonrpc: '2.0', method: 'log', params: { id: '$ID', level: 'info', message: 'on it' } })}\n`;

describe('an MCP client', () => {
  it('learns who answers, and which tools there are', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'toolkeeper', version: manifest().version });
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    });
    const { tools } = await client.listTools();
    expect(tools).toContainEqual(
      expect.objectContaining({ name: 'echo', inputSchema: expect.objectContaining({ type: 'object' }) }),
    );
  });

  it('calls a tool, and gets its result as text and as it is', async () => {
    const result = await client.callTool({ name: 'echo', arguments: { a: [1, 'ü'] } });
    expect(result.structuredContent).toEqual({ a: [1, 'ü'] });
    expect(JSON.parse(textOf(result))).toEqual({ a: [1, 'ü'] });
    expect(result._meta?.['toolkeeper/outcome']).toMatchObject({ tool: 'echo', status: 'success' });
  });

  it.each([
    ['structured content alone', {}],
    ['structured content beside none', { content: [] }],
  ])('reads the text of %s', async (_what, content) => {
    const result = { ...content, structuredContent: { a: 1 } };
    const { structuredContent, ...said } = await client.callTool({ name: 'echo', arguments: result });
    expect(structuredContent).toEqual({ a: 1 });
    expect(textOf(said)).toBe('{"a":1}');
  });

  it.each([
    ['content without its members', { content: [{ type: 'image', data: '' }] }],
    ['content of no kind', { content: [{ type: 'film' }] }],
    ['structured content that is no object', { content: [], structuredContent: [1] }],
  ])('gets %s as a result like any other', async (_what, result) => {
    const { structuredContent } = await client.callTool({ name: 'echo', arguments: result });
    expect(structuredContent).toEqual(result);
  });

  it('hears how far a call is, and what the tool has to say', async () => {
    const heard: unknown[] = [];
    const messages = [1, 2].map((progress) => ({
      method: 'progress',
      params: { id: '$ID', progress, total: 2 },
    }));
    const result = await client.callTool(
      { name: 'echo', arguments: { action: 'say', messages } },
      undefined,
      {
        onprogress: (progress) => heard.push(progress),
      },
    );
    expect(textOf(result)).toBe('said');
    expect(heard).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
  });

  it('reads why a tool failed', async () => {
    const failing = { action: 'error', code: -32001, message: 'no such file' };
    const result = await client.callTool({ name: 'echo', arguments: failing });
    expect(result).toMatchObject({ isError: true, content: [{ text: 'tool_error: no such file' }] });
  });

  it('is told by an error that there is no such tool', async () => {
    const calling = client.callTool({ name: 'nowhere' });
    await expect(calling).rejects.toMatchObject({ code: -32601, data: { code: 'tool_not_found' } });
  });

  it('gives a call its context', async () => {
    const name = 'echo';
    const _meta = { 'toolkeeper/runId': 'run-7', 'toolkeeper/investigationId': 'inv-1' };
    const result = await client.callTool({ name, arguments: { action: 'context' }, _meta });
    expect(result.structuredContent).toMatchObject({ runId: 'run-7' });
    const calling = client.callTool({ name, _meta: { 'toolkeeper/runid': 'x' } });
    await expect(calling).rejects.toMatchObject({ code: -32602 });
  });

  it('cancels a call, which ends its tool’s work', async () => {
    const abort = new AbortController();
    const calling = client.callTool({ name: 'echo', arguments: { action: 'hang' } }, undefined, {
      signal: abort.signal,
    });
    await until(() => inFlight('echo'), { what: 'the call to run' });
    abort.abort();
    await expect(calling).rejects.toThrow();
    await until(async () => !(await inFlight('echo')), { what: 'the call to end' });
    await until(async () => (await errorsOf('echo')).includes('cancelled'), { what: 'its record' });
  });

  it.each([
    ['before anything was said', 'left_early', { action: 'hang' }],
    ['in the middle of the answer', 'left_midway', { action: 'raw', text: spoken }],
  ])('that leaves %s cancels its call', async (_when, name, input) => {
    await tk.register(name);
    const leave = new AbortController();
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
    const leaving = postForEvents(`${tk.url}/mcp`, call, { signal: leave.signal }).then((answer) =>
      answer.rest(),
    );
    const left = expect(leaving).rejects.toThrow();
    await until(() => inFlight(name), { what: 'the call to run' });
    leave.abort();
    await left;
    await until(async () => !(await inFlight(name)), { what: 'the call to end' });
    await until(async () => (await errorsOf(name)).includes('cancelled'), { what: 'its record' });
  });

  it('hears when the list of tools has changed', async () => {
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await tk.register('later');
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('later');
  });
});

describe('who may come in', () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  it('a key that is wrong is asked for by WWW-Authenticate', async () => {
    const answer = await tk.anonymous
      .post('/mcp')
      .set('authorization', 'Bearer wrong')
      .send(message)
      .expect(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  });

  it.each([
    ['under a name that was rebound to this machine', { host: 'evil.example' }],
    ['as a page of another origin', { origin: 'http://evil.example' }],
    ['as a page that has no origin', { origin: 'null' }],
  ])('nobody without a key %s', async (_who, headers) => {
    for (const method of ['get', 'post', 'delete'] as const)
      expect((await tk.anonymous[method]('/mcp').set(headers).send(message)).status).toBe(403);
  });

  it('no page of another port without a key', async () => {
    await tk.anonymous.post('/mcp').set('origin', 'http://localhost:8080').send(message).expect(403);
  });
});

describe('the stateless revision', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = (method: string) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method });
  const ask = (
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    headers: Record<string, string> = {},
  ) =>
    tk.anonymous
      .post('/mcp')
      .set({ ...modern(method), ...headers })
      .set('accept', 'application/json, text/event-stream')
      .send({
        jsonrpc: '2.0',
        id: 7,
        method,
        params: { ...params, _meta: { ...meta, ...(params['_meta'] as object | undefined) } },
      });

  it('tells what it serves', async () => {
    const { body } = await ask('server/discover').expect(200);
    expect(body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      resultType: 'complete',
      ttlMs: 0,
    });
  });

  it('calls a tool', async () => {
    const params = { name: 'echo', arguments: { a: 1 } };
    const { body } = await ask('tools/call', params, { 'mcp-name': 'echo' }).expect(200);
    expect(body.result).toMatchObject({ structuredContent: { a: 1 }, resultType: 'complete' });
  });

  it('hears of logs from the level on that it names, and of none without one', async () => {
    const log = { method: 'log', params: { id: '$ID', level: 'warn', message: 'nearly full' } };
    const levels = [{ logLevel: 'warning' }, { logLevel: 'error' }, {}];
    const heard = levels.map(async ({ logLevel }) => {
      const _meta = logLevel === undefined ? {} : { 'io.modelcontextprotocol/logLevel': logLevel };
      const params = { name: 'echo', arguments: { action: 'say', messages: [log] }, _meta };
      const { text } = await ask('tools/call', params, { 'mcp-name': 'echo' }).expect(200);
      return text.includes('nearly full');
    });
    expect(await Promise.all(heard)).toEqual([true, false, false]);
  });

  it('holds headers that repeat members of an input against these', async () => {
    const member = { type: 'string', 'x-mcp-header': 'Region' };
    const where = { type: 'object', properties: { region: member } };
    await tk.register('routed', { inputSchema: { type: 'object', properties: { where } } });
    const call = (region: string, header?: string) =>
      ask(
        'tools/call',
        { name: 'routed', arguments: { where: { region } } },
        {
          'mcp-name': 'routed',
          ...(header !== undefined && { 'mcp-param-region': header }),
        },
      );
    await call('eu', 'eu').expect(200, /"structuredContent":\{"where":\{"region":"eu"/);
    await call('zürich', `=?base64?${Buffer.from('zürich').toString('base64')}?=`).expect(200);
    for (const header of [undefined, 'us', '=?base64?ZXU?='])
      expect((await call('eu', header).expect(400)).body.error).toMatchObject({
        code: -32020,
        message: expect.stringContaining('Mcp-Param-Region'),
      });
  });

  it.each([
    ['changes of the tools', { toolsListChanged: true, promptsListChanged: true }],
    ['what there is not', { resourceSubscriptions: ['file:///a'] }],
    ['nothing', {}],
  ])('tells a listener what of its wishes it will hear: %s', async (what, notifications) => {
    const offered = what.startsWith('changes') ? notifications : {};
    const message = {
      jsonrpc: '2.0',
      id: 's1',
      method: 'subscriptions/listen',
      params: { notifications, _meta: meta },
    };
    const leave = new AbortController();
    const stream = await postForEvents(`${tk.url}/mcp`, message, {
      signal: leave.signal,
      headers: modern('subscriptions/listen'),
    });
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 's1' };
    expect((await stream.next())?.data).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: offered, _meta },
    });
    await tk.register(`while_listening_${what.length}`);
    expect((await stream.next())?.data).toEqual(
      'toolsListChanged' in offered
        ? { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } }
        : { jsonrpc: '2.0', id: 's1', result: expect.objectContaining({ resultType: 'complete' }) },
    );
    leave.abort();
  });

  it('refuses a listener that does not say what it wants to hear', async () => {
    for (const params of [{}, { notifications: [] }, { notifications: { toolsListChanged: 'yes' } }]) {
      const { body } = await ask('subscriptions/listen', params).expect(200);
      expect(body.error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^notifications must/),
      });
    }
  });

  it('refuses headers that differ from the body, and methods and revisions that it does not know', async () => {
    const params = { name: 'echo', arguments: {} };
    const differs = await ask('tools/call', params, { 'mcp-name': 'other' }).expect(400);
    const message = 'The header Mcp-Name is missing or differs from the body';
    expect(differs.body).toMatchObject({ id: 7, error: { code: -32020, message } });
    expect((await ask('roots/list').expect(404)).body.error.code).toBe(-32601);
    const older = await tk.anonymous
      .post('/mcp')
      .set('mcp-protocol-version', '1999-01-01')
      .send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      .expect(400);
    expect(older.body.error.message).toContain('1999-01-01');
  });
});

describe('what is no message', () => {
  it.each([
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], -32600],
    ['an object', { hello: 1 }, -32600],
  ])('%s is refused', async (_what, message, code) => {
    const { body } = await tk.anonymous.post('/mcp').send(message).expect(400);
    expect(body.error.code).toBe(code);
  });

  it.each([
    ['malformed JSON', '{"jsonrpc":"2.0","id":1,'],
    ['nothing', ''],
    [
      'one that names an object’s prototype',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"a":1}}}}',
    ],
  ])('%s is refused as not JSON, with no id', async (_what, text) => {
    const { body, headers } = await tk.anonymous
      .post('/mcp')
      .set('content-type', 'application/json')
      .send(text)
      .expect(400);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700 },
    });
  });

  it('one that is too deep or too large is refused', async () => {
    const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    const call = (input: string) =>
      tk.anonymous
        .post('/mcp')
        .set('content-type', 'application/json')
        .send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${input}}}`);
    const { body } = await call(`{"a":${deep}}`).expect(400);
    expect(body.error).toMatchObject({
      code: -32600,
      message: expect.stringContaining('deeper than 128 levels'),
    });
    const large = await call(JSON.stringify({ text: 'x'.repeat(20_000_000) })).expect(413);
    expect(large.body).toMatchObject({ id: null, error: { data: { code: 'payload_too_large' } } });
  });
});

describe('null', () => {
  const post = (message: object) => tk.http.post('/mcp').send({ jsonrpc: '2.0', id: 1, ...message });
  const progress = { 'toolkeeper/userId': null, 'toolkeeper/labels': null, progressToken: null };

  it.each<[string, string, unknown, object]>([
    ['params', 'ping', null, {}],
    ['params', 'tools/list', null, { tools: expect.any(Array) }],
    ['cursor', 'tools/list', { cursor: null }, { tools: expect.any(Array) }],
    ['_meta', 'tools/list', { _meta: null }, { tools: expect.any(Array) }],
    ['params.protocolVersion', 'initialize', { protocolVersion: null }, { protocolVersion: '2025-11-25' }],
    [
      'members of the client',
      'initialize',
      { protocolVersion: '2025-06-18', capabilities: null, clientInfo: { name: 'x', title: null } },
      { protocolVersion: '2025-06-18' },
    ],
    ['arguments', 'tools/call', { name: 'echo', arguments: null }, { structuredContent: {} }],
    ['context', 'tools/call', { name: 'echo', _meta: progress }, { structuredContent: {} }],
  ])('as %s of %s means that it is absent', async (_what, method, params, result) => {
    const { body } = await post({ method, params }).expect(200);
    expect(body).toMatchObject({ id: 1, result });
  });

  it('in the arguments of a tool is its own', async () => {
    const params = { name: 'echo', arguments: { a: null, arguments: { b: null }, list: [null] } };
    const { body } = await post({ method: 'tools/call', params }).expect(200);
    expect(body.result.structuredContent).toEqual(params.arguments);
  });

  it('as params of a notification, too', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled'])
      await post({ id: undefined, method, params: null }).expect(202);
  });

  it.each([
    ['params', { method: 'ping', params: 5 }],
    ['params._meta', { method: 'ping', params: { _meta: [] } }],
    ['params._meta.progressToken', { method: 'ping', params: { _meta: { progressToken: {} } } }],
    ['method', { method: 7 }],
    ['method', { method: null }],
    ['id', { id: null, method: 'ping' }],
    ['jsonrpc', { jsonrpc: '1.0', method: 'ping' }],
    ['params', { id: undefined, method: 'notifications/initialized', params: 'none' }],
    ['more', { method: 'ping', more: 1 }],
  ])('and an error names the member that is wrong: %s', async (member, message) => {
    const { body } = await post(message).expect(400);
    expect(body.error.message).toMatch(new RegExp(`not a valid JSON-RPC message: .*\\b${member}\\b`));
  });

  it.each([
    ['cursor', 'tools/list', { cursor: 5 }],
    ['name', 'tools/call', { name: null }],
    ['arguments', 'tools/call', { name: 'echo', arguments: ['x'] }],
  ])('and so does an error of parameters: %s', async (member, method, params) => {
    const { body } = await post({ method, params }).expect(200);
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining(member) });
  });
});
