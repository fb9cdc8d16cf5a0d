import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

// real: the whole server, a tool's process in its sandbox, HTTP; mock: nothing

const asker = join(__dirname, '..', 'fixtures', 'hostile', 'asker.py');
const python = { command: '/usr/bin/python3', args: [asker] };
const inTheNetwork = { ...python, sandbox: { allowNetwork: true } };

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());

/** What a tool gets when it asks the server that runs it. */
async function asks(method: string, path: string, body?: object, headers?: object): Promise<Json> {
  const input = { method, url: `${tk.url}${path}`, ...(body && { body }), ...(headers && { headers }) };
  const answer = await tk.call('asker', input).expect(200);
  expect(answer.body).toMatchObject({ status: 'success' });
  return answer.body.result;
}

describe('a tool with a network', () => {
  beforeAll(() => tk.register('asker', inTheNetwork));

  it('may call other tools, as everybody on this machine', async () => {
    expect((await asks('GET', '/livez')).status).toBe(200);
    await tk.register('other', { keepAlive: true });
    const called = await asks('POST', '/api/v1/tools/other/execute', { input: {} });
    expect([called.status, JSON.parse(called.body).status]).toEqual([200, 'success']);
  });

  it('is not the operator', async () => {
    const tool = { ...python, name: 'mine', sandbox: { allowedPaths: [fixtures] } };
    const refused = await asks('POST', '/api/v1/custom-tools', tool);
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([401, 'unauthorized']);
    await tk.http.get('/api/v1/custom-tools/mine').expect(404);
    expect((await asks('DELETE', '/api/v1/custom-tools/other')).status).toBe(401);
    expect((await asks('POST', '/api/v1/custom-tools/other/disable', {})).status).toBe(401);
    expect((await asks('PATCH', '/api/v1/custom-tools/asker', inTheNetwork)).status).toBe(401);
    await tk.http.get('/api/v1/custom-tools/other').expect(200, /"status":"active"/);
    // With the key it would be: the refusal was not the network's.
    expect((await asks('POST', '/api/v1/custom-tools', tool, tk.key)).status).toBe(201);
  });
});

describe('a page of another port of this machine', () => {
  const form = `name=posted&command=/usr/bin/env&args=python3&args=${asker}`;
  const page = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-site' };
  const own = () => ({ origin: tk.url, 'sec-fetch-site': 'same-origin' });

  it('calls nothing, where the page of the server itself does', async () => {
    await tk.register('called');
    const call = (headers: Record<string, string>) =>
      tk.anonymous.post('/api/v1/tools/called/execute').set(headers).send({ input: {} });
    await call(own()).expect(200);
    const { body } = await call(page).expect(403);
    expect(body).toMatchObject({ code: 'forbidden', detail: expect.stringContaining('send the key') });
    await call({ origin: 'null' }).expect(403);
    await call({ 'sec-fetch-site': 'cross-site' }).expect(403);
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])(
    'registers nothing by a form of type %s, not even with the key',
    async (type) => {
      const post = (agent: TestApp['http'], headers = {}) =>
        agent.post('/api/v1/custom-tools').set(headers).set('content-type', type).send(form);
      await post(tk.anonymous, page).expect(403);
      const { body } = await post(tk.http).expect(415);
      expect(body).toMatchObject({ code: 'invalid_request', status: 415 });
      await tk.http.get('/api/v1/custom-tools/posted').expect(404);
    },
  );

  it('changes nothing by a request without a body', async () => {
    for (const path of ['custom-tools/called/disable', 'tool-health/called/circuit/open'])
      await tk.anonymous.post(`/api/v1/${path}`).set(page).expect(403);
    await tk.anonymous.delete('/api/v1/custom-tools/called').set(page).expect(403);
    await tk.http.get('/api/v1/custom-tools/called').expect(200, /"status":"active"/);
  });
});

describe('with AUTH_MODE=off', () => {
  let off: TestApp;
  beforeAll(async () => {
    off = await startApp({ AUTH_MODE: 'off', DATABASE_URL: tk.db.url });
  });
  afterAll(() => off.close());

  it('everybody may register, but no page of another origin', async () => {
    const tool = { ...python, name: 'by_anybody' };
    const register = (headers: Record<string, string>) =>
      off.anonymous.post('/api/v1/custom-tools').set(headers).send(tool);
    await register({ origin: 'http://localhost:8080' }).expect(403);
    await register({ 'sec-fetch-site': 'cross-site' }).expect(403);
    await register({}).expect(201);
  });
});
