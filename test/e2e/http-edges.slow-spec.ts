import { get } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { sendBytes } from '../support/raw-http.js';

// real: the whole server, HTTP over sockets; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
  await tk.register('echo', { keepAlive: true });
});
afterAll(() => tk.close());

const status = async (method: string, path: string, headers: Record<string, string>, body?: BodyInit) => {
  const response = await fetch(`${tk.url}${path}`, {
    method,
    headers: { ...tk.key, ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe('an empty body is no body', () => {
  const types = [
    'application/json',
    'application/json; charset=utf-8',
    'application/x-www-form-urlencoded',
    'text/plain',
    'application/x-protobuf',
    'application/yaml',
    'application/gzip',
  ];
  const routes: readonly (readonly [method: string, path: string])[] = [
    ['DELETE', '/mcp'],
    ['POST', '/api/v1/custom-tools/nope/enable'],
    ['POST', '/api/v1/custom-tools/nope/disable'],
    ['DELETE', '/api/v1/custom-tools/nope'],
    ['PATCH', '/api/v1/custom-tools/nope'],
    ['PUT', '/api/v1/investigations/nope'],
    ['DELETE', '/api/v1/keys/nope'],
    ['DELETE', '/api/v1/session'],
    ['POST', '/api/v1/experiments/00000000-0000-0000-0000-000000000000/run'],
  ];
  it.each(routes)('%s %s answers as without the header', async (method, path) => {
    const { status: expected } = await status(method, path, {});
    for (const type of types)
      expect([type, (await status(method, path, { 'content-type': type })).status]).toEqual([type, expected]);
  });

  it('in chunks as well', async () => {
    const head = `DELETE /api/v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${tk.key.authorization}\r\n`;
    const chunks = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    expect(await sendBytes(tk.url, head + chunks)).toMatch(/^HTTP\/1.1 204/);
  });

  it('and a route that needs one says so itself', async () => {
    for (const path of ['/api/v1/custom-tools', '/api/v1/keys', '/api/v1/playbooks']) {
      const { status: code, text } = await status('POST', path, { 'content-type': 'application/json' });
      expect([path, code, text]).toEqual([path, 400, expect.stringContaining('is required')]);
    }
    const { text } = await status('POST', '/mcp', { 'content-type': 'application/json' });
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
  });
});

it.each([
  ['GET', '/api/v1/tools'],
  ['GET', '/api/v1/tools/echo'],
  ['GET', '/api/v1/custom-tools/echo/logs'],
  ['GET', '/livez'],
  ['GET', '/metrics'],
  ['GET', '/docs'],
  ['GET', '/openapi.json'],
  ['GET', '/nowhere'],
  ['PUT', '/api/v1/tools'],
  ['POST', '/mcp'],
  ['POST', '/v1/traces'],
])('%s %s: a trailing slash makes no difference', async (method, path) => {
  const ask = (at: string) =>
    method === 'POST'
      ? status(method, at, { 'content-type': 'application/json' }, '{}')
      : status(method, at, {});
  const plain = await ask(path);
  expect((await ask(`${path}/`)).status).toBe(plain.status);
  if (path !== '/nowhere') expect(plain.status).not.toBe(404);
});

describe('a day that does not exist', () => {
  const routes = [
    '/api/v1/tool-metrics/executions?since=',
    '/api/v1/tool-metrics/executions?until=',
    '/api/v1/audit?since=',
  ];
  it.each(routes)('%s', async (path) => {
    for (const day of [
      '2026-02-30',
      '2026-02-30T00:00:00Z',
      '2025-02-29T10:00:00+02:00',
      '2026-04-31',
      '2026-13-01',
    ])
      expect([day, (await status('GET', path + encodeURIComponent(day), {})).status]).toEqual([day, 400]);
    for (const day of ['2024-02-29', '2026-01-31T23:30:00-05:00'])
      expect([day, (await status('GET', path + encodeURIComponent(day), {})).status]).toEqual([day, 200]);
  });

  it('in a body', async () => {
    const { text } = await status(
      'POST',
      '/api/v1/keys',
      { 'content-type': 'application/json' },
      JSON.stringify({ name: 'a', owner: 'a', scopes: ['tools:call'], expiresAt: '2099-02-30T00:00:00Z' }),
    );
    expect(JSON.parse(text).errors).toEqual([expect.objectContaining({ pointer: '/expiresAt' })]);
  });
});

describe('numbers that JSON.parse would change', () => {
  it.each([
    ['{"input":{"id":1234567890123456789}}', '/input/id'],
    ['{"input":{"a":[{"b/c":-9007199254740993}]}}', '/input/a/0/b~1c'],
    ['{"input":{"id":1e400}}', '/input/id'],
    ['{"input":{"s":"a\\"1234567890123456789","n":12345678901234567890}}', '/input/n'],
  ])('%s', async (body, pointer) => {
    const { status: code, text } = await status(
      'POST',
      '/api/v1/tools/echo/execute',
      { 'content-type': 'application/json' },
      body,
    );
    expect(code).toBe(400);
    expect(JSON.parse(text).errors).toEqual([
      { pointer, detail: expect.stringContaining('send it as text') },
    ]);
  });

  it('and no others', async () => {
    const input =
      '{"a":"1234567890123456789","b":9007199254740991,"c":10000000000000000,"d":0.12345678901234567,"e":1e300}';
    const { text } = await status(
      'POST',
      '/api/v1/tools/echo/execute',
      { 'content-type': 'application/json' },
      `{"input":${input}}`,
    );
    expect(JSON.parse(text).status).toBe('success');
  });

  it('over MCP', async () => {
    const call =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1234567890123456789}}}';
    const { text } = await status(
      'POST',
      '/mcp',
      { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      call,
    );
    expect(JSON.parse(text).error.message).toContain('2^53: send it as text');
  });
});

it.each(['gzip', 'deflate', 'br', 'x-unknown'])('a body in %s is 415', async (encoding) => {
  const { status: code, text } = await status(
    'POST',
    '/api/v1/tools/echo/execute',
    { 'content-type': 'application/json', 'content-encoding': encoding },
    gzipSync('{"input":{}}'),
  );
  expect([code, JSON.parse(text).detail]).toEqual([
    415,
    expect.stringContaining(`Content-Encoding "${encoding}"`),
  ]);
});

it.each([
  '/console/',
  '/console/tools',
  '/api/v1/tools',
  '/api/v1/tools/echo',
  '/livez',
  '/docs',
  '/openapi.json',
  '/api/v1/events',
])('HEAD %s answers as GET does, without the body', async (path) => {
  const accept = { accept: '*/*', 'accept-encoding': 'identity' };
  const [head, plain] = [await status('HEAD', path, accept), await status('GET', path, accept)];
  expect([head.status, head.text]).toEqual([plain.status, '']);
  expect(head.headers.get('content-type')).toBe(plain.headers.get('content-type'));
});

it('HEAD of a stream ends', async () => {
  const { status: code } = await status('HEAD', '/api/v1/events', { accept: 'text/event-stream' });
  expect(code).toBe(200);
});

describe('compression', () => {
  /** The bytes as they came. */
  const raw = (path: string, encodings: string): Promise<{ encoding: string | undefined; body: Buffer }> =>
    new Promise((resolve, reject) => {
      get(`${tk.url}${path}`, { headers: { ...tk.key, 'accept-encoding': encodings } }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ encoding: response.headers['content-encoding'], body: Buffer.concat(parts) }),
        );
      }).on('error', reject);
    });

  it('of long answers, for those who take it', async () => {
    const plain = await raw('/openapi.json', 'identity, gzip;q=0');
    expect(plain.encoding).toBeUndefined();
    const zipped = await raw('/openapi.json', 'gzip, deflate, br');
    expect(zipped.encoding).toBe('gzip');
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
    expect((await raw('/livez', 'gzip')).encoding).toBeUndefined();
  });

  it('has no hook on the routes that call tools', async () => {
    const blob = 'x'.repeat(20_000);
    const response = await fetch(`${tk.url}/api/v1/tools/echo/execute`, {
      method: 'POST',
      headers: { ...tk.key, 'content-type': 'application/json' },
      body: JSON.stringify({ input: { blob } }),
    });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(await response.text()).toContain(blob);
  });
});

