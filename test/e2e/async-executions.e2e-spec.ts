import { hostname } from 'node:os';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';
import { WebSite } from '../support/web-site.js';

// Real: the server, PostgreSQL, processes of tools, HTTP, a receiver of webhooks.

let tk: TestApp;
let receiver: WebSite;

beforeAll(async () => {
  receiver = await WebSite.start((_request, answer) =>
    answer.writeHead(receiver.seen.length < 2 ? 503 : 204).end(),
  );
  tk = await startApp({
    SEND_WEBHOOK_SECRET: 'a secret for callers',
    OUTBOUND_ALLOW: `127.0.0.1:${new URL(receiver.url).port}`,
  });
  await tk.register('worker', {
    keepAlive: true,
    poolSize: 4,
    inputSchema: { type: 'object', required: ['action'] },
  });
});
afterAll(async () => {
  await tk.close();
  await receiver.stop();
});

const path = '/api/v1/tools/worker/execute';
const submit = (input: object = { action: 'echo' }, more: object = {}, agent = tk.http) =>
  agent
    .post(path)
    .set('prefer', 'respond-async')
    .send({ input, ...more });
const get = (location: string, query = '') => tk.http.get(`${location}${query}`);
const locationOf = ({ headers }: { headers: Json }): string => headers.location;

