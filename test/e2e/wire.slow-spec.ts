import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: the server, its database, tool processes; mock: nothing

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});

afterAll(() => tk.close());

const tools = '/api/v1/custom-tools';
const problemsOf = ({ body }: { body: Json }): string[] =>
  body.errors.map(({ pointer, detail }: Json) => `${pointer} ${detail}`);

describe('a wrong request', () => {
  it('is told each problem of a body once, in words', async () => {
    const answer = await tk.http.post(tools).send({ foo: 1, timeoutMs: null, command: '', tags: [5] });
    expect(answer.status).toBe(400);
    expect(problemsOf(answer).sort()).toEqual([
      '/command must not be empty',
      '/foo is not a known field',
      '/name is required',
      '/tags/0 must be string',
      '/timeoutMs must be integer, not null',
    ]);
    expect(answer.body.detail).toContain('name is required');
    expect(answer.body.title).toBe('The request is not valid');
  });

  it('is told each problem of a query once, in words', async () => {
    const search = await tk.http.get('/api/v1/playbooks/search').expect(400);
    expect(problemsOf(search)).toEqual(['/query is required']);
    const list = await tk.http.get('/api/v1/tool-metrics/executions?limit=0&since=now&x=1').expect(400);
    expect(problemsOf(list).sort()).toEqual([
      '/limit must be at least 1',
      '/since must be an ISO 8601 time, such as 2026-01-23T10:30:00Z',
      '/x is not a known field',
    ]);
  });

  it('holds text that the database can keep', async () => {
    const answer = await tk.http.post(tools).send({ name: 'a', command: 'node', metadata: { a: ['\0'] } });
    expect(problemsOf(answer)).toEqual([
      '/metadata/a/0 must not hold NUL characters or halves of surrogate pairs',
    ]);
  });
});

describe('a change of a tool', () => {
  const patch = (changes: object) => tk.http.patch(`${tools}/changed`).send(changes);

  it('takes null for the default, and what GET answers', async () => {
    const annotations = { readOnly: true };
    await tk.register('changed', {
      annotations,
      cacheTtlMs: 500,
      callsPerInvestigation: 3,
      fallback: { a: 1 },
    });
    const cleared = { cacheTtlMs: null, callsPerInvestigation: null, fallback: null };
    const { body } = await patch(cleared).expect(200);
    expect(body).toMatchObject({ cacheTtlMs: null, callsPerInvestigation: null });
    expect(body).not.toHaveProperty('fallback');
    const { cacheTtlMs, callsPerInvestigation, sandbox, permissions, thresholds } = body;
    await patch({ cacheTtlMs, callsPerInvestigation, sandbox, permissions, thresholds }).expect(200);
  });

  it('keeps what it does not name, also inside of its members', async () => {
    await patch({ sandbox: { maxExecutionMs: 9_000, allowedPaths: [fixtures] } }).expect(200);
    await patch({ permissions: { canReadFiles: true } }).expect(200);
    const { body } = await patch({ sandbox: { maxExecutionMs: null }, permissions: {} }).expect(200);
    expect(body.sandbox).toEqual({ allowedPaths: [fixtures] });
    expect(body.permissions).toEqual({ canReadFiles: true });
    expect((await patch({ sandbox: null }).expect(200)).body.sandbox).toEqual({});
  });

  it('of what the executable says of itself leaves it valid, and is told as a difference', async () => {
    await patch({ description: 'Ours', version: '9.0.0' }).expect(200);
    const { body } = await tk.http.post(`${tools}/changed/validate`).expect(200);
    expect(body).toMatchObject({ valid: true, errors: [] });
    expect(body.differences).toContainEqual(
      expect.stringContaining('version: the registration says "9.0.0"'),
    );
  });
});

describe('an address', () => {
  it('without a path leads a browser to the console, others to the pages that explain the API', async () => {
    await tk.http.get('/').expect(302).expect('location', '/docs');
    await tk.http.get('/').set('accept', 'text/html').expect(302).expect('location', '/console/');
  });

  it.each([
    ['put', `${tools}/changed`, 'DELETE, GET, HEAD, PATCH'],
    ['delete', '/api/v1/tools?format=mcp', 'GET, HEAD'],
  ] as const)('that is known says what it takes: %s %s', async (method, url, allow) => {
    const { body } = await tk.http[method](url).expect(405).expect('allow', allow);
    expect(body).toMatchObject({ code: 'invalid_request', status: 405 });
    await tk.http[method]('/api/v1/nowhere').expect(404);
  });
});

it('finds executions by the ids of their session and request', async () => {
  await tk.register('looked_up');
  const context = { sessionId: 'sess-1', requestId: 'req-1' };
  await tk.http.post('/api/v1/tools/looked_up/execute').send({ input: {}, context }).expect(200);
  await tk.call('looked_up').expect(200);
  for (const filter of ['sessionId=sess-1', 'requestId=req-1']) {
    const data = await until(
      async () => {
        const { body } = await tk.http.get(`/api/v1/tool-metrics/executions?${filter}`).expect(200);
        return body.data.length > 0 ? body.data : undefined;
      },
      { what: 'the execution to be listed' },
    );
    expect(data).toMatchObject([context]);
  }
});
