import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { postForEvents } from '../support/sse.js';
import { until } from '../support/wait.js';

// real: the whole server, MCP servers as processes, the official client; mock: nothing

let tk: TestApp;
const clients: Client[] = [];
beforeAll(async () => {
  tk = await startApp();
  await tk.register('echo', { tags: ['spoken'] });
  await tk.register('quiet');
  for (const name of ['one', 'two'])
    await tk.http
      .post('/api/v1/custom-tools')
      .send({
        name,
        protocol: 'mcp',
        command: 'node',
        args: [join(fixtures, 'mcp-offers.mjs'), `--name=${name}`],
      })
      .expect(201);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await tk.close();
});

const make = (name: string, members: object[], others: object = {}) =>
  tk.http.post('/api/v1/mcp-servers').send({ name, members, ...others });
const change = (name: string, changes: object) => tk.http.patch(`/api/v1/mcp-servers/${name}`).send(changes);
const keyFor = async (limits: object): Promise<{ authorization: string }> => {
  const body = { name: 'bound', scopes: ['tools:call'], ...limits };
  const made = await tk.http.post('/api/v1/keys').send(body).expect(201);
  return { authorization: `Bearer ${made.body.key}` };
};

async function connect(path: string, headers: Record<string, string> = tk.key): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, tk.url), { requestInit }));
  clients.push(client);
  return client;
}
const toolsOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

const own = 'io.modelcontextprotocol/';
const modernMessage = (method: string, params: object) => ({
  ...{ jsonrpc: '2.0', id: 1, method },
  params: {
    ...params,
    _meta: {
      [`${own}protocolVersion`]: '2026-07-28',
      [`${own}clientInfo`]: { name: 'test', version: '1' },
      [`${own}clientCapabilities`]: {},
    },
  },
});
/** A request as clients from 2026-07-28 on send it; test/platforms has their official one. */
const modern = (
  path: string,
  method: string,
  params: { name?: string; uri?: string; arguments?: object } = {},
) => {
  const name = params.name ?? params.uri;
  return tk.http
    .post(path)
    .set({ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' })
    .set({ 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) })
    .send(modernMessage(method, params));
};

describe('a virtual server', () => {
  it('lists and calls its own tools alone, under the names that they have there', async () => {
    const members = [
      { tool: 'quiet', as: 'renamed', description: 'Other words' },
      { tag: 'spoken' },
      { tool: 'later' },
    ];
    const { body } = await make('first', members).expect(201);
    expect(body).toMatchObject({
      members,
      tools: ['echo', 'renamed'],
      missing: ['later'],
    });
    const client = await connect('/mcp/first');
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'echo' }, { name: 'renamed', description: 'Other words' }]);
    const input = { a: 1 };
    expect((await client.callTool({ name: 'renamed', arguments: input })).structuredContent).toEqual(input);
    for (const name of ['quiet', 'one__heard', 'later'])
      await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32601 });
    const listed = await modern('/mcp/first', 'tools/list').expect(200);
    expect(listed.body.result.tools.map(({ name }: { name: string }) => name)).toEqual(['echo', 'renamed']);
    const called = await modern('/mcp/first', 'tools/call', { name: 'renamed', arguments: input });
    expect(called.body.result.structuredContent).toEqual(input);
    expect(await toolsOf(await connect('/mcp'))).toContain('quiet');
  });

  it('has the resources, prompts and instructions of its MCP servers, and of others what it names', async () => {
    const members = [
      { server: 'two' },
      { prompt: 'one__greet', as: 'hello', description: 'Says hello' },
      { resource: 'test://one/only', description: 'The one' },
    ];
    const { body } = await make('second', members).expect(201);
    expect(body.tools).toEqual(['two__change', 'two__heard', 'two__link', 'two__list', 'two__touch']);
    const client = await connect('/mcp/second');
    expect(await toolsOf(client)).toEqual(body.tools);
    expect(client.getInstructions()).toBe('# two\nUse two first');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'test://one/only',
      'test://two/only',
      'test://two/shared/note',
    ]);
    expect(resources[0]).toMatchObject({ name: 'only', description: 'The one' });
    expect((await client.listPrompts()).prompts).toMatchObject([
      { name: 'hello', description: 'Says hello' },
      { name: 'two__greet' },
    ]);
    const prompt = await client.getPrompt({ name: 'hello', arguments: { who: 'Ada' } });
    expect(prompt.messages[0]?.content).toEqual({ type: 'text', text: 'one: hello Ada' });
    const read = await client.readResource({ uri: 'test://two/shared/note' });
    expect(read.contents).toMatchObject([{ text: 'two: test://shared/note' }]);
    const argument = { name: 'who', value: 'A' };
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'hello' }, argument });
    expect(completion.values).toEqual(['one greet A']);
    await expect(client.readResource({ uri: 'test://one/shared/note' })).rejects.toMatchObject({
      code: -32002,
    });
    await expect(client.getPrompt({ name: 'one__greet' })).rejects.toMatchObject({ code: -32602 });
    const modernRead = await modern('/mcp/second', 'resources/read', { uri: 'test://one/only' });
    expect(modernRead.body.result.contents).toMatchObject([{ text: 'one: test://one/only' }]);
    await change('second', { instructions: 'Own words' }).expect(200);
    const discovered = await modern('/mcp/second', 'server/discover');
    expect(discovered.body.result.instructions).toBe('Own words');
  });

  it('tells its clients of both eras that its lists changed', async () => {
    await make('third', [{ tool: 'echo' }]).expect(201);
    const client = await connect('/mcp/third');
    const told: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => void told.push(method));
    const method = 'subscriptions/listen';
    const leave = new AbortController();
    const headers = { ...tk.key, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
    const message = modernMessage(method, { notifications: { toolsListChanged: true } });
    const stream = await postForEvents(`${tk.url}/mcp/third`, message, { signal: leave.signal, headers });
    expect((await stream.next())?.data).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    await until(
      async () => {
        await change('third', { members: [{ tool: 'echo', as: `say_${told.length}` }] }).expect(200);
        await change('third', { members: [{ tool: 'quiet' }] }).expect(200);
        return told.length > 0;
      },
      { what: 'the change' },
    );
    expect((await stream.next())?.data).toMatchObject({ method: 'notifications/tools/list_changed' });
    expect(await toolsOf(client)).toEqual(['quiet']);
    leave.abort();
  });

  it.each([
    [
      'a name that two tools would have',
      [{ tool: 'echo', as: 'quiet' }, { tool: 'quiet' }],
      409,
      'quiet (echo, quiet)',
    ],
    [
      'a name that a tagged tool has',
      [{ tool: 'quiet', as: 'echo' }, { tag: 'spoken' }],
      409,
      'echo (quiet, echo)',
    ],
    [
      'two prompts of one name',
      [
        { prompt: 'a', as: 'c' },
        { prompt: 'b', as: 'c' },
      ],
      409,
      'prompt c',
    ],
    ['a member that names two', [{ tool: 'echo', tag: 'spoken' }], 400, 'members/0 must have one of'],
    ['a member that names nothing', [{ tool: 'echo' }, { as: 'x' }], 400, 'members/1 must have one of'],
    ['another name for a tag', [{ tag: 'spoken', as: 'x' }], 400, 'members/0 must have one of'],
  ])('is refused with %s', async (_what, members, status, words) => {
    const { body } = await make('refused', members).expect(status);
    expect(body.detail).toContain(words);
    await tk.http.get('/api/v1/mcp-servers/refused').expect(404);
  });

  it('is not found once it is deleted, and its acts stand in the audit', async () => {
    await make('fourth', [{ tool: 'echo' }]).expect(201);
    await make('fourth', [{ tool: 'quiet' }]).expect(409);
    const client = await connect('/mcp/fourth');
    await tk.http.delete('/api/v1/mcp-servers/fourth').expect(204);
    await expect(client.listTools()).rejects.toThrow('GET /api/v1/mcp-servers lists');
    await modern('/mcp/fourth', 'tools/list').expect(404);
    await change('fourth', { instructions: 'x' }).expect(404);
    const { body } = await tk.http.get('/api/v1/audit').query({ target: 'mcp-servers/fourth' }).expect(200);
    const acts = body.data.map(({ action }: { action: string }) => action);
    expect(acts).toEqual(expect.arrayContaining(['createMcpServer', 'deleteMcpServer']));
  });
});

