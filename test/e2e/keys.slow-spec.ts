import { request as rawRequest } from 'node:http';
import { once } from 'node:events';
import type TestAgent from 'supertest/lib/agent.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: two servers on one database, HTTP, tools' processes; mock: nothing

let tk: TestApp;
/** Another replica. */
let other: TestApp;
beforeAll(async () => {
  tk = await startApp();
  other = await startApp({ DATABASE_URL: tk.db.url });
  for (const name of ['disk_usage', 'disk_check', 'secret_tool']) await tk.register(name);
});
afterAll(async () => {
  await other.close();
  await tk.close();
});

const agent = (key: string, app = tk): TestAgent => supertest.agent(app.url).set(bearer(key));
async function make(
  body: Record<string, unknown> = {},
): Promise<{ id: string; key: string; http: TestAgent }> {
  const made = await tk.http
    .post('/api/v1/keys')
    .send({ name: 'agent', scopes: ['tools:call'], ...body })
    .expect(201);
  const { id, key } = made.body as { id: string; key: string };
  return { id, key, http: agent(key) };
}
const call = (http: TestAgent, tool: string, input: object = {}) =>
  http.post(`/api/v1/tools/${tool}/execute`).send({ input });
const mcp = async (http: TestAgent, method: string, params: object = {}): Promise<Json> =>
  (await http.post('/mcp').send({ jsonrpc: '2.0', id: 1, method, params })).body;
const statusAt = async (app: TestApp, key: string): Promise<number> =>
  (await agent(key, app).get('/api/v1/tools')).status;

describe('a key', () => {
  it('is shown once, and only its hash is kept', async () => {
    const { id, key, http } = await make({ name: 'night watch', owner: 'sre-team' });
    expect(key).toMatch(/^tk_[0-9a-f]{20}_[\w-]{43}$/);
    expect(key).toContain(id);
    await http.get('/api/v1/tools').expect(200);
    const secret = key.slice(-43);
    const { body } = await tk.http.get(`/api/v1/keys/${id}`).expect(200);
    expect(body).toMatchObject({
      name: 'night watch',
      owner: 'sre-team',
      status: 'active',
      createdBy: 'admin',
    });
    const rows: object[] = await tk.db.dataSource.query('SELECT k::text FROM api_keys k');
    expect(JSON.stringify([body, rows])).not.toContain(secret);
    const { body: page } = await tk.http.get('/api/v1/keys?limit=1').expect(200);
    expect(page.data).toEqual([{ ...body, lastUsedAt: expect.any(String) }]);
  });

  it('is known by every replica, and refused by every replica within a second after it was revoked', async () => {
    const { id, key } = await make();
    await until(async () => (await statusAt(other, key)) === 200, {
      what: 'the other replica to know the key',
    });
    await tk.http.delete(`/api/v1/keys/${id}`).expect(204);
    const revokedAt = performance.now();
    expect(await statusAt(tk, key)).toBe(401);
    await until(async () => (await statusAt(other, key)) === 401, {
      what: 'the other replica to refuse the key',
    });
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
    const { body } = await tk.http.get(`/api/v1/keys/${id}`).expect(200);
    expect(body).toMatchObject({ status: 'revoked', revokedBy: 'admin' });
    await tk.http.delete(`/api/v1/keys/${id}`).expect(204);
    await tk.http.patch(`/api/v1/keys/${id}`).send({ name: 'again' }).expect(409);
  });

  it('is refused by the others also where the database does not tell them', async () => {
    const { id, key } = await make();
    await until(async () => (await statusAt(other, key)) === 200, {
      what: 'the other replica to know the key',
    });
    const { dataSource } = tk.db;
    await dataSource.query('ALTER TABLE api_keys DISABLE TRIGGER api_keys_changed');
    await dataSource.query('UPDATE api_keys SET revoked_at = now() WHERE key_id = $1', [id]);
    await dataSource.query('UPDATE api_keys_state SET revision = revision + 1');
    await until(async () => (await statusAt(other, key)) === 401, { what: 'the other replica to look' });
    await dataSource.query('ALTER TABLE api_keys ENABLE TRIGGER api_keys_changed');
  });

  it('opens nothing once its time is over', async () => {
    const { id, key } = await make({ expiresAt: new Date(Date.now() + 700).toISOString() });
    await until(async () => (await statusAt(tk, key)) === 401, { what: 'the key to expire' });
    const { body } = await tk.http.get(`/api/v1/keys/${id}`).expect(200);
    expect(body.status).toBe('expired');
    const { body: refused } = await agent(key).get('/api/v1/tools').expect(401);
    expect(refused.detail).toMatch(/expired or was revoked/);
  });

  it.each<[string, Json, (id: string) => PromiseLike<unknown>]>([
    ['revoked', { scopes: ['metrics:read'] }, (id) => tk.http.delete(`/api/v1/keys/${id}`).expect(204)],
    [
      'limited',
      { scopes: ['traces:read'], projects: ['a', 'b'] },
      (id) =>
        tk.http
          .patch(`/api/v1/keys/${id}`)
          .send({ projects: ['b'] })
          .expect(200),
    ],
  ])('that is %s takes the streams with it that it opened', async (_, body, change) => {
    const { id, key } = await make(body);
    const topic = body.projects ? 'spans:a' : 'events';
    const follow = rawRequest(`${tk.url}/api/v1/console/stream?topics=${topic}`, {
      headers: { ...bearer(key), accept: 'text/event-stream' },
    }).end();
    const [answer] = (await once(follow, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(answer.statusCode).toBe(200);
    const ended = new Promise((resolve) => answer.once('close', resolve).once('error', resolve).resume());
    await tk.http.patch(`/api/v1/keys/${id}`).send({ name: 'renamed' }).expect(200);
    expect(answer).toMatchObject({ destroyed: false });
    await change(id);
    await ended;
  });

  it('is asked for by nobody else than an administrator', async () => {
    const { http } = await make({ scopes: ['tools:admin'] });
    await http.get('/api/v1/keys').expect(403);
    const admin = await make({ scopes: ['admin'] });
    await admin.http
      .post('/api/v1/keys')
      .send({ name: 'x', scopes: ['admin'] })
      .expect(201);
  });

  it.each([
    [{ scopes: [] }, '/scopes'],
    [{ scopes: ['everything'] }, '/scopes/0'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, '/expiresAt'],
    [{ rate: { calls: 0, per: 'minute' } }, '/rate/calls'],
    [{ rate: { calls: 1, per: 'year' } }, '/rate/per'],
    [{ tools: ['a*b'] }, '/tools/0'],
    [{ scopes: ['tools:admin'], tools: ['disk_*'] }, '/tools'],
    [{ scopes: ['admin'], projects: ['a'] }, '/projects'],
    [{ scopes: ['tools:admin'], projects: ['a'] }, '/projects'],
  ])('is not made of %j', async (body, pointer) => {
    const { body: problem } = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'agent', scopes: ['tools:call'], ...body })
      .expect(400);
    expect(problem.errors.map((error: Json) => error.pointer)).toContain(pointer);
  });
});

