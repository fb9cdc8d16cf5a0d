import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { WebSite } from '../support/web-site.js';

// real: the whole server, HTTP in both directions; mock: nothing

interface Message {
  readonly id?: string;
  readonly method: string;
}
interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** In place of `body`. */
  readonly raw?: string | Buffer;
}
/** What a server answers in another way than others do; undefined: as others do. */
type Oddity = (message: Message, request: IncomingMessage, session: Session) => Answer | undefined;
type Session = 'known' | 'unknown';

let tk: TestApp;
const sites: WebSite[] = [];
beforeAll(async () => {
  tk = await startApp({}, { circuit: { openMs: 600_000 } });
});
afterAll(async () => {
  await tk.close();
  await Promise.all(sites.map((site) => site.stop()));
});

/** An MCP server behind a URL with sessions. */
class OddServer {
  readonly sessions = new Set<string>();
  introductions = 0;
  odd: Oddity = () => undefined;
  site!: WebSite;

  static async start(odd?: Oddity): Promise<OddServer> {
    const server = new OddServer();
    if (odd) server.odd = odd;
    server.site = await WebSite.start((request, response, body) => server.serve(request, response, body));
    sites.push(server.site);
    return server;
  }

  private serve(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const message =
      request.method === 'POST' ? (JSON.parse(body.toString()) as Message) : { method: `${request.method}` };
    const session = String(request.headers['mcp-session-id']);
    const answer =
      this.odd(message, request, this.sessions.has(session) ? 'known' : 'unknown') ??
      this.usual(message, session);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.raw ?? (answer.body === undefined ? '' : JSON.stringify(answer.body)));
  }

  private usual({ id, method }: Message, session: string): Answer {
    if (method === 'GET') return { status: 405 };
    if (method === 'DELETE') return { status: 200 };
    const headers: Record<string, string> = {};
    let result: object = { content: [{ type: 'text', text: 'ok' }] };
    if (method === 'initialize') {
      headers['mcp-session-id'] = randomUUID();
      this.sessions.add(headers['mcp-session-id']);
      this.introductions += 1;
      result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd' } };
    } else if (!this.sessions.has(session)) return { status: 404 };
    else if (id === undefined) return { status: 202 };
    else if (method === 'tools/list') result = { tools: [{ name: 'go', inputSchema: { type: 'object' } }] };
    else if (method === 'ping') result = {};
    return { status: 200, headers, body: { jsonrpc: '2.0', id, result } };
  }
}

const register = (name: string, url: string) =>
  tk.http.post('/api/v1/custom-tools').send({ name, protocol: 'mcp', url });
const call = async (name: string) => (await tk.call(`${name}__go`).expect(200)).body;
const rpcError = (id: string | undefined, code: number, message: string) => ({
  jsonrpc: '2.0',
  id: id ?? null,
  error: { code, message },
});

it.each<[string, Answer]>([
  ['404', { status: 404 }],
  ['400', { status: 400, body: rpcError(undefined, -32000, 'No session') }],
  ['500', { status: 500 }],
  ['401', { status: 401 }],
  ['200 without events', { status: 200, body: {} }],
])('a server whose GET is %s has no stream, and serves calls', async (what, answer) => {
  const server = await OddServer.start(({ method }) => (method === 'GET' ? answer : undefined));
  const name = `stream-${what.slice(0, 3)}`;
  await register(name, `${server.site.url}/mcp`).expect(201);
  for (let n = 0; n < 3; n++) expect(await call(name)).toMatchObject({ status: 'success' });
  // That of the registration, and that of the calls.
  expect(server.introductions).toBe(2);
});

