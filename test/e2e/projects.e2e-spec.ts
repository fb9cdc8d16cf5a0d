import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Test } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { ToolEvents } from '../../src/base/streams/tool-events.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, PostgreSQL; mock: nothing

let tk: TestApp;
/** Agents with a key of one project, `a` or `b`, and of both. */
const keys: Record<string, string> = {};
const of = (who: string): TestAgent => supertest.agent(tk.url).set(bearer(keys[who] ?? ''));
const executions: Record<string, string[]> = { a: [], b: [] };

const path = '/api/v1/tool-metrics/executions';
const get = async (agent: TestAgent, url: string): Promise<Json> => (await agent.get(url).expect(200)).body;
const projectsIn = ({ data }: Json): unknown[] => data.map(({ project }: Json) => project);

beforeAll(async () => {
  tk = await startApp();
  const scopes = ['tools:call', 'metrics:read', 'traces:read', 'traces:write'];
  for (const [who, projects] of Object.entries({ a: ['a'], b: ['b'], both: ['a', 'b'] })) {
    const made = await tk.http.post('/api/v1/keys').send({ name: who, scopes, projects }).expect(201);
    keys[who] = made.body.key;
  }
  await tk.register('named', { keepAlive: true });
  await tk.register('shared', { keepAlive: true, callsPerInvestigation: 5 });
  const call = async (who: string, input: object): Promise<void> => {
    const { body } = await of(who)
      .post('/api/v1/tools/shared/execute')
      .send({ input, context: { investigationId: 'inc-1', runId: 'run-1', sessionId: who } });
    executions[who]?.push(body.executionId);
  };
  // In project a 1 of 2 calls fails, in b 3 of 4 do.
  await call('a', {});
  await call('a', { action: 'error', message: 'only in a' });
  await call('b', {});
  for (let n = 0; n < 3; n += 1) await call('b', { action: 'error', message: 'only in b' });
});

afterAll(() => tk.close());

describe('a project in the query', () => {
  it.each([
    ['?project=a', ['a', 'a']],
    ['?project=b&limit=2', ['b', 'b']],
    ['?project=none', []],
    ['?project=*', ['b', 'b', 'b', 'b', 'a', 'a']],
    ['', ['b', 'b', 'b', 'b', 'a', 'a']],
  ])('chooses executions for a key of all projects: %s', async (query, expected) => {
    expect(projectsIn(await get(tk.http, path + query))).toEqual(expected);
  });

  it('wins over the header', async () => {
    const { body } = await tk.http.get(`${path}?project=a`).set('x-project-id', 'b').expect(200);
    expect(projectsIn(body)).toEqual(['a', 'a']);
  });

  it.each([
    [`${path}?project=${'p'.repeat(257)}`, 400],
    [`${path}?project=%00`, 400],
    [`${path}?project=a&project=b`, 400],
    ['/api/v1/runs/run-1/details?project=a&project=b', 400],
    ['/api/v1/runs/run-1/details?project=%00', 400],
    ['/api/v1/runs/run-1/details?project=*', 400],
    ['/api/v1/investigations/inc-1?project=*', 400],
  ])('is refused where it is no name: %.80s', async (url, status) => {
    const { body } = await tk.http.get(url).expect(status);
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/project' })]);
  });

  it.each([
    ["UTF-8''%E7%B5%90%E5%B8%B3", '結帳'],
    ["UTF-8''donn%C3%A9es-%E2%82%AC%2050%25", 'données-€ 50%'],
    ["UTF-8''a%20b", 'a b'],
    ['a%20b', 'a%20b'],
    ['50%', '50%'],
    ["UTF-8''100%", "UTF-8''100%"],
    ["UTF-8''a%00", "UTF-8''a%00"],
  ])('comes in a header as RFC 8187 writes it: %s', async (header, project) => {
    const named = (request: Test): Test => request.set('x-project-id', header);
    const { body } = await named(tk.http.post('/api/v1/tools/named/execute').send({ input: {} }));
    const list = `${path}?project=${encodeURIComponent(project)}`;
    const row = await until(async () => (await get(tk.http, list)).data[0], { what: 'its record' });
    expect(row).toMatchObject({ metricId: body.executionId, project });
    expect((await named(tk.http.get(path)).expect(200)).body.data).toEqual([row]);
  });

  it('opens the run, the trace and its spans of that project', async () => {
    for (const project of ['a', 'b']) {
      const spans = await get(tk.http, `/api/v1/runs/run-1?project=${project}`);
      expect(spans.data.map((span: Json) => span.execution_id).sort()).toEqual(
        [...executions[project]!].sort(),
      );
      const details = await get(tk.http, `/api/v1/runs/run-1/details?project=${project}`);
      expect(details.data.run_id).toBe('run-1');
      await tk.http.get(`/api/v1/traces/${spans.data[0].trace_id}/skeleton?project=${project}`).expect(200);
    }
    expect((await get(tk.http, '/api/v1/runs/run-1/details')).data).toBeNull();
  });
});

