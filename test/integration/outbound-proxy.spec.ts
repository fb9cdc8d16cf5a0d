import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer, request as secureRequest, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import tls from 'node:tls';
import { LlmEndpoint } from '../../src/agents/llm/llm.module.js';
import { OutboundRules } from '../../src/base/outbound/addresses.js';
import { HttpClient } from '../../src/base/outbound/http-client.js';
import { OutboundHttp } from '../../src/runtime/builtin-tools/web/outbound-http.js';
import { remoteLauncher } from '../../src/runtime/mcp-client/remote-server.js';
import { AllowListProxy } from '../../src/runtime/sandbox/allow-list-proxy.js';
import { ForwardProxy } from '../support/forward-proxy.js';
import { NameServer } from '../support/name-server.js';
import { WebSite } from '../support/web-site.js';

// real: a proxy, a site by HTTP and by HTTPS, a name server, all on loopback; mock: nothing. Only the proxy knows site.example.

const pem = readFileSync(join(__dirname, '..', 'fixtures', 'tls', 'site.example.pem'), 'utf8');
const trusted = tls.getCACertificates('default');
const answer = JSON.stringify({
  jsonrpc: '2.0',
  id: '1',
  result: {},
  choices: [{ message: { content: 'hello' } }],
});
const signal = AbortSignal.timeout(60_000);
const names = ['http_proxy', 'https_proxy', 'no_proxy'];
const variables = names.flatMap((name) => [name, name.toUpperCase()]);

let site: WebSite;
let secure: SecureServer;
let proxy: ForwardProxy;
let given: NodeJS.ProcessEnv;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  tls.setDefaultCACertificates([...trusted, pem]);
  site = await WebSite.start(({ url }, response) => {
    if (url === '/to') response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  secure = createServer({ cert: pem, key: pem }, (incoming, response) => {
    incoming.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    });
  });
  await once(secure.listen(0, '127.0.0.1'), 'listening');
});
beforeEach(async () => {
  given = { ...process.env };
  proxy = await ForwardProxy.start({
    'site.example:80': site.port,
    'site.example:443': (secure.address() as AddressInfo).port,
    'intranet:80': site.port,
  });
  for (const name of variables) delete process.env[name];
  process.env['HTTP_PROXY'] = process.env['HTTPS_PROXY'] = `http://me:p%40ss@127.0.0.1:${proxy.port}`;
});
afterEach(async () => {
  for (const name of variables) delete process.env[name];
  Object.assign(process.env, given);
  await Promise.all(open.splice(0).map((each) => each.close()));
  await proxy.stop();
});
afterAll(async () => {
  tls.setDefaultCACertificates(trusted);
  await site.stop();
  secure.close();
  secure.closeAllConnections();
});

const httpClient = (origin: string, rules?: OutboundRules): HttpClient => {
  const { hostname, port } = new URL(origin);
  const client = new HttpClient({
    ...{ origin, connections: 1, timeoutMs: 60_000, maxResponseBytes: 10_000 },
    obstacle: rules && ((address) => rules.obstacle(hostname, Number(port) || 80, address)),
  });
  open.push(client);
  return client;
};

const webTool = async (url: string, allow = '', resolver?: NameServer['resolver']): Promise<string> => {
  const rules = OutboundRules.parse(allow.split(',').filter(Boolean));
  if (!rules) throw new Error('not understood');
  const limits = { timeoutMs: 60_000, maxBytes: 10_000, maxRedirects: 2 };
  const http = new OutboundHttp(rules, () => undefined, resolver);
  const { body, status, statusText } = await http.send(
    { url, method: 'GET', headers: {}, ...limits },
    signal,
  );
  expect([status, statusText]).toEqual([200, 'OK']);
  return body.toString();
};

async function mcpClient(origin: string): Promise<string> {
  const launch = remoteLauncher(
    { url: new URL(`${origin}/mcp`), headers: {}, redact: String },
    { maxBytes: 10_000, linesPerSecond: 100, ownPort: () => undefined },
  );
  const server = launch({ command: '', args: [], cwd: '/', env: {} });
  server.stdin.write('{"jsonrpc":"2.0","id":"1","method":"ping"}\n');
  const [line] = await once(server.stdout as unknown as Socket, 'data');
  server.kill('SIGTERM');
  return String(line);
}

/** As a tool in a sandbox reaches its allowed hosts. */
async function sandboxed(origin: string, hosts = ['site.example']): Promise<string> {
  const { proxy: own, ask } = await allowList(hosts);
  return (await ask(own, origin)).text;
}

async function allowList(hosts: string[]) {
  const own = await AllowListProxy.listen(hosts);
  open.push(own);
  const ask = async ({ path }: AllowListProxy, origin: string): Promise<{ status: number; text: string }> => {
    const { protocol, host, hostname } = new URL(origin);
    const outgoing =
      protocol === 'http:'
        ? request({ socketPath: path, path: `${origin}/` })
        : await tunnelled(path, `${host}:443`, hostname);
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await textOf(response) };
  };
  return { proxy: own, ask };
}