describe('a session that the server forgot', () => {
  const whenUnknown =
    (status: number, message?: string): Oddity =>
    ({ id, method }, _request, session) =>
      session === 'known' || !id || method === 'initialize'
        ? undefined
        : { status, ...(message !== undefined && { body: rpcError(id, -32000, message) }) };
  it.each<[string, number, Oddity]>([
    ['404', 1, whenUnknown(404)],
    ['404 with words', 1, whenUnknown(404, 'Not found')],
    ['410', 1, whenUnknown(410)],
    ['400 that names it', 1, whenUnknown(400, 'Bad Request: No valid session ID provided')],
    ['400 of the SDK', 1, whenUnknown(400, 'Bad Request: Server not initialized')],
    ['400 that says nothing', 2, whenUnknown(400)],
    ['400 that says something else', 2, whenUnknown(400, 'Bad Request')],
  ])('is replaced after %s: %i calls fail', async (what, most, odd) => {
    const server = await OddServer.start(odd);
    const name = `lost-${what.replaceAll(' ', '-')}`;
    await register(name, `${server.site.url}/mcp`).expect(201);
    await call(name);
    server.sessions.clear();
    for (let n = 0; n < most; n++) expect((await call(name)).status).toBe('error');
    for (let n = 0; n < 3; n++) expect(await call(name)).toMatchObject({ status: 'success' });
    expect(server.introductions).toBe(3);
  });

  it.each<[string, (id?: string) => Answer]>([
    ['a status', () => ({ status: 500 })],
    ['an error', (id) => ({ status: 200, body: rpcError(id, -32000, 'Session not found') })],
    ['nothing', () => ({ status: 200 })],
  ])('is replaced if its ping is answered by %s', async (what, answer) => {
    const server = await OddServer.start();
    const name = `ping-${what.replaceAll(' ', '-')}`;
    await register(name, `${server.site.url}/mcp`).expect(201);
    await call(name);
    server.odd = ({ id, method }) => (method === 'ping' ? answer(id) : undefined);
    await tk.http.get(`/api/v1/custom-tools/${name}/health`).expect(200);
    expect(await call(name)).toMatchObject({ status: 'success' });
    expect(server.introductions).toBe(3);
  });

  it('goes on if the server knows no ping, or refuses one call with 400', async () => {
    let calls = 0;
    const server = await OddServer.start(({ id, method }) => {
      if (method === 'ping') return { status: 400, body: rpcError(id, -32601, 'Method not found') };
      return method === 'tools/call' && ++calls % 2 === 1 ? { status: 400 } : undefined;
    });
    await register('pingless', `${server.site.url}/mcp`).expect(201);
    for (let n = 0; n < 6; n++) await call('pingless');
    await tk.http.get('/api/v1/custom-tools/pingless/health').expect(200);
    await call('pingless');
    expect(server.introductions).toBe(2);
  });
});

it.each<[string, Answer, RegExp]>([
  [
    '500 with an error',
    { status: 500, body: rpcError('x', -32603, 'the warehouse is closed') },
    /^It answered 500: the warehouse is closed$/,
  ],
  [
    '422 with an error',
    { status: 422, body: rpcError(undefined, -32602, 'x is needed') },
    /^It answered 422: x is needed$/,
  ],
  ['429', { status: 429, headers: { 'retry-after': '30' } }, /^It answered 429; retry-after: 30$/],
  [
    '401',
    { status: 401, headers: { 'www-authenticate': 'Bearer scope="tickets"' } },
    /^It answered 401; www-authenticate: Bearer scope="tickets"$/,
  ],
  [
    '307',
    { status: 307, headers: { location: '/elsewhere' } },
    /^It answered 307; it redirects to http:\/\/127.0.0.1:\d+\/elsewhere: register that URL$/,
  ],
])('a call that is answered with %s says so', async (what, answer, message) => {
  const server = await OddServer.start(({ method }) => (method === 'tools/call' ? answer : undefined));
  const name = `says-${what.slice(0, 3)}`;
  await register(name, `${server.site.url}/mcp`).expect(201);
  const { error } = await call(name);
  expect(error).toMatchObject({ type: 'tool_error', message: expect.stringMatching(message) });
  if (what.startsWith('422')) expect(error.code).toBe(-32602);
  expect(server.introductions).toBe(2);
});

