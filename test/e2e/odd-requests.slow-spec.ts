import { startApp, type TestApp } from '../support/app.js';

// real: the whole server, HTTP; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
  await tk.register('echo', { keepAlive: true });
});
afterAll(() => tk.close());

describe('an address that cannot be read', () => {
  it.each([
    ['a broken escape', '/api/v1/tools/%', 400],
    ['half a character', '/api/v1/tools/%c3%28', 400],
    ['a name beyond every length', `/api/v1/tools/${'x'.repeat(600)}`, 414],
  ])('%s: is a problem', async (_what, path, status) => {
    for (const agent of [tk.anonymous, tk.http]) {
      const { body, headers } = await agent.get(path).set('x-request-id', 'mine').expect(status);
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(headers['x-request-id']).toBe('mine');
      expect(body).toMatchObject({
        type: 'urn:toolkeeper:error:invalid_request',
        code: 'invalid_request',
        status,
        requestId: 'mine',
      });
    }
  });
});

describe('a body that is not JSON by its type', () => {
  const call = (type: string) =>
    tk.http
      .post('/api/v1/tools/echo/execute')
      .set('content-type', type)
      // As it is, whatever the type says.
      .serialize((body: unknown) => body as string)
      .send('{"input":{}}');

  it.each(['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8'])('%s is', (type) =>
    call(type).expect(200),
  );

  it.each([
    'text/plain',
    'text/json',
    'application/jsonx',
    'application/json-seq',
    'application/x-ndjson',
    'application/vnd.api+json',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/yaml',
    'json',
    '',
  ])('%j is not', async (type) => {
    const { body } = await call(type).expect(415);
    expect(body).toMatchObject({ code: 'invalid_request', status: 415 });
  });
});

describe('/readyz', () => {
  it('tells whoever has no key whether the server is ready, and nothing of its inside', async () => {
    const { body } = await tk.anonymous.get('/readyz').expect(200);
    for (const part of Object.values(body.details)) expect(part).toEqual({ status: expect.any(String) });
    expect(Object.keys(body.details)).toEqual(expect.arrayContaining(['server', 'sandbox', 'tools']));
    const { body: full } = await tk.http.get('/readyz').expect(200);
    expect(full.details.sandbox).toMatchObject({ tier: expect.any(Number), policy: 'enforce' });
  });
});