async function tunnelled(socketPath: string, path: string, servername: string) {
  const asked = request({ socketPath, path, method: 'CONNECT' });
  asked.end();
  const [, socket] = (await once(asked, 'connect')) as [IncomingMessage, Socket];
  return secureRequest({ createConnection: () => tls.connect({ socket, servername }), path: '/' });
}

const ways: [string, (origin: string) => Promise<unknown>, string][] = [
  ['a webhook', (origin) => httpClient(origin).ask({ method: 'POST', path: '/', body: '{}' }), 'POST'],
  [
    'the model endpoint',
    async (origin) => {
      const endpoint = new LlmEndpoint({ url: origin, model: 'm', apiKey: undefined });
      open.push(endpoint);
      return endpoint.complete({ messages: [] }, { signal });
    },
    'POST',
  ],
  ['a web tool', (origin) => webTool(`${origin}/`), 'GET'],
  ['an MCP server', mcpClient, 'POST'],
  ['a tool in a sandbox', sandboxed, 'GET'],
];

it.each(
  ways.flatMap(([what, ask, method]) => [
    [what, 'http://site.example', ask, `${method} http://site.example`] as const,
    [what, 'https://site.example', ask, 'CONNECT site.example:443'] as const,
  ]),
)('%s at %s is reached through the proxy alone', async (_what, origin, ask, expected) => {
  const found = await ask(origin);
  expect(typeof found === 'string' ? JSON.parse(found) : found).toMatchObject(
    'text' in Object(found) ? { text: 'hello' } : JSON.parse(answer),
  );
  expect(proxy.seen).toEqual([expected]);
  expect(proxy.credentials).toEqual([`Basic ${Buffer.from('me:p@ss').toString('base64')}`]);
});

describe('behind the proxy', () => {
  it.each([
    ['http://10.0.0.1/', 'private address'],
    ['http://[::ffff:10.0.0.1]/', 'address'],
    ['https://192.168.1.1/', 'private address'],
    ['http://169.254.169.254/', 'link-local or metadata address'],
    ['http://metadata.google.internal/', 'link-local or metadata address'],
    ['http://intranet/', 'name of a private network'],
    ['https://db.internal/', 'name of a private network'],
    ['http://site.example:8080/', 'port 8080'],
    ['http://site.example/to', 'private address'],
  ])('%s is refused here: %s', async (url, why) => {
    await expect(webTool(url)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(why) as string,
    });
    const { origin, pathname: path } = new URL(url);
    if (path === '/to') return;
    const asked = httpClient(origin, OutboundRules.parse([])).ask({ method: 'GET', path });
    await expect(asked).rejects.toMatchObject({ message: expect.stringContaining(why) as string });
    expect(proxy.seen).toEqual([]);
  });

  it('OUTBOUND_ALLOW allows a name of a private network, but none of metadata', async () => {
    expect(JSON.parse(await webTool('http://intranet/', 'intranet'))).toHaveProperty('choices');
    const metadata = webTool('http://metadata.google.internal/', 'metadata.google.internal');
    await expect(metadata).rejects.toThrow('to which nothing may connect');
    expect(proxy.seen).toEqual(['GET http://intranet']);
  });

  it('a tool in a sandbox reaches the hosts on its list, and no metadata', async () => {
    const { proxy: own, ask } = await allowList(['site.example', '169.254.169.254', 'unknown.example']);
    expect((await ask(own, 'http://other.example')).status).toBe(403);
    expect((await ask(own, 'http://169.254.169.254')).status).toBe(403);
    expect(proxy.seen).toEqual([]);
    expect((await ask(own, 'http://unknown.example')).status).toBe(403);
    await expect(ask(own, 'https://unknown.example')).rejects.toThrow();
    expect(proxy.seen).toEqual(['GET http://unknown.example', 'CONNECT unknown.example:443']);
  });

  it('its refusal is told', async () => {
    await expect(webTool('https://unknown.example/')).rejects.toThrow('Proxy response (403)');
  });
});

it.each(['site.example', '.example', '*.site.example, other', 'site.example:%', '*'])(
  'NO_PROXY=%s: a connection goes directly to the address that was checked',
  async (list) => {
    const server = await NameServer.start({ 'site.example': ['127.0.0.1'] });
    process.env['NO_PROXY'] = list.replace('%', String(site.port));
    try {
      const url = `http://site.example:${site.port}/`;
      const allowed = await webTool(url, `127.0.0.0/8:${site.port}`, server.resolver);
      expect(JSON.parse(allowed)).toHaveProperty('choices');
      await expect(webTool(url, '', server.resolver)).rejects.toThrow('loopback address');
      expect(proxy.seen).toEqual([]);
    } finally {
      server.stop();
    }
  },
);

it('this machine is reached directly', async () => {
  const found = await httpClient(site.url).ask({ method: 'GET', path: '/' });
  expect(found).toEqual(JSON.parse(answer));
  expect(proxy.seen).toEqual([]);
});

it('small letters go first, and a variable that is no URL stops the request', async () => {
  process.env['http_proxy'] = 'socks5://127.0.0.1:1';
  await expect(webTool('http://site.example/')).rejects.toThrow('HTTP_PROXY must be an http or https URL');
});