it.each<[string, Answer, RegExp]>([
  [
    '403-html',
    { status: 403, raw: '<html><title>Blocked</title><p>Ask <b>us</b>' },
    /^It answered 403: Blocked Ask us$/,
  ],
  ['502-text', { status: 502, raw: 'no healthy upstream' }, /^It answered 502: no healthy upstream$/],
  [
    '401-json',
    { status: 401, body: { error: 'invalid_token' } },
    /^It answered 401: \{"error":"invalid_token"\}$/,
  ],
  [
    '503-secret',
    { status: 503, raw: 'Bearer sesame-open is over its quota', headers: { 'retry-after': '9' } },
    /^It answered 503: Bearer \[secret TOKEN\] is over its quota; retry-after: 9$/,
  ],
  [
    '200-html',
    { status: 200, raw: '<!doctype html><title>Sign in</title>' },
    /200 to "tools\/call" without .*: Sign in$/,
  ],
  ['200-json', { status: 200, body: { Output: 1 } }, /200 to "tools\/call" without .*: \{"Output":1\}$/],
  ['200-empty', { status: 200 }, /200 to "tools\/call" without .*: an empty body$/],
  ['202-empty', { status: 202 }, /202 to "tools\/call" without .*: an empty body$/],
  ['200-error', { status: 200, body: rpcError(undefined, -32700, 'it choked') }, /^it choked$/],
])('a call that is answered with %s quotes it, without secrets', async (what, answer, message) => {
  const server = await OddServer.start(({ method }) => (method === 'tools/call' ? answer : undefined));
  const name = `quotes-${what}`;
  const headers = { Authorization: 'Bearer ${TOKEN}' };
  await tk.http
    .post('/api/v1/custom-tools')
    .send({ name, protocol: 'mcp', url: server.site.url, headers, env: { TOKEN: 'sesame-open' } })
    .expect(201);
  expect((await call(name)).error).toMatchObject({ message: expect.stringMatching(message) });
  expect(server.introductions).toBe(2);
});

const ok = (id?: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'ok' }] } });
const events = { 'content-type': 'text/event-stream' };
it.each<[string, (text: string) => Answer]>([
  ['gzip', (text) => ({ status: 200, headers: { 'content-encoding': 'gzip' }, raw: gzipSync(text) })],
  [
    'brotli',
    (text) => ({ status: 200, headers: { 'content-encoding': 'br' }, raw: brotliCompressSync(text) }),
  ],
  [
    'deflate',
    (text) => ({ status: 200, headers: { 'content-encoding': 'deflate' }, raw: deflateSync(text) }),
  ],
  [
    'gzip-events',
    (text) => ({
      status: 200,
      headers: { ...events, 'content-encoding': 'gzip' },
      raw: gzipSync(`data: ${text}\n\n`),
    }),
  ],
  ['batch', (text) => ({ status: 200, raw: `[${text}]` })],
  ['mark', (text) => ({ status: 200, raw: `\ufeff${text}` })],
  ['plain', (text) => ({ status: 200, headers: { 'content-type': 'text/plain' }, raw: text })],
  ['returns', (text) => ({ status: 200, headers: events, raw: `event: message\rdata: ${text}\r\r` })],
  ['no-end', (text) => ({ status: 200, headers: events, raw: `data: ${text}\n` })],
  ['batch-events', (text) => ({ status: 200, headers: events, raw: `data: [${text}]\n\n` })],
])('an answer in the form %s is read', async (form, answer) => {
  const server = await OddServer.start(({ id, method }) =>
    method === 'tools/call' ? answer(ok(id)) : undefined,
  );
  await register(`reads-${form}`, server.site.url).expect(201);
  expect(await call(`reads-${form}`)).toMatchObject({ status: 'success' });
});

it('a bomb is read to the limit of an answer', async () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, ' '));
  const server = await OddServer.start(({ method }) =>
    method === 'tools/call' ? { status: 200, headers: { 'content-encoding': 'gzip' }, raw: bomb } : undefined,
  );
  await register('bomb', server.site.url).expect(201);
  expect((await call('bomb')).error.message).toMatch(/^Its answer is over \d+ bytes$/);
});

describe('requests of a session', () => {
  it("carry its cookies behind the registration's, which end with it, and name Toolkeeper", async () => {
    const seen: [string | undefined, string | undefined, string | undefined][] = [];
    const server = await OddServer.start(({ method, id }, { headers }) => {
      seen.push([method, headers.cookie, headers['user-agent']]);
      if (method !== 'initialize') return headers.cookie?.includes('node=') ? undefined : { status: 404 };
      const session = `s${server.introductions++}`;
      server.sessions.add(session);
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'odd' } };
      const set = { 'set-cookie': `node=${session}; Path=/; HttpOnly`, 'mcp-session-id': session };
      return { status: 200, headers: set, body: { jsonrpc: '2.0', id, result } };
    });
    const headers = { Cookie: 'token=${TOKEN}' };
    await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'sticky', protocol: 'mcp', url: server.site.url, headers, env: { TOKEN: 'sesame' } })
      .expect(201);
    expect(await call('sticky')).toMatchObject({ status: 'success' });
    const begins = seen.filter(([method]) => method === 'initialize').map(([, cookie]) => cookie);
    expect(begins).toEqual(begins.map(() => 'token=sesame'));
    const called = seen.find(([method]) => method === 'tools/call');
    expect(called).toEqual([
      'tools/call',
      expect.stringMatching(/^token=sesame; node=s\d$/),
      expect.stringMatching(/^toolkeeper\/\d/),
    ]);
  });

  it("have the registration's own User-Agent", async () => {
    const seen: unknown[] = [];
    const server = await OddServer.start((_message, { headers }) => void seen.push(headers['user-agent']));
    await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'agent', protocol: 'mcp', url: server.site.url, headers: { 'User-Agent': 'mine/1' } })
      .expect(201);
    expect(new Set(seen)).toEqual(new Set(['mine/1']));
  });

  it('send no cookie to where they are redirected', async () => {
    const elsewhere = await OddServer.start();
    const server = await OddServer.start(() => ({
      status: 307,
      headers: { 'set-cookie': 'a=1', location: elsewhere.site.url },
    }));
    await register('moved', server.site.url).expect(400);
    expect(elsewhere.introductions).toBe(0);
  });
});

