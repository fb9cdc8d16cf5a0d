import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { WebSite } from '../../../test/support/web-site.js';
import { AllowListProxy, type ProxyOptions } from './allow-list-proxy.js';

// real: the proxy on its unix socket, an HTTP server behind it; mock: nothing

let upstream: WebSite;
let port: number;
const proxies: AllowListProxy[] = [];

beforeAll(async () => {
  upstream = await WebSite.start(({ method, url, headers }, response) => {
    if (url === '/huge') response.end(Buffer.alloc(300_000));
    else if (url !== '/silent') response.end(`${method} ${url} ${headers.host}`);
  });
  ({ port } = upstream);
});
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});
afterAll(() => upstream.stop());

async function proxyFor(hosts: string[], limits: ProxyOptions = {}): Promise<AllowListProxy> {
  const proxy = await AllowListProxy.listen(hosts, limits);
  proxies.push(proxy);
  return proxy;
}

/** One plain request through the proxy. */
async function ask(
  proxy: AllowListProxy,
  path: string,
  body?: Buffer,
): Promise<{ status?: number; text: string }> {
  const outgoing = request({ socketPath: proxy.path, path, method: body ? 'POST' : 'GET' });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer);
  } catch {
    chunks.push(Buffer.from(' (cut off)'));
  }
  return { status: answer.statusCode, text: Buffer.concat(chunks).toString() };
}

/** @returns the first line of the proxy's answer, and the connection */
async function tunnel(proxy: AllowListProxy, target: string): Promise<{ line: string; socket: Socket }> {
  const socket = connect(proxy.path);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  return { line: data.toString().split('\r\n')[0] ?? '', socket };
}

describe('a host that is allowed', () => {
  it('is reached by plain requests, under the name that was allowed', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    expect(await ask(proxy, `http://127.0.0.1:${port}/path?q=1`)).toEqual({
      status: 200,
      text: `GET /path?q=1 127.0.0.1:${port}`,
    });
    expect((await ask(proxy, `http://127.0.0.1:${port}/`, Buffer.from('x'))).text).toMatch(/^POST/);
  });

  it('is reached through CONNECT', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    const { line, socket } = await tunnel(proxy, `127.0.0.1:${port}`);
    expect(line).toBe('HTTP/1.1 200 Connection established');
    socket.write('GET /inside HTTP/1.0\r\nHost: x\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toContain('200 OK');
    socket.destroy();
  });

  it('by a name that is listed itself, although its address is private', async () => {
    const proxy = await proxyFor([`localhost:${port}`]);
    expect((await ask(proxy, `http://localhost:${port}/`)).status).toBe(200);
  });
});

describe('headers that hold for one connection only', () => {
  it('are not passed on: a trailer that is announced without chunks ends nothing', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    const socket = connect(proxy.path);
    const head = ['Trailer: a', 'TE: trailers', 'Expect: 100-continue', 'Connection: close'].join('\r\n');
    socket.write(`GET http://127.0.0.1:${port}/plain HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toContain('GET /plain');
  });

  it.each([
    [
      'a trailer',
      'HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 2\r\n\r\nok',
      { status: 200, text: 'ok' },
    ],
    ['a status below 100', 'HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n', { status: 502 }],
  ])('nor is %s in an answer', async (_case, said, expected) => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.end(said))).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect(await ask(await proxyFor([host]), `http://${host}/`)).toMatchObject(expected);
    } finally {
      server.close();
    }
  });
});

describe('every other', () => {
  it('host or port is refused, plainly and through CONNECT', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    const { status, text } = await ask(proxy, 'http://127.0.0.1:1/');
    expect([status, text]).toEqual([403, "127.0.0.1:1 is not among the tool's allowedHosts"]);
    for (const target of [`localhost:${port}`, '127.0.0.1:443', `[::1]:${port}`]) {
      const { line, socket } = await tunnel(proxy, target);
      expect(line).toMatch(/ 403 /);
      socket.destroy();
    }
  });

  it('name below a * that leads into a private network is refused', async () => {
    const proxy = await proxyFor([`*.localhost:${port}`]);
    const { status, text } = await ask(proxy, `http://inside.localhost:${port}/`);
    expect([403, 502]).toContain(status);
    expect(text).toMatch(/resolves to an address that is not allowed|does not resolve to an address/);
  });

  it.each(['169.254.169.254', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '100.100.100.200'])(
    'address of a metadata service is refused, although it is listed: %s',
    async (host) => {
      const proxy = await proxyFor([host]);
      const { status, text } = await ask(proxy, `http://${host}/`);
      expect([status, text]).toEqual([403, expect.stringContaining('to which nothing may connect')]);
      const { line, socket } = await tunnel(proxy, `${host}:443`);
      expect(line).toMatch(/ 403 /);
      socket.destroy();
    },
  );

  it.each(['127.0.0.1', 'localhost', '[::ffff:7f00:1]'])(
    'own address of the gateway is refused, although it is listed: %s',
    async (host) => {
      const proxy = await proxyFor([`${host}:${port}`], { ownPort: () => port });
      const { status, text } = await ask(proxy, `http://${host}:${port}/`);
      expect([status, text]).toEqual([403, expect.stringContaining('is the address of this server itself')]);
      const { line, socket } = await tunnel(proxy, `${host}:${port}`);
      expect(line).toMatch(/ 403 /);
      socket.destroy();
    },
  );

  it('request that is none for a proxy is refused', async () => {
    const proxy = await proxyFor(['a.example']);
    expect((await ask(proxy, '/etc/passwd')).status).toBe(400);
    expect((await ask(proxy, 'https://a.example/')).status).toBe(400);
    const { line, socket } = await tunnel(proxy, 'not a host');
    expect(line).toMatch(/ 400 /);
    socket.destroy();
  });

  it('request that cannot be passed on says so', async () => {
    const proxy = await proxyFor(['127.0.0.1:1']);
    expect((await ask(proxy, 'http://127.0.0.1:1/')).status).toBe(502);
  });
});

describe('is bounded', () => {
  it('in the size of heads', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`], { maxHeaderBytes: 2_000 });
    expect((await ask(proxy, `http://127.0.0.1:${port}/${'x'.repeat(4_000)}`)).status).toBe(431);
  });

  it('in time: who sends no head, or gets no answer, does not stay', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`], { headTimeoutMs: 100 });
    const silent = connect(proxy.path);
    silent.write('GET http');
    const [data] = (await once(silent, 'data')) as [Buffer];
    expect(data.toString()).toContain('408');
    const other = await proxyFor([`127.0.0.1:${port}`], { idleTimeoutMs: 100 });
    expect((await ask(other, `http://127.0.0.1:${port}/silent`)).status).toBe(504);
  });

  it('by a tunnel on which nothing moves', async () => {
    const proxy = await proxyFor([`127.0.0.1:${port}`], { idleTimeoutMs: 100 });
    const { socket } = await tunnel(proxy, `127.0.0.1:${port}`);
    await once(socket, 'close');
  });

  it('by its own end: nothing stays open', async () => {
    const proxy = await AllowListProxy.listen([`127.0.0.1:${port}`]);
    const { socket } = await tunnel(proxy, `127.0.0.1:${port}`);
    await Promise.all([once(socket, 'close'), proxy.close()]);
  });
});