describe('a list of tools', () => {
  let http: TestAgent;
  beforeAll(async () => ({ http } = await make({ tools: ['disk_*', 'get_playbooks'] })));
  const listed = ['disk_check', 'disk_usage', 'get_playbooks'];

  it('is what the key sees, over REST and over MCP', async () => {
    const { body } = await http.get('/api/v1/tools').expect(200);
    expect(body.data.map((tool: Json) => tool.name)).toEqual(listed);
    const { result } = await mcp(http, 'tools/list');
    expect(result.tools.map((tool: Json) => tool.name)).toEqual(listed);
    await http.get('/api/v1/tools/disk_usage').expect(200);
    await http.get('/api/v1/tools/secret_tool').expect(404);
  });

  it('is what it may call, by whichever way, and nobody tells it what else there is', async () => {
    await call(http, 'disk_usage').expect(200);
    for (const tool of ['secret_tool', 'no_such_tool', 'disk', 'xdisk_usage', 'get_playbooks2']) {
      const { body } = await call(http, tool).expect(403);
      expect([body.code, body.detail]).toEqual(['forbidden', `This key may not call "${tool}"`]);
    }
    const { error } = await mcp(http, 'tools/call', { name: 'secret_tool', arguments: {} });
    expect(error.data.code).toBe('forbidden');
    const { body } = await http
      .post('/api/v1/tool-calls')
      .send({ toolCalls: [{ type: 'tool_use', id: 'a', name: 'secret_tool', input: {} }] })
      .expect(200);
    expect(body.results[0]).toMatchObject({ is_error: true, content: expect.stringContaining('forbidden') });
    await http.post('/api/v1/custom-tools/secret_tool/test').send({ input: {} }).expect(403);
  });

  it('is all that a search finds', async () => {
    const { http: searching } = await make({ tools: ['disk_*', 'find_tools'] });
    const query = 'secret disk';
    const { body } = await searching.get(`/api/v1/tools?query=${query}`).expect(200);
    const found = (await call(searching, 'find_tools', { query }).expect(200)).body.result;
    for (const tools of [body.data, found.tools])
      expect(tools.map((tool: Json) => tool.name).sort()).toEqual(['disk_check', 'disk_usage']);
    expect(found.total).toBe(2);
  });

  it('may be changed', async () => {
    const { id, http: one } = await make({ tools: ['disk_usage'] });
    await call(one, 'secret_tool').expect(403);
    await tk.http.patch(`/api/v1/keys/${id}`).send({ tools: null }).expect(200);
    await call(one, 'secret_tool').expect(200);
    await tk.http
      .patch(`/api/v1/keys/${id}`)
      .send({ tools: ['get_playbooks'] })
      .expect(200);
    await call(one, 'secret_tool').expect(403);
  });
});

