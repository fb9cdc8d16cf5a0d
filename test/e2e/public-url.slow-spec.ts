import { startApp, type TestApp } from '../support/app.js';

// real: the whole server, HTTP, as a proxy that removes the path sends it; mock: nothing (nginx and haproxy: test/browser)

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ PUBLIC_URL: 'https://tools.example.com/tk/', TRUST_PROXY: 'true' });
  await tk.register('echo', { keepAlive: true });
});
afterAll(() => tk.close());

const proxied = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', host: 'tools.example.com' };

describe('with PUBLIC_URL', () => {
  it.each([
    ['text/html', '/tk/console/'],
    ['application/json', '/tk/docs'],
  ])('the first page leads %s to %s', async (accept, place) => {
    await tk.anonymous.get('/').set(proxied).set('accept', accept).expect(302).expect('location', place);
  });

  it('the console loads its files from below the path, at every address', async () => {
    for (const path of ['/console/', '/console/tools/echo/activity']) {
      const { text } = await tk.anonymous.get(path).set(proxied).set('accept', 'text/html').expect(200);
      const files = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, file = '']) => file);
      expect(files.length).toBeGreaterThan(2);
      for (const file of files) {
        expect(file).toMatch(/^\/tk\/console\/assets\//);
        await tk.anonymous.get(file.replace('/tk', '')).set(proxied).expect(200);
      }
    }
  });

  it('an asynchronous call has its place below the path', async () => {
    const { body, headers } = await tk.http
      .post('/api/v1/tools/echo/execute')
      .set({ ...proxied, prefer: 'respond-async' })
      .send({ input: {} })
      .expect(202);
    expect(headers.location).toBe(`/tk/api/v1/executions/${body.id}`);
  });

  it('the OpenAPI document, and Swagger UI with it, names the path', async () => {
    const { body } = await tk.http.get('/openapi.json').expect(200);
    expect(body.servers).toEqual([{ url: '/tk', description: 'This server' }]);
    const { text } = await tk.http.get('/docs/swagger-ui-init.js').expect(200);
    expect(text).toContain('"url": "/tk/openapi.json"');
    const { text: page } = await tk.http.get('/docs').expect(200);
    expect(page).not.toMatch(/(src|href)=["']\//);
  });

  it('a browser that signs in keeps its session over TLS, without ALLOWED_HOSTS, and no page of another origin does', async () => {
    const page = { ...proxied, origin: 'https://tools.example.com', 'sec-fetch-site': 'same-origin' };
    const key = tk.key.authorization.replace('Bearer ', '');
    const signIn = (headers: Record<string, string>) =>
      tk.anonymous.post('/api/v1/session').set(headers).send({ key });
    const { body, headers } = await signIn(page).expect(201);
    const [cookie = ''] = headers['set-cookie'] as unknown as string[];
    expect(cookie).toMatch(/^__Host-toolkeeper_session=.*; Path=\/; .*; Secure$/);
    const session = { ...page, cookie: cookie.split(';')[0] ?? '', 'x-toolkeeper-session': body.csrfToken };
    const { body: own } = await tk.anonymous.get('/api/v1/session').set(session).expect(200);
    expect(own.userId).toBe('admin');
    await tk.anonymous.post('/api/v1/custom-tools/echo/disable').set(session).send({}).expect(200);
    await signIn({ ...page, origin: 'https://tools.example.com:444' }).expect(403);
  });

  it('a caller without a key is asked for one under each name', async () => {
    for (const host of ['tools.example.com', '127.0.0.1', 'localhost:3000'])
      await tk.anonymous
        .get('/api/v1/tools')
        .set({ ...proxied, host })
        .expect(401, /TRUST_PROXY.*ALLOWED_HOSTS/);
  });
});

it('the OpenAPI document is the same with and without compression', async () => {
  const get = (encoding: string) =>
    fetch(`${tk.url}/openapi.json`, { headers: { ...tk.key, 'accept-encoding': encoding } });
  const [plain, zipped] = [await get('identity'), await get('gzip')];
  expect([plain, zipped].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
  expect(zipped.headers.get('vary')).toBe('accept-encoding');
  expect(await zipped.text()).toBe(await plain.text());
});