describe('an asynchronous execution', () => {
  it('is answered 202 with its place, and has its outcome there', async () => {
    const submitted = await submit({ action: 'echo', n: 2 }, { context: { requestId: 'mine' } }).expect(202);
    expect(submitted.headers['preference-applied']).toBe('respond-async');
    expect(locationOf(submitted)).toBe(`/api/v1/executions/${submitted.body.id}`);
    expect(submitted.body).toMatchObject({ tool: 'worker', submittedAt: expect.any(String) });
    const { body } = await get(locationOf(submitted), '?waitMs=30000').expect(200);
    expect(body).toMatchObject({
      id: submitted.body.id,
      status: 'ended',
      endedAt: expect.any(String),
      outcome: { status: 'success', tool: 'worker', result: { action: 'echo', n: 2 } },
    });
    const { body: row } = await tk.http
      .get(`/api/v1/tool-metrics/executions/${body.outcome.executionId}`)
      .expect(200);
    expect(row).toMatchObject({ requestId: 'mine', status: 'success' });
  });

  it('answers at once while it runs, and is cancelled', async () => {
    const running = await submit({ action: 'hang' }).expect(202);
    await until(async () => (await get(locationOf(running))).body.status === 'running', {
      what: 'its start',
    });
    const { body } = await tk.http.delete(locationOf(running)).expect(200);
    expect(body.status).toBe('cancelled');
    await tk.http.delete(locationOf(running)).expect(409);
    const recorded = await until(
      async () => {
        const { body: page } = await tk.http.get('/api/v1/tool-metrics/executions?tool=worker&status=error');
        return page.data.find(({ errorType }: Json) => errorType === 'cancelled');
      },
      { what: 'the record of the cancelled execution' },
    );
    expect(recorded.toolName).toBe('worker');
  });

  it('is followed to its end', async () => {
    const submitted = await submit({ action: 'sleep', ms: 300 }).expect(202);
    const { text } = await get(locationOf(submitted))
      .set('accept', 'text/event-stream')
      .buffer(true)
      .expect(200);
    expect(text).toMatch(/event: status\ndata: .*"status":"(queued|running)"/);
    const last = /event: outcome\ndata: (.*)\n\n$/.exec(text)?.[1];
    expect(JSON.parse(last ?? '')).toMatchObject({ status: 'ended', outcome: { result: { slept: 300 } } });
  });

  it('is queued once for an Idempotency-Key', async () => {
    const keyed = (input: object) => submit(input).set('idempotency-key', 'order-7');
    const [one, two] = await Promise.all([keyed({ action: 'count' }), keyed({ action: 'count' })]);
    expect([one.status, two.status]).toEqual([202, 202]);
    expect(locationOf(one)).toBe(locationOf(two));
    await keyed({ action: 'pid' }).expect(422, /idempotency_key_reused/);
    await get(locationOf(one), '?waitMs=30000').expect(200);
    const again = await keyed({ action: 'count' }).expect(202);
    expect(again.body).toMatchObject({ status: 'ended', outcome: { status: 'success' } });
  });

  it('tells the webhook that the call named, signed, with one id for all tries', async () => {
    const submitted = await submit({ action: 'pid' }, { webhookUrl: `${receiver.url}/done?x=1` }).expect(202);
    await until(() => receiver.seen.length === 2, { what: 'the second try' });
    const [first, second] = receiver.seen;
    expect(first?.url).toBe('/done?x=1');
    expect(second?.headers['webhook-id']).toBe(`execution-${submitted.body.id}`);
    expect(first?.headers['webhook-id']).toBe(`execution-${submitted.body.id}`);
    expect(second?.headers['webhook-signature']).toMatch(/^v1,/);
    const { body: ended } = await get(locationOf(submitted), '?waitMs=30000');
    expect(JSON.parse(second?.body ?? '')).toMatchObject({
      type: 'execution.ended',
      data: { id: submitted.body.id, status: 'ended', outcome: ended.outcome },
    });
  });

  it('does not reach addresses that webhooks of tools do not', async () => {
    const other = await WebSite.start((_request, answer) => answer.writeHead(204).end());
    // A name is resolved when the webhook is sent.
    const webhookUrl = other.url.replace('127.0.0.1', hostname());
    const submitted = await submit({ action: 'pid' }, { webhookUrl }).expect(202);
    await get(locationOf(submitted), '?waitMs=30000').expect(200);
    await until(
      async () => {
        const { text } = await tk.http.get('/metrics');
        return Number(/toolkeeper_webhooks_total\{result="retried"\} (\d+)/.exec(text)?.[1]) >= 2;
      },
      { what: 'a try' },
    );
    expect(other.seen).toEqual([]);
    await other.stop();
  });

  it('is seen by its caller alone, and ends with its key', async () => {
    const made = { name: 'agent', owner: 'agent', scopes: ['tools:call'] };
    const { body: key } = await tk.http.post('/api/v1/keys').send(made).expect(201);
    const agent = supertest.agent(tk.url).set(bearer(key.key));
    const busy = await Promise.all(Array.from({ length: 4 }, () => submit({ action: 'hang' }).expect(202)));
    const submitted = await submit({ action: 'echo' }, {}, agent).expect(202);
    await agent.get(locationOf(submitted)).expect(200);
    await get(locationOf(submitted)).expect(404);
    await tk.anonymous.get(locationOf(submitted)).expect(404);
    await tk.http.delete(locationOf(submitted)).expect(404);
    for (const each of busy) await tk.http.delete(locationOf(each)).expect(200);
  });

  it.each<[string, object, number, string]>([
    ['an input that the tool does not take', { input: {} }, 422, '/input/action'],
    ['an unknown member', { input: { action: 'echo' }, hook: 1 }, 400, '/hook'],
    ['a webhook that is no text', { input: { action: 'echo' }, webhookUrl: 5 }, 400, '/webhookUrl'],
    ['a webhook of another scheme', { input: { action: 'echo' }, webhookUrl: 'ftp://x' }, 400, '/webhookUrl'],
    ['a password', { input: { action: 'echo' }, webhookUrl: 'http://a:b@x.org' }, 400, '/webhookUrl'],
  ])('is refused at once for %s', async (_what, body, status, pointer) => {
    const answer = await tk.http.post(path).set('prefer', 'respond-async, wait=5').send(body).expect(status);
    expect(answer.body.errors[0].pointer).toBe(pointer);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://localhost/',
    'http://[::1]:8080/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest',
    'http://[::ffff:169.254.169.254]/',
    'http://93.184.215.14:22/',
  ])('is refused at once for the webhook %s', async (webhookUrl) => {
    const { body } = await submit({ action: 'echo' }, { webhookUrl }).expect(400);
    expect(body.errors[0]).toMatchObject({
      pointer: '/webhookUrl',
      detail: expect.stringContaining('OUTBOUND_ALLOW'),
    });
  });

  it('is refused at once where a call would be, and asks for its webhook to be asynchronous', async () => {
    const send = (name: string) => tk.http.post(`/api/v1/tools/${name}/execute`).send({});
    await send('nobody')
      .set('prefer', 'respond-async')
      .expect(404, /tool_not_found/);
    const { body } = await tk.http
      .post(path)
      .send({ input: { action: 'echo' }, webhookUrl: receiver.url })
      .expect(400);
    expect(body.errors[0]).toMatchObject({
      pointer: '/webhookUrl',
      detail: expect.stringContaining('Prefer'),
    });
  });

  it.each(['?waitMs=-1', '?waitMs=30001', '?waitMs=x', '?wait=1'])('is not asked with %s', (query) =>
    get('/api/v1/executions/019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f', query).expect(400),
  );

  it.each(['019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f', 'nothing'])('%s is not found', (id) =>
    get(`/api/v1/executions/${id}`).expect(404),
  );

  it('that is refused when its turn comes says why', async () => {
    await tk.register('once', { keepAlive: true, callsPerInvestigation: 1 });
    const call = () =>
      tk.http
        .post('/api/v1/tools/once/execute')
        .set('prefer', 'respond-async')
        .send({ input: { action: 'echo' }, context: { investigationId: 'i' } })
        .expect(202);
    const ends = [];
    for (const submitted of [await call(), await call()])
      ends.push((await get(locationOf(submitted), '?waitMs=30000')).body);
    expect(ends.map(({ status }) => status).sort()).toEqual(['ended', 'refused']);
    expect(ends.find(({ status }) => status === 'refused')?.problem).toMatchObject({
      code: 'investigation_budget_spent',
      status: 429,
    });
  });
});
