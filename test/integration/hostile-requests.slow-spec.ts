import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { OpenApi, type Operation } from '../support/openapi.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { sendBytes, statusesIn } from '../support/raw-http.js';

// real: the whole server with its examples, HTTP over sockets; mock: nothing.

let tk: TestApp;
let api: OpenApi;
beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(process.cwd(), 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  });
  api = new OpenApi((await tk.http.get('/openapi.json').expect(200)).body);
});
afterAll(() => tk.close());

const key = (): string => tk.key.authorization.slice('Bearer '.length);
const isWrite = ({ method }: Operation): boolean => method !== 'get';
describe('keys in odd headers', () => {
  const routes = [
    ['DELETE', '/api/v1/tool-metrics'],
    ['POST', '/api/v1/custom-tools/disk_usage/disable'],
    ['GET', '/api/v1/custom-tools/disk_usage/logs'],
  ] as const;
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const odd = (): string[] =>
    [
      ...['', 'Authorization:', 'Authorization: Bearer', 'Authorization: Bearer ', 'X-Api-Key:'],
      ...['null', 'undefined', 'true', '*', '0', '[]', "' OR 1=1", 'admin'].map(
        (each) => `Authorization: Bearer ${each}`,
      ),
      ...[`Bearer ${key()}x`, `Bearer x${key()}`, `Bearer ${key().slice(1)}`, `Bearer ${key()} ${key()}`],
      ...[
        `Basic ${encoded(`admin:${key()}`)}`,
        `Token ${key()}`,
        `Digest ${key()}`,
        `Bearer,${key()}`,
        key(),
      ],
      ...[`Bearer "${key()}"`, `Bearer =${key()}`, `Bearer ${encoded(key())}`, `Bearer ${key()}\u0000`],
      ...[`Bearer ${key().toUpperCase()}`, `Bearer ${key().toLowerCase()}`],
    ].map((line) =>
      line === '' || (line.includes(':') && /^(Auth|X-)/.test(line)) ? line : `Authorization: ${line}`,
    );
  const elsewhere = (): string[] => [
    `Cookie: key=${key()}; authorization=Bearer ${key()}`,
    `X-Api-Key: ${key()}, ${key()}`,
    `X-Api-Key: ${key()}\r\nX-Api-Key: ${key()}`,
    `Proxy-Authorization: Bearer ${key()}`,
    `X-Authorization: Bearer ${key()}`,
    `X-Forwarded-Authorization: Bearer ${key()}`,
    `X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1`,
    'X-Original-URL: /livez\r\nX-Rewrite-URL: /livez',
    'X-HTTP-Method-Override: GET',
    'Host: evil.example',
    'X-Principal: admin\r\nX-User: admin\r\nX-Scopes: tools:admin',
  ];

  it('open no route', async () => {
    const opened: string[] = [];
    for (const [method, path] of routes) {
      for (const header of [...odd(), ...elsewhere()]) {
        const host = header.startsWith('Host:') ? '' : 'Host: localhost\r\n';
        const head = `${method} ${path} HTTP/1.1\r\n${host}${header}${header && '\r\n'}Connection: close\r\n\r\n`;
        const [status = 0] = statusesIn(await sendBytes(tk.url, head, 5_000));
        if (![400, 401, 403].includes(status)) opened.push(`${status} ${method} ${path} ${header}`);
      }
    }
    expect(opened).toEqual([]);
  });

  it('but the right ones do', async () => {
    for (const [name, value] of [
      ['Authorization', `Bearer ${key()}`],
      ['authorization', `bearer   ${key()}`],
      ['X-API-KEY', key()],
    ]) {
      const head = `GET /api/v1/custom-tools/disk_usage/logs HTTP/1.1\r\nHost: localhost\r\n${name}: ${value}\r\nConnection: close\r\n\r\n`;
      expect(statusesIn(await sendBytes(tk.url, head, 5_000))).toEqual([200]);
    }
  });

  it('nor does the key in a query', async () => {
    for (const name of ['key', 'api_key', 'access_token', 'x-api-key'])
      await tk.anonymous.delete(`/api/v1/tool-metrics?${name}=${key()}`).expect(401);
  });
});