it.each<[string, Answer, Answer, RegExp]>([
  [
    '405',
    { status: 405, raw: 'Method Not Allowed' },
    { status: 200, headers: events, raw: 'event: endpoint\ndata: /m?s=1\n\n' },
    /older HTTP\+SSE/,
  ],
  [
    '404',
    { status: 404 },
    { status: 200, headers: events, raw: ': hi\r\n\r\nevent: endpoint\r\ndata: /m\r\n\r\n' },
    /older HTTP\+SSE/,
  ],
  [
    '405-alone',
    { status: 405 },
    { status: 405 },
    /It answered 405\. It takes no POST there.*older HTTP\+SSE/,
  ],
  ['404-alone', { status: 404, raw: 'no page' }, { status: 404 }, /It answered 404: no page$/],
])('a server of the older transport is named as one: %s', async (_what, post, get, detail) => {
  const server = await OddServer.start(({ method }) => (method === 'GET' ? get : post));
  const { body } = await register('older', server.site.url).expect(400);
  expect(body.errors[0].detail).toMatch(detail);
});

it.each(['initialize', 'tools/list'])(
  'a server that does not answer %s is told by that name',
  async (hanging) => {
    const server = await OddServer.start(({ method }) =>
      method === hanging ? { status: 200, headers: events, raw: undefined as unknown as string } : undefined,
    );
    const { body } = await register('hanging', server.site.url).expect(400);
    expect(body.errors[0].detail).toContain(`"${hanging}"`);
  },
);

it('a refusal of a tool that works is no fault; of one that never worked it is', async () => {
  let refuses = true;
  const text = 'Error: the order was not found';
  const server = await OddServer.start(({ id, method }) =>
    method === 'tools/call' && refuses
      ? {
          status: 200,
          body: { jsonrpc: '2.0', id, result: { isError: true, content: [{ type: 'text', text }] } },
        }
      : undefined,
  );
  await register('refusing', server.site.url).expect(201);
  const faults = async (): Promise<number> =>
    (await tk.http.get('/api/v1/tool-health/refusing__go/circuit').expect(200)).body.faultsInWindow;
  await call('refusing');
  expect(await faults()).toBe(1);
  refuses = false;
  expect(await call('refusing')).toMatchObject({ status: 'success' });
  refuses = true;
  for (let n = 0; n < 8; n++)
    expect(await call('refusing')).toMatchObject({
      status: 'error',
      error: { type: 'tool_error', message: text },
    });
  expect(await faults()).toBe(1);
});

it.each([
  [301, '/mcp/', '/mcp/'],
  [302, 'https://example.com/mcp', 'https://example.com/mcp'],
  [307, 'mcp/', '/mcp/'],
  [308, '/v2', '/v2'],
])('a registration that is redirected by %i names where to', async (status, location, named) => {
  const server = await OddServer.start(() => ({ status, headers: { location } }));
  const { body } = await register('moved', `${server.site.url}/mcp`).expect(400);
  expect(body.errors[0].detail).toContain(
    `It answered ${status}; it redirects to ${new URL(named, server.site.url).href}`,
  );
});

it.each([
  'http://169.254.169.254/latest',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://[::ffff:169.254.169.254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'https://168.63.129.16/',
])('the URL %s leads to where nothing may connect', async (url) => {
  const { body } = await register('metadata', url).expect(400);
  expect(body.errors).toEqual([
    { pointer: '/url', detail: expect.stringContaining('leads to a link-local or metadata address') },
  ]);
});