describe('security headers', () => {
  const expected = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
  };
  it.each([
    ['/api/v1/tools', "default-src 'none'"],
    ['/nowhere', "default-src 'none'"],
    ['/api/v1/tools/%', "default-src 'none'"],
    ['/livez', "default-src 'none'"],
    ['/docs', "script-src 'self'"],
    ['/docs/swagger-ui.css', "script-src 'self'"],
    ['/console/', "script-src 'self'"],
    ['/', "default-src 'none'"],
  ])('%s', async (path, policy) => {
    const { headers } = await status('GET', path, {});
    expect(Object.fromEntries(headers)).toMatchObject(expected);
    expect(headers.get('content-security-policy')).toContain(policy);
  });

  it('of bytes that are no request', async () => {
    expect(await sendBytes(tk.url, 'hello\r\n\r\n')).toContain('x-content-type-options: nosniff');
  });
});

describe('member names of a body', () => {
  const post = (input: unknown) =>
    status(
      'POST',
      '/api/v1/tools/echo/execute',
      { 'content-type': 'application/json' },
      JSON.stringify({ input }),
    );
  const named = (count: number, from = 0): object =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${from + n}`, 1]));

  it.each([
    ['in one object', () => named(60_000)],
    ['in objects of a list', () => Array.from({ length: 100 }, (_, n) => named(500, n * 500))],
    ['nested', () => ({ a: { b: named(20_000) } })],
  ])('%s are at most 10,000', async (_what, make) => {
    const { status: code, text } = await post({ value: make() });
    expect([code, JSON.parse(text).detail]).toEqual([400, expect.stringContaining('10000 different')]);
  });

  it.each([
    ['objects and lists', '40000 objects and lists', () => Array.from({ length: 41_000 }, () => [])],
    ['values', '200000 values', () => Array.from({ length: 201_000 }, () => 0)],
  ])('%s are limited as well', async (_what, limit, make) => {
    const { status: code, text } = await post({ value: make() });
    expect([code, JSON.parse(text).detail]).toEqual([400, `The body has more than ${limit}`]);
  });

  it('that repeat in rows are counted once', async () => {
    const { status: code } = await post({
      rows: Array.from({ length: 20_000 }, () => ({ a: 1, b: 2, c: 3 })),
    });
    expect(code).toBe(200);
  });
});
