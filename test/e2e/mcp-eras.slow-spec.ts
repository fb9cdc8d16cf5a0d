import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { built } from '../support/built.js';
import { McpModernServer } from '../support/mcp-modern-server.js';
import { until } from '../support/wait.js';

// real: the whole server, servers of the official SDK, HTTP in both directions; mock: nothing

const packages = join(built(), 'node_modules');
let tk: TestApp;
let modern: McpModernServer;
const started: McpModernServer[] = [];
beforeAll(async () => {
  tk = await startApp({ SANDBOX_GRANTABLE_PATHS: `${fixtures}:${packages}` });
  modern = await serve();
});
afterAll(async () => {
  await tk.close();
  await Promise.all(started.map((server) => server.stop()));
});

const serve = async (legacy: 'stateless' | 'reject' = 'reject'): Promise<McpModernServer> => {
  const server = await McpModernServer.start(legacy);
  started.push(server);
  return server;
};
const register = (name: string, url: string) =>
  tk.http.post('/api/v1/custom-tools').send({ name, protocol: 'mcp', url });
const call = async (tool: string, input: object = {}) => (await tk.call(tool, input).expect(200)).body;

/** A call whose caller leaves while it runs. */
async function leave(tool: string): Promise<void> {
  const controller = new AbortController();
  const left = fetch(`${tk.url}/api/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { ...tk.key, 'content-type': 'application/json' },
    body: JSON.stringify({ input: {} }),
    signal: controller.signal,
  });
  const inFlight = async (): Promise<boolean> =>
    (await tk.http.get('/metrics')).text.includes(`calls_in_flight{tool="${tool}"} 1`);
  await until(inFlight, { timeoutMs: 10_000, what: 'the call' });
  controller.abort();
  await expect(left).rejects.toThrow();
}

describe('a server that speaks 2026-07-28 alone', () => {
  it('tells of updates of the resources that somebody watches', async () => {
    const server = await serve();
    const uris = ['test://first', 'test://second', 'test://other'] as const;
    server.watchable.push(...uris);
    await register('notes', server.site.url).expect(201);
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: tk.key };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', tk.url), { requestInit }));
    const told = new Set<string>();
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void told.add(params.uri),
    );
    for (const uri of uris.slice(0, 2)) await client.subscribeResource({ uri });
    const updated = (): boolean => {
      for (const uri of uris) server.touch(uri);
      return told.size > 1;
    };
    await until(updated, { what: 'the updates' });
    expect([...told].sort()).toEqual(uris.slice(0, 2));
    await client.close();
  });

  it('is registered, listed and called', async () => {
    const { body } = await register('new', modern.site.url).expect(201);
    expect(body).toMatchObject({ version: '8', healthStatus: 'healthy', status: 'active' });
    expect(await call('new__echo', { text: 'ü' })).toMatchObject({
      status: 'success',
      result: { content: [{ type: 'text', text: 'done' }], structuredContent: { text: 'ü', header: null } },
    });
    expect(new Set(modern.heard)).toEqual(
      new Set(['server/discover', 'tools/list', 'subscriptions/listen', 'tools/call']),
    );
  });

  it.each(['eu-west', 'ü', ' padded ', '', '=?base64?x?='])(
    'gets %j in the header that its tool names',
    async (region) => {
      const { result } = await call('new__echo', { region });
      const { header } = result.structuredContent;
      const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(header) ?? [];
      expect(encoded === undefined ? header : Buffer.from(encoded, 'base64').toString()).toBe(region);
    },
  );

  it('is told that its caller left by the end of the request, and serves the next call', async () => {
    await leave('new__hang');
    await until(() => modern.left === 1, { timeoutMs: 10_000, what: 'its end' });
    expect(modern.heard).not.toContain('notifications/cancelled');
    expect(await call('new__echo')).toMatchObject({ status: 'success' });
  });

  it('announces new tools by its subscription', async () => {
    modern.others.push('later');
    modern.change();
    await until(
      async () =>
        JSON.stringify((await tk.http.get('/api/v1/custom-tools/new/tools')).body).includes('later'),
      { timeoutMs: 10_000, what: 'the new tool' },
    );
  });

  it('is asked for its health by server/discover', async () => {
    const before = modern.heard.length;
    await tk.http.get('/api/v1/custom-tools/new/health').expect(200);
    expect(modern.heard.slice(before)).toEqual(['server/discover']);
  });
});

it('a program that speaks 2026-07-28 alone is registered, listed, called and cancelled', async () => {
  const program = {
    sandbox: { allowedPaths: [packages] },
    command: 'node',
    args: [join(fixtures, 'modern-mcp-server.mjs')],
    name: 'lines',
  };
  await tk.http
    .post('/api/v1/custom-tools')
    .send({ protocol: 'mcp', ...program })
    .expect(201);
  expect(await call('lines__echo', { text: 'ü' })).toMatchObject({
    result: { structuredContent: { text: 'ü' } },
  });
  await leave('lines__hang');
  await until(async () => (await call('lines__heard')).result.structuredContent.heard.includes('left'), {
    timeoutMs: 10_000,
    what: 'the end of the call',
  });
  await tk.http.get('/api/v1/custom-tools/lines/health').expect(200);
});

const rpcError = (code: number, data?: object) => ({
  jsonrpc: '2.0',
  id: null,
  error: { code, message: 'no', data },
});
const inEvents = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

describe('a server that speaks the older revisions', () => {
  it.each<[string, number, string | object]>([
    ['404', 404, ''],
    ['405', 405, 'Method Not Allowed'],
    ['a page', 404, '<html><title>Not found</title>'],
    ['400 of the SDK', 400, rpcError(-32000)],
    ['400 without words', 400, ''],
    ['an invalid request', 400, rpcError(-32600)],
    ['an unknown method', 200, rpcError(-32601)],
    ['an unknown method as a stream', 200, inEvents(rpcError(-32601))],
    ['invalid parameters', 200, rpcError(-32602)],
    ['an internal error', 500, rpcError(-32603)],
    ['other revisions', 400, rpcError(-32022, { supported: ['2025-11-25'] })],
    ['revisions that are none', 400, rpcError(-32022, { supported: 'all' })],
    ['an empty result', 200, { jsonrpc: '2.0', id: '$ID', result: {} }],
    ['202', 202, ''],
    ['nothing', 200, ''],
  ])(
    'and refuses server/discover with %s is begun with initialize, and the next time at once',
    async (_what, status, answer) => {
      const old = await serve('stateless');
      const name = `old-${started.length}`;
      old.instead = ({ id, method }, response) => {
        if (method !== 'server/discover') return false;
        const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
        const isEvents = text.startsWith('data:');
        response.writeHead(status, { 'content-type': isEvents ? 'text/event-stream' : 'application/json' });
        response.end(
          text.replace('"$ID"', JSON.stringify(id)).replace('"id":null', `"id":${JSON.stringify(id)}`),
        );
        return true;
      };
      await register(name, old.site.url).expect(201);
      expect(await call(`${name}__echo`)).toMatchObject({ status: 'success' });
      expect(old.heard.filter((method) => method === 'server/discover')).toHaveLength(1);
      expect(old.heard.filter((method) => method === 'initialize')).toHaveLength(2);
      await old.stop();
    },
  );
});

it('a server that refuses the revision that it names is asked once more', async () => {
  const again = await serve();
  let refusals = 0;
  again.instead = ({ id, method }, response) => {
    if (method !== 'server/discover' || refusals++ > 0) return false;
    const error = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } };
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    return true;
  };
  await register('again', again.site.url).expect(201);
  expect(again.heard).not.toContain('initialize');
});

it('a server that changes its era is found again, there and back', async () => {
  const changing = await serve();
  await register('changing', changing.site.url).expect(201);
  expect(await call('changing__echo')).toMatchObject({ status: 'success' });
  for (const era of ['legacy', 'modern', 'legacy'] as const) {
    changing.speak(era === 'modern' ? 'reject' : 'stateless');
    // The SDK's stateless server serves both: this one refuses the new era, as an old one does.
    changing.instead = ({ method }, response) => {
      const isNew = changing.site.seen.at(-1)?.headers['mcp-protocol-version'] === '2026-07-28';
      if (era === 'modern' || (!isNew && method !== 'server/discover')) return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(rpcError(-32000)));
      return true;
    };
    await until(async () => (await call('changing__echo')).status === 'success', {
      timeoutMs: 10_000,
      what: `a call in the ${era} era`,
    });
    const begun = changing.heard
      .filter((method) => ['initialize', 'server/discover'].includes(method))
      .at(-1);
    expect(begun).toBe(era === 'modern' ? 'server/discover' : 'initialize');
  }
});

it('a tool whose x-mcp-header is wrong is refused, the others are not', async () => {
  const odd = await serve();
  odd.instead = ({ id, method }, response) => {
    if (method !== 'tools/list') return false;
    const tools = [
      [
        'fine',
        {
          a: { type: 'integer', 'x-mcp-header': 'A' },
          b: { properties: { c: { type: 'string', 'x-mcp-header': 'B' } } },
        },
      ],
      ['number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
      ['blank', { a: { type: 'string', 'x-mcp-header': 'A B' } }],
      ['empty', { a: { type: 'string', 'x-mcp-header': '' } }],
      ['twice', { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } }],
      ['items', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
      ['data', { a: { type: 'object', default: { 'x-mcp-header': 'A' } } }],
    ].map(([name, properties]) => ({ name, inputSchema: { type: 'object', properties } }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools } }));
    return true;
  };
  await register('odd', odd.site.url).expect(201);
  const { body } = await tk.http.get('/api/v1/custom-tools/odd/tools').expect(200);
  const states = body.data.map(({ name, state }: Record<string, string>) => [name, state]);
  expect(Object.fromEntries(states)).toEqual({
    // The server's instructions.
    odd: 'callable',
    odd__fine: 'callable',
    odd__data: 'callable',
    ...Object.fromEntries(
      ['number', 'blank', 'empty', 'twice', 'items'].map((name) => [`odd__${name}`, 'refused']),
    ),
  });
});

describe('a stream that its server closes before the answer', () => {
  const answer = (id: string | undefined) =>
    `id: 9\n${inEvents({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'late' }] } })}`;

  it.each([
    ['closes', 1],
    ['closes', 3],
    ['breaks', 1],
  ])('%s: is followed %i times with its last event id, after the pause that it names', async (how, times) => {
    const polled = await serve('stateless');
    let called: string | undefined;
    const gets: { readonly id: unknown; readonly at: number }[] = [];
    polled.instead = ({ id, method }, response) => {
      const last = polled.site.seen.at(-1)?.headers['last-event-id'];
      if (method !== 'tools/call' && last === undefined) return false;
      called ??= id;
      if (last !== undefined) gets.push({ id: last, at: performance.now() });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        gets.length >= times ? answer(called) : `id: ${gets.length + 1}\nretry: 200\ndata: \n\n`,
        () => (how === 'breaks' && gets.length < times ? response.destroy() : response.end()),
      );
      return true;
    };
    const name = `polled-${started.length}`;
    await register(name, polled.site.url).expect(201);
    const began = performance.now();
    expect(await call(`${name}__echo`)).toMatchObject({
      status: 'success',
      result: { content: [{ text: 'late' }] },
    });
    expect(gets.map(({ id }) => id)).toEqual(Array.from({ length: times }, (_, at) => String(at + 1)));
    expect((gets.at(-1)?.at ?? 0) - began).toBeGreaterThan(190 * times);
  });

  it('without an event id is no answer', async () => {
    const closed = await serve('stateless');
    closed.instead = ({ method }, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('retry: 1\ndata: \n\n');
      return true;
    };
    await register('closed', closed.site.url).expect(201);
    expect((await call('closed__echo')).error.message).toMatch(/^It answered 200 to "tools\/call" without/);
  });
});