describe('a key of one project', () => {
  it.each(['?project=*', '?project=b'])('may not name what is not its own: %s', async (query) => {
    for (const url of [path, '/api/v1/investigations', '/api/v1/tool-health', '/api/v1/runs'])
      if (!(url === '/api/v1/runs' && query === '?project=*'))
        await of('a')
          .get(url + query)
          .expect(403);
    await of('a').get(`/api/v1/console/stream${query}&topics=executions`).expect(403);
  });

  it.each(['', '?limit=1', '?tool=shared', '?investigationId=inc-1', '?runId=run-1', '?project=a'])(
    'sees its own executions alone: %s',
    async (query) => {
      const { data, nextCursor } = await get(of('a'), path + query);
      expect(new Set(projectsIn({ data }))).toEqual(new Set(['a']));
      if (nextCursor === null) expect(data).toHaveLength(2);
    },
  );

  it('does not reach others by a cursor, a filter or an id', async () => {
    const { nextCursor } = await get(tk.http, `${path}?limit=1`);
    const seen = await get(of('a'), `${path}?cursor=${encodeURIComponent(nextCursor)}`);
    expect(projectsIn(seen)).toEqual(['a', 'a']);
    for (const query of ['sessionId=b', `requestId=${executions.b?.[0]}`])
      expect((await get(of('a'), `${path}?${query}`)).data).toEqual([]);
    for (const id of executions.b ?? []) await of('a').get(`${path}/${id}`).expect(404);
    expect((await get(of('a'), `${path}/${executions.a?.[0]}`)).project).toBe('a');
    await of('both').get(`${path}/${executions.b?.[0]}`).expect(200);
    await of('both').get(`${path}/${executions.b?.[0]}?project=a`).expect(404);
  });

  it.each(['/errors', '/slow?thresholdMs=0'])(
    'sees its own failures and durations alone: %s',
    async (list) => {
      expect(new Set(projectsIn(await get(of('a'), `/api/v1/tool-metrics${list}`)))).toEqual(new Set(['a']));
    },
  );

  it('sees the figures of its calls alone', async () => {
    for (const [who, calls, failures] of [
      ['a', 2, 1],
      ['b', 4, 3],
      ['both', 6, 4],
    ] as const) {
      const agent = of(who);
      const stats = await get(agent, '/api/v1/tool-metrics/stats/shared');
      expect([stats.totalCalls, stats.errorCount]).toEqual([calls, failures]);
      expect(stats.errorTypes).toEqual({ tool_error: failures });
      const series = await get(agent, '/api/v1/tool-metrics/series?tool=shared');
      expect(series.total).toMatchObject({ calls, errors: failures, p95TimeMs: expect.any(Number) });
      const report = await get(agent, '/api/v1/tool-health/shared');
      expect(report).toMatchObject({ totalCalls: calls, recentErrors: failures });
      expect(report.now).toMatchObject({ calls, failures });
      const { toolReports } = await get(agent, '/api/v1/tool-health');
      const [row] = toolReports.filter(({ toolName }: Json) => toolName === 'shared');
      expect(row).toMatchObject({ totalCalls: calls, recentErrors: failures, refusals: [], lastUsed: null });
      expect(row.trend.calls.reduce((sum: number, n: number) => sum + n, 0)).toBe(calls);
      const info = await get(agent, '/api/v1/tool-health/shared/info');
      expect(info.totalCalls).toBe(calls);
      const patterns = await get(agent, '/api/v1/tool-health/shared/error-patterns');
      expect(JSON.stringify(patterns).includes('only in b')).toBe(who !== 'a');
      const duplicates = await get(agent, '/api/v1/tool-metrics/duplicates');
      expect(duplicates.data).toMatchObject([{ calls }]);
      const dashboard = await get(agent, '/api/v1/tool-health/dashboard');
      expect(JSON.stringify(dashboard)).not.toContain(`of ${calls === 6 ? 7 : 6}`);
    }
    expect((await get(tk.http, '/api/v1/tool-metrics/stats/shared')).totalCalls).toBe(6);
    expect((await get(tk.http, '/api/v1/tool-metrics/stats/shared?project=b')).totalCalls).toBe(4);
  });

  it("sees the tool's own grade and circuit", async () => {
    const { status } = await get(tk.http, '/api/v1/tool-health/shared');
    for (const who of ['a', 'b'])
      expect((await get(of(who), '/api/v1/tool-health/shared')).status).toBe(status);
    for (const url of ['circuits', 'shared/circuit', 'shared/history'])
      await get(of('a'), `/api/v1/tool-health/${url}`);
  });

  it.each([
    '/api/v1/tool-metrics/stats/shared?since=2026-01-01',
    '/api/v1/tool-metrics/series?since=2026-01-01',
    '/api/v1/tool-health?periodHours=25',
    '/api/v1/tool-health/shared?periodHours=25',
    '/api/v1/tool-health/shared/error-patterns?periodHours=25',
  ])('counts over a day at most: %s', async (url) => {
    const { body } = await of('a').get(url).expect(400);
    expect(body.detail).toContain('24 hours at most');
    await tk.http.get(url).expect(200);
  });

  it('sees no figures of the whole server', async () => {
    await of('a').get('/metrics').expect(403);
    await tk.http.get('/metrics').expect(200);
    expect((await get(of('a'), '/api/v1/session')).environment).toBeNull();
  });

  it('is not made with a scope over what belongs to all projects', async () => {
    for (const scope of ['tools:admin', 'admin'])
      await tk.http
        .post('/api/v1/keys')
        .send({ name: 'k', scopes: [scope], projects: ['a'] })
        .expect(400);
  });

  it('follows its own executions alone, and the events of all tools', async () => {
    const followed = await follow('a', 'executions,events');
    const call = async (who: string): Promise<string> =>
      (await of(who).post('/api/v1/tools/named/execute').send({ input: {} })).body.executionId;
    const foreign = await call('b');
    const own = await call('a');
    await until(() => followed.text().includes(own), { what: 'its execution' });
    tk.app.get(ToolEvents).publish({ type: 'tool.failed', tool: 'shared', message: 'seen', data: {} });
    await until(() => followed.text().includes('"seen"'), { what: 'its event' });
    expect(followed.text()).not.toContain(foreign);
    followed.leave();
  });
});