describe('odd HTTP', () => {
  const body = '{"input":{"path":"/"}}';
  const smuggled = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: smuggled\r\n\r\n';
  const head = (lines: string, rest = ''): string =>
    `POST /api/v1/tools/disk_usage/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${rest}`;
  const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
  const odd: readonly (readonly [string, string])[] = [
    ['two lengths', head('Content-Length: 22\r\nContent-Length: 5', body)],
    ['a length in a list', head('Content-Length: 22, 22', body)],
    ['a negative length', head('Content-Length: -1', body)],
    ['a length with a sign', head('Content-Length: +22', body)],
    ['a length beyond numbers', head(`Content-Length: ${'9'.repeat(40)}`, body)],
    ['length and chunks', head('Content-Length: 5\r\nTransfer-Encoding: chunked', `0\r\n\r\n${smuggled}`)],
    ['chunks and length', head('Transfer-Encoding: chunked\r\nContent-Length: 5', `0\r\n\r\n${smuggled}`)],
    ['chunks, in odd letters', head('Transfer-Encoding: xchunked\r\nContent-Length: 22', body + smuggled)],
    ['chunks twice', head('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', chunked(body))],
    ['chunks behind a tab', head('Transfer-Encoding:\tchunked', chunked(body))],
    [
      'chunks with a vertical tab',
      head('Transfer-Encoding: \x0bchunked\r\nContent-Length: 22', body + smuggled),
    ],
    ['chunks by another name', head('Transfer-Encoding : chunked\r\nContent-Length: 22', body + smuggled)],
    ['a chunk without end', head('Transfer-Encoding: chunked', `ffffffffffffffff\r\n${body}`)],
    ['a chunk of no number', head('Transfer-Encoding: chunked', `zz\r\n${body}\r\n0\r\n\r\n`)],
    ['a chunk with an extension', head('Transfer-Encoding: chunked', `16;a="b\r\n"\r\n${body}\r\n0\r\n\r\n`)],
    [
      'a trailer that is a key',
      head('Transfer-Encoding: chunked\r\nTrailer: X-Api-Key', `16\r\n${body}\r\n0\r\nX-Api-Key: x\r\n\r\n`),
    ],
    ['bare line feeds', head('Content-Length: 22', body).replaceAll('\r\n', '\n')],
    ['bare carriage returns', head('Content-Length: 22', body).replaceAll('\r\n', '\r')],
    ['a folded header', head('X-Folded: a\r\n b\r\nContent-Length: 22', body)],
    ['a header without a colon', head('Nonsense\r\nContent-Length: 22', body)],
    ['a header without a name', head(': x\r\nContent-Length: 22', body)],
    ['a NUL in a header', head('X-Nul: a\0b\r\nContent-Length: 22', body)],
    [
      'a thousand headers',
      head(
        `${Array.from({ length: 1_000 }, (_, n) => `X-${n}: 1`).join('\r\n')}\r\nContent-Length: 22`,
        body,
      ),
    ],
    ['a header of 20 KB', head(`X-Long: ${'x'.repeat(20_000)}\r\nContent-Length: 22`, body)],
    ['an address of 20 KB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['an absolute address', 'GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['an address of another host', 'GET http://169.254.169.254/livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n'],
    ['HTTP 0.9', 'GET /livez\r\n\r\n'],
    ['HTTP 1.0', 'GET /livez HTTP/1.0\r\n\r\n'],
    ['HTTP 2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP 9', 'GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n'],
    ['an unknown method', 'BREW /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['small letters', 'get /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['TRACE', 'TRACE /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['CONNECT', 'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['OPTIONS of all', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    [
      'an upgrade',
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    [
      'an upgrade to HTTP 2',
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAA\r\n\r\n',
    ],
    ['an expectation', head('Expect: 100-continue\r\nContent-Length: 22', body)],
    ['another expectation', head('Expect: 200-ok\r\nContent-Length: 22', body)],
    [
      'a body of GET',
      `GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    ],
    ['spaces in the line', 'GET  /livez  HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['NUL in the address', 'GET /livez\0 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ];

  it.each(odd)('%s: no fault, and nothing is smuggled', async (_what, bytes) => {
    const marked =
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: after\r\nConnection: close\r\n\r\n';
    const text = await sendBytes(tk.url, Buffer.from(bytes + marked, 'latin1'), 2_000);
    const statuses = statusesIn(text);
    expect(text).not.toMatch(/x-request-id: smuggled/i);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    // 100 Continue stands before an answer; what comes after a broken request is not answered at all.
    expect(statuses.filter((status) => status >= 200).length).toBeLessThanOrEqual(2);
    await tk.anonymous.get('/livez').expect(200);
  });
});

describe('pages of other origins', () => {
  const pages = [
    { origin: 'http://localhost:1' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'file://' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'http://127.0.0.1.evil.example', 'sec-fetch-site': 'same-origin' },
  ];

  it('write nowhere', async () => {
    const passed: string[] = [];
    for (const each of api.operations().filter(isWrite)) {
      for (const page of pages) {
        const url = api.urlOf(each);
        const { status } = await tk.anonymous[each.method as 'post'](url).set(page).send({});
        if (status !== 403) passed.push(`${status} ${each.method} ${url} ${JSON.stringify(page)}`);
      }
    }
    expect(passed).toEqual([]);
  });
});

describe('many connections', () => {
  it('that are idle, half heads or half bodies leave the server as quick as before', async () => {
    const { port } = new URL(tk.url);
    const half =
      'POST /api/v1/tools/disk_usage/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    const sockets = Array.from({ length: 1_500 }, (_, n) => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.write(['', 'GET /livez HTTP/1.1\r\nHost: lo', half][n % 3] ?? '');
      return socket;
    });
    try {
      for (let n = 0; n < 20; n++) await tk.anonymous.get('/livez').expect(200);
      await tk.call('disk_usage', { path: '/' }).expect(200);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('that follow events are as many as one caller may have', async () => {
    const follow = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const sent = httpRequest(`${tk.url}/api/v1/events`, {
          agent: false,
          headers: { accept: 'text/event-stream' },
        });
        sent.on('response', ({ statusCode = 0 }) => resolve(statusCode)).on('error', reject);
        following.push(sent);
        sent.end();
      });
    const following: ReturnType<typeof httpRequest>[] = [];
    const statuses = await Promise.all(Array.from({ length: 70 }, follow));
    for (const sent of following) sent.on('error', () => undefined).destroy();
    expect([200, 429].map((status) => statuses.filter((each) => each === status).length)).toEqual([8, 62]);
  });
});