describe('a key that is bound to virtual servers', () => {
  it('uses their addresses and their tools alone, as they are now', async () => {
    await make('mine', [{ tool: 'echo', as: 'own' }, { server: 'one' }]).expect(201);
    await make('others', [{ tool: 'quiet' }]).expect(201);
    const key = await keyFor({ mcpServers: ['mine'] });
    const call = (name: string) =>
      tk.anonymous.post(`/api/v1/tools/${name}/execute`).set(key).send({ input: {} });
    const client = await connect('/mcp/mine', key);
    expect(await toolsOf(client)).toContain('own');
    expect((await client.listResources()).resources).toHaveLength(2);
    await client.callTool({ name: 'own', arguments: {} });
    await expect(connect('/mcp', key)).rejects.toThrow('This key uses MCP at /mcp/mine alone');
    await expect(connect('/mcp/others', key)).rejects.toThrow('/mcp/mine alone');
    await call('echo').expect(200);
    await call('one__heard').expect(200);
    await call('quiet').expect(403);
    const { body } = await tk.anonymous.get('/api/v1/tools').set(key).expect(200);
    expect(body.data.map(({ name }: { name: string }) => name)).toContain('echo');
    expect(body.data.map(({ name }: { name: string }) => name)).not.toContain('quiet');
    await change('mine', { members: [{ tool: 'quiet' }] }).expect(200);
    await call('quiet').expect(200);
    await call('echo').expect(403);
    const free = await keyFor({ tools: ['echo'] });
    expect(await toolsOf(await connect('/mcp/mine', free))).toEqual([]);
  });

  it('has no scope that registers tools', async () => {
    const body = { name: 'idle', scopes: ['tools:admin'], mcpServers: ['mine'] };
    await tk.http.post('/api/v1/keys').send(body).expect(400);
  });
});