describe('investigations with one id in two projects', () => {
  const url = '/api/v1/investigations/inc-1';
  const used = async (project: string): Promise<unknown> =>
    (await get(tk.http, `${url}?project=${project}`)).tools.map((tool: Json) => [tool.used, tool.limit]);

  it('are listed to each key as its own', async () => {
    for (const who of ['a', 'b'])
      expect(projectsIn(await get(of(who), '/api/v1/investigations'))).toEqual([who]);
    expect(projectsIn(await get(tk.http, '/api/v1/investigations?project=b'))).toEqual(['b']);
    expect(projectsIn(await get(tk.http, '/api/v1/investigations?project=*')).sort()).toEqual(['a', 'b']);
  });

  it('are raised and reset in the named project alone, and the audit names it', async () => {
    await tk.http
      .patch(`${url}?project=b`)
      .send({ tools: { shared: 9 } })
      .expect(200);
    expect([await used('a'), await used('b')]).toEqual([[[2, 5]], [[4, 9]]]);
    await tk.http.delete(`${url}?project=b&reason=why`).expect(204);
    expect(await used('a')).toEqual([[2, 5]]);
    await tk.http.get(`${url}?project=b`).expect(404);
    await tk.http.delete(`/api/v1/runs/run-1?project=b`).expect(200);
    const [first] = executions.a ?? [];
    await tk.http.post(`${path}/${first}/semantic-failure?project=b`).send({ reason: 'wrong' }).expect(404);
    await tk.http.post(`${path}/${first}/semantic-failure?project=a`).send({ reason: 'wrong' }).expect(204);
    await tk.http.delete(`${path}/${first}/semantic-failure`).expect(204);
    const { data } = await get(tk.http, '/api/v1/audit?limit=6');
    expect(data.map(({ action, project }: Json) => [action, project])).toEqual([
      ['unmarkSemanticFailure', 'a'],
      ['markSemanticFailure', 'a'],
      ['markSemanticFailure', null],
      ['deleteRun', 'b'],
      ['resetInvestigation', 'b'],
      ['raiseInvestigation', 'b'],
    ]);
  });

  it('of callers without a key are named by an empty project', async () => {
    const call = { input: {}, context: { investigationId: 'shared-id' } };
    await tk.anonymous.post('/api/v1/tools/shared/execute').send(call).expect(200);
    await tk.http.post('/api/v1/tools/shared/execute').send(call).expect(200);
    await tk.http.delete('/api/v1/investigations/shared-id?project=').expect(204);
    await tk.http.get('/api/v1/investigations/shared-id?project=').expect(404);
    expect((await get(tk.http, '/api/v1/investigations/shared-id')).project).toBe('default');
  });
});

async function follow(who: string, topics: string): Promise<{ text(): string; leave(): void }> {
  const headers = bearer(keys[who] ?? '');
  const sent = request(`${tk.url}/api/v1/console/stream?topics=${topics}`, { agent: false, headers });
  sent.on('error', () => undefined).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('error', () => undefined);
  await until(() => text.length > 0, { what: 'the stream' });
  return { text: () => text, leave: () => void sent.destroy() };
}