describe('projects', () => {
  const projectOf = async (executionId: string): Promise<unknown> =>
    until(
      async () => {
        const { status, body } = await tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`);
        return status === 200 && body;
      },
      { what: 'the execution to be recorded' },
    ).then(({ metadata }) => [metadata.projectId ?? 'default', metadata.keyId]);

  it('are those of the key, by whichever way; the first stands in where none is named', async () => {
    const { id, http } = await make({ projects: ['payments', 'billing'] });
    const { body: first } = await call(http, 'disk_usage').expect(200);
    expect(await projectOf(first.executionId)).toEqual(['payments', id]);
    const { body: second } = await call(http, 'disk_usage').set('x-project-id', 'billing').expect(200);
    expect(await projectOf(second.executionId)).toEqual(['billing', id]);
    for (const project of ['default', 'other', 'Payments', 'payments,billing']) {
      await call(http, 'disk_usage').set('x-project-id', project).expect(403);
      const { body } = await http
        .post('/mcp')
        .set('x-project-id', project)
        .send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'disk_usage', arguments: {} } });
      expect(body.error.data.code).toBe('forbidden');
    }
    const inMeta = { name: 'disk_usage', arguments: {}, _meta: { 'toolkeeper/projectId': 'other' } };
    expect((await mcp(http, 'tools/call', inMeta)).error.data.code).toBe('invalid_request');
    await http
      .post('/api/v1/tools/disk_usage/execute')
      .send({ input: {}, context: { projectId: 'other' } })
      .expect(400);
  });

  it('are any for a key without a list, and the usual one alone without a key', async () => {
    const { http } = await make();
    await call(http, 'disk_usage').set('x-project-id', 'anything').expect(200);
    await call(tk.anonymous, 'disk_usage').expect(200);
    await call(tk.anonymous, 'disk_usage').set('x-project-id', 'payments').expect(403);
  });

  it('and keys keep what is repeated apart', async () => {
    const [one, two] = [await make({ owner: 'same' }), await make({ owner: 'same' })];
    const asked = (http: TestAgent, project: string) =>
      call(http, 'disk_usage').set({ 'idempotency-key': 'k', 'x-project-id': project }).expect(200);
    const first = (await asked(one.http, 'a')).body.executionId;
    expect((await asked(one.http, 'a')).body.executionId).toBe(first);
    expect((await asked(one.http, 'b')).body.executionId).not.toBe(first);
    expect((await asked(two.http, 'a')).body.executionId).not.toBe(first);
  });
});

describe('a rate', () => {
  it('is exact with fifty callers at once, and says when to come again', async () => {
    const { id, http } = await make({ rate: { calls: 120, per: 'minute' } });
    const caller = async (): Promise<number[]> => {
      const statuses: number[] = [];
      for (let asked = 0; asked < 4; asked++) {
        const { status, body, headers } = await call(http, asked % 2 === 0 ? 'find_tools' : 'no_such_tool', {
          query: 'disk',
        });
        statuses.push(status);
        if (status !== 429) continue;
        expect([body.code, body.detail]).toEqual([
          'rate_limited',
          expect.stringContaining('120 calls a minute'),
        ]);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
        expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
      }
      return statuses;
    };
    const statuses = (await Promise.all(Array.from({ length: 50 }, caller))).flat();
    expect(statuses.filter((status) => status !== 429)).toHaveLength(120);
    expect(statuses).toHaveLength(200);
    const { result } = await mcp(http, 'tools/call', { name: 'disk_usage', arguments: {} });
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'toolkeeper/problem': { code: 'rate_limited' } },
    });
    await http.get('/api/v1/tools').expect(200);
    await tk.http.patch(`/api/v1/keys/${id}`).send({ rate: null }).expect(200);
    await call(http, 'disk_usage').expect(200);
  });
});
