import { gzipSync } from 'node:zlib';
import { NameServer } from '../../../../test/support/name-server.js';
import { WebSite } from '../../../../test/support/web-site.js';
import { OutboundRules } from '../../../base/outbound/addresses.js';
import { NotSent, type OutboundAnswer, OutboundHttp, type OutboundRequest } from './outbound-http.js';

/** real: HTTP and name servers, both on loopback. */
describe('OutboundHttp', () => {
  const running: { stop(): unknown }[] = [];
  let site: WebSite;
  let inner: WebSite;
  let http: OutboundHttp;

  beforeAll(async () => {
    inner = await WebSite.start((_request, response) => response.end('secret'));
    site = await WebSite.start(({ url = '/' }, response) => {
      const [, path, target = ''] = /^\/([^?]*)\??(.*)$/.exec(url) ?? [];
      if (path === 'to') response.writeHead(302, { location: decodeURIComponent(target) }).end();
      else if (path === 'bomb') {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(8_388_608)));
      } else if (path === 'never') response.flushHeaders();
      else if (path === 'cut') response.destroy();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end(`this is ${path}`);
    });
    http = httpWith([`127.0.0.1:${site.port}`, `localhost:${site.port}`]);
    running.push(site, inner);
  });
  afterAll(async () => {
    for (const each of running) await each.stop();
  });

  const httpWith = (allow: string[], names?: NameServer, ownPort?: number): OutboundHttp => {
    const rules = OutboundRules.parse(allow);
    if (!rules) throw new Error('not understood');
    return new OutboundHttp(rules, () => ownPort, names?.resolver);
  };
  const namesOf = async (names: Record<string, string[]>): Promise<NameServer> => {
    const server = await NameServer.start(names);
    running.push(server);
    return server;
  };
  const get = (url: string, changes: Partial<OutboundRequest> = {}, by = http): Promise<OutboundAnswer> => {
    const usual = {
      method: 'GET',
      headers: {},
      timeoutMs: 20_000,
      maxBytes: 65_536,
      maxRedirects: 2,
    } as const;
    return by.send({ url, ...usual, ...changes }, new AbortController().signal);
  };

  it('gets what the operator allows, over redirects', async () => {
    const { url, status, body, whole } = await get(`${site.url}/to?/to%3F/page`);
    expect({ url, status, body: body.toString(), whole }).toEqual({
      url: `${site.url}/page`,
      status: 200,
      body: 'this is page',
      whole: true,
    });
    const named = await get(`http://localhost:${site.port}/a`);
    expect(named.body.toString()).toBe('this is a');
  });

  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://①②⑦.⓪.⓪.①/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://10.0.0.1/',
    'http://93.184.215.14:22/',
  ])('connects to none of %s', async (url) => {
    await expect(get(url)).rejects.toMatchObject({
      isToolFault: false,
      message: expect.stringMatching(/^Tools may not connect to .*OUTBOUND_ALLOW/) as string,
    });
    const target = url.replace(/[^ -~]/g, encodeURIComponent);
    await expect(get(`${site.url}/to?${encodeURIComponent(target)}`)).rejects.toThrow(
      'Tools may not connect to',
    );
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://100.100.100.200/',
  ])('connects to %s for no rule', async (url) => {
    const host = new URL(url).hostname;
    const by = httpWith([host, '0.0.0.0/0', '[::]/0']);
    await expect(get(url, {}, by)).rejects.toThrow('to which nothing may connect');
  });

  it('follows no redirect to where it may not go', async () => {
    await expect(get(`${site.url}/to?${inner.url}`)).rejects.toThrow('loopback address');
    await expect(get(`${site.url}/to?file:///etc/passwd`)).rejects.toThrow('file: is not supported');
    expect(inner.seen).toEqual([]);
  });

  it.each([
    ['text', 'not a url', 'is no URL'],
    ['another scheme', 'ftp://example.com/', 'only http and https'],
    ['a password', 'http://user:pass@example.com/', 'user name or password'],
    ['what is very long', `http://example.com/${'x'.repeat(9_000)}`, 'is no URL'],
  ])('does not take %s', async (_what, url, why) => {
    await expect(get(url)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(why) as string,
    });
  });

  it('never connects to this server itself, whatever is allowed', async () => {
    const own = httpWith([`127.0.0.1:${inner.port}`, `localhost:${inner.port}`], undefined, inner.port);
    await expect(get(inner.url, {}, own)).rejects.toThrow('the address of this server itself');
    await expect(get(`http://localhost:${inner.port}`, {}, own)).rejects.toThrow('this server itself');
    expect(inner.seen).toEqual([]);
  });

  it('looks at the addresses of names', async () => {
    const names = await namesOf({
      'inner.test': ['127.0.0.1'],
      'cloud.test': ['169.254.169.254'],
      'none.test': [],
    });
    const by = httpWith([], names);
    await expect(get('http://inner.test/', {}, by)).rejects.toThrow('loopback address');
    await expect(get('http://cloud.test/', {}, by)).rejects.toThrow('link-local or metadata address');
    await expect(get('http://unknown.test/', {}, by)).rejects.toMatchObject({
      code: -32602,
      message: 'There is no host unknown.test',
    });
    await expect(get('http://none.test/', {}, by)).rejects.toThrow('There is no host none.test');
  });

  it.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'app.localhost',
    '127.0.0.1',
    '[::1]',
    '127.1',
    'intranet',
  ])('says of %s that it may not, and which setting allows it', async (host) => {
    const by = httpWith([], await namesOf({}));
    await expect(get(`http://${host}/`, {}, by)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('OUTBOUND_ALLOW') as string,
    });
  });

  it('reaches localhost by the rule of its address', async () => {
    const by = httpWith([`127.0.0.0/8:${site.port}`], await namesOf({}));
    expect((await get(`http://localhost:${site.port}/page`, {}, by)).body.toString()).toBe('this is page');
  });

  it('connects to the very address that it looked at: another answer comes too late', async () => {
    const good = await WebSite.start((_request, response) => response.end('good'), '127.0.0.2');
    const bad = await WebSite.start((_request, response) => response.end('bad'), '127.0.0.1', good.port);
    running.push(good, bad);
    const names = await namesOf({ 'rebinds.test': ['127.0.0.2', '127.0.0.1'] });
    const by = httpWith([`127.0.0.2/32:${good.port}`], names);
    const url = `http://rebinds.test:${good.port}/`;
    expect((await get(url, {}, by)).body.toString()).toBe('good');
    expect(names.asked).toEqual(['rebinds.test']);
    await expect(get(url, {}, by)).rejects.toThrow('loopback address');
    expect(bad.seen).toEqual([]);
  });

  it('reads no more than it may, after decompression', async () => {
    const { body, whole } = await get(`${site.url}/bomb`);
    expect([body.length, whole]).toEqual([65_536, false]);
  });

  it('says what went wrong, and whose fault it is not', async () => {
    await expect(get(`${site.url}/never`, { timeoutMs: 100 })).rejects.toMatchObject({
      type: 'upstream_unavailable',
      message: `127.0.0.1:${site.port} gave no whole answer within 0.1 seconds`,
    });
    await expect(get(`${site.url}/cut`)).rejects.toMatchObject({ type: 'upstream_unavailable' });
    await expect(get(`${site.url}/to?/to%3F/to%3F/page`)).rejects.toThrow('redirected more than 2 times');
    const gone = await WebSite.start(() => undefined);
    const { url, port } = gone;
    await gone.stop();
    const refused = get(url, {}, httpWith([`127.0.0.1:${port}`]));
    await expect(refused).rejects.toThrow(`127.0.0.1:${port} cannot be reached: ECONNREFUSED`);
    await expect(refused).rejects.toBeInstanceOf(NotSent);
  });

  it('leaves with its caller', async () => {
    const caller = new AbortController();
    const usual = { method: 'GET', headers: {}, timeoutMs: 20_000, maxBytes: 10, maxRedirects: 0 } as const;
    const sent = http.send({ url: `${site.url}/never`, ...usual }, caller.signal);
    caller.abort(new Error('left'));
    await expect(sent).rejects.toThrow('left');
  });
});
