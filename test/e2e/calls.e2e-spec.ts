import { Gate } from '../fixtures/tools/gate.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

let tk: TestApp;
let gate: Gate;

beforeAll(async () => {
  const variables = { CUSTOM_TOOLS_MAX_QUEUE: '1', TOOL_INPUT_MAX_BYTES: '2000' };
  tk = await startApp(variables, { toolInput: { maxDepth: 5 } });
  gate = new Gate();
  await tk.register('echo', {
    keepAlive: true,
    ...gate.access,
    inputSchema: {
      type: 'object',
      properties: { action: { type: 'string' }, limit: { type: 'integer' } },
      additionalProperties: true,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    fallback: { note: 'go on without it' },
    tags: ['fixture'],
  });
});

afterAll(async () => {
  gate.close();
  await tk.close();
});

const rowOf = (executionId: string) =>
  until(
    async () => {
      const { status, body } = await tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`);
      return status === 200 ? body : undefined;
    },
    { what: 'the execution to be recorded' },
  );

describe('a call', () => {
  it('answers with its outcome and has exactly one row', async () => {
    const { body } = await tk.call('echo', { hello: 'wörld' }).expect(200);
    expect(body).toEqual({
      executionId: expect.any(String),
      tool: 'echo',
      status: 'success',
      result: { hello: 'wörld' },
      executionTimeMs: expect.any(Number),
      attempts: 1,
      cached: false,
    });
    expect(await rowOf(body.executionId)).toMatchObject({
      toolName: 'echo',
      status: 'success',
      userId: 'admin',
      isTest: false,
      toolFault: false,
      inputSize: Buffer.byteLength('{"hello":"wörld"}'),
      parametersHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('takes its context from the body, and from headers what the body omits', async () => {
    const { body } = await tk.http
      .post('/api/v1/tools/echo/execute')
      .set({
        'x-user-id': 'header-user',
        'x-session-id': 'sess-456',
        'x-run-id': 'run-1',
        'x-request-id': 'req-7',
      })
      .send({ input: {}, context: { userId: 'body-user', labels: { environment: 'production' } } })
      .expect(200)
      .expect('x-request-id', 'req-7');
    expect(await rowOf(body.executionId)).toMatchObject({
      userId: 'body-user',
      sessionId: 'sess-456',
      requestId: 'req-7',
      runId: 'run-1',
      metadata: { labels: { environment: 'production' } },
    });
  });

  it.each([
    ['in their order', { action: 'echo', text: 'é"\\\u2028', zeta: [1, { a: null }] }],
    ['in another', { zeta: { b: 1, a: 2 }, action: 'echo' }],
  ])('hands its input on to the tool, keys %s, and any run id', async (_order, input) => {
    const { body } = await tk.call('echo', input).expect(200);
    expect(body.result).toEqual(input);
    expect(JSON.stringify(body.result)).toBe(JSON.stringify(input));
    const runId = 'a "run" \\ of ünïcode';
    const { body: told } = await tk.call('echo', { action: 'context' }, { runId }).expect(200);
    expect(told.result).toMatchObject({ runId });
  });

  it('tells the tool its context', async () => {
    const { body } = await tk.call('echo', { action: 'context' }, { runId: 'run-9', timeoutMs: 20_000 });
    expect(body.result).toMatchObject({ runId: 'run-9', executionId: body.executionId });
    expect(body.result.timeout).toBeLessThanOrEqual(20_000);
    expect(body.result.workingDir).toMatch(/^\//);
  });

  it("shows the tool's own error with its code, data and fallback", async () => {
    const input = { action: 'error', code: -32055, message: 'no such city', data: { city: 'x' } };
    const { body } = await tk.call('echo', input).expect(200);
    expect(body).toMatchObject({
      status: 'error',
      error: { code: -32055, type: 'tool_error', message: 'no such city', data: { city: 'x' } },
      result: { note: 'go on without it' },
    });
    expect(await rowOf(body.executionId)).toMatchObject({
      status: 'error',
      errorType: 'tool_error',
      toolFault: true,
    });
  });

  it('keeps what a crash left behind on its row', async () => {
    const { body } = await tk.call('echo', { action: 'crash', code: 9, stderr: 'out of luck' }).expect(200);
    expect(body).toMatchObject({ status: 'error', error: { type: 'tool_crashed', code: -32603 } });
    const { metadata } = await rowOf(body.executionId);
    expect(metadata).toMatchObject({ exitCode: 9, stderrTail: expect.stringContaining('out of luck') });
    await tk.call('echo', { again: true }).expect(200, /"status":"success"/);
  });

  it('ends at its deadline: the process is gone and its late answer harms nobody', async () => {
    const { body: before } = await tk.call('echo', { action: 'count' });
    const { pid } = (await rowOf(before.executionId)).metadata;
    const { body } = await tk.call('echo', { action: 'sleep', ms: 60_000 }, { timeoutMs: 100 }).expect(200);
    expect(body).toMatchObject({ status: 'timeout', error: { type: 'timeout', code: -32000 } });
    await until(() => !alive(pid), { what: 'the end of the overdue process' });
    const { body: after } = await tk.call('echo', { action: 'count' });
    expect(after.status).toBe('success');
    expect(after.result.instance).not.toBe(before.result.instance);
  });

  it('is cancelled when its caller leaves', async () => {
    const controller = new AbortController();
    const left = fetch(`${tk.url}/api/v1/tools/echo/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'leaver' },
      body: JSON.stringify({ input: gate.input('leaver') }),
      signal: controller.signal,
    });
    await gate.running('leaver');
    controller.abort();
    await expect(left).rejects.toThrow();
    await until(
      async () => {
        const { body } = await tk.http.get('/api/v1/tool-metrics/errors?tool=echo&limit=100');
        return (
          body.data.find((row: { requestId: string }) => row.requestId === 'leaver')?.errorType ===
          'cancelled'
        );
      },
      { what: 'the cancelled execution to be recorded' },
    );
  });
});

describe('a refusal', () => {
  const count = async (): Promise<number> => {
    const [row] = await tk.db.dataSource.query<{ n: number }[]>(
      'SELECT count(*)::int AS n FROM tool_metrics',
    );
    return row?.n ?? 0;
  };

  it.each([
    ['tool_not_found', 404, 'nope', { input: {} }, undefined],
    ['invalid_input', 422, 'echo', { input: { limit: 'many' } }, '/input/limit'],
    ['invalid_input', 422, 'echo', { input: 'text' }, '/input'],
    ['invalid_input', 422, 'echo', { input: { a: { b: { c: { d: { e: {} } } } } } }, '/input'],
    ['payload_too_large', 413, 'echo', { input: { text: 'x'.repeat(3_000) } }, '/input'],
    ['invalid_request', 400, 'echo', { inputs: {} }, '/inputs'],
    ['invalid_request', 400, 'echo', { input: {}, context: { timeoutMs: -1 } }, '/context/timeoutMs'],
    ['invalid_request', 400, 'echo', { input: {}, context: { user: 'x' } }, '/context/user'],
  ])('%s (%d) names the field and leaves no row', async (code, status, tool, payload, pointer) => {
    const before = await count();
    const { body } = await tk.http
      .post(`/api/v1/tools/${tool}/execute`)
      .send(payload)
      .expect(status)
      .expect('content-type', /application\/problem\+json/);
    expect(body).toMatchObject({
      code,
      status,
      type: `urn:toolkeeper:error:${code}`,
      requestId: expect.any(String),
    });
    if (tool === 'echo' && status !== 400) expect(body.fallback).toEqual({ note: 'go on without it' });
    if (pointer) expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    expect(await count()).toBe(before);
  });

  it('answers malformed JSON, an unknown media type and a body over its cap', async () => {
    const post = (type: string, text: string) =>
      tk.http.post('/api/v1/tools/echo/execute').set('content-type', type).send(text);
    await post('application/json', '{"input":').expect(400, /"code":"invalid_request"/);
    await post('application/json', '{"input":{"__proto__":{"a":1}}}').expect(400);
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    await post('application/json', nested).expect(400, /nested deeper/);
    await tk.http
      .post('/api/v1/custom-tools')
      .set('content-type', 'application/json')
      .send(`{"metadata":${nested}}`)
      .expect(400, /nested deeper/);
    await post('text/csv', 'a,b').expect(415, /"code":"invalid_request"/);
    await post('application/json', JSON.stringify('x'.repeat(5_000_000))).expect(
      413,
      /"code":"payload_too_large"/,
    );
  });

  it('queue_full says which limit, and gives the budget unit back', async () => {
    const context = { investigationId: 'inv-queue' };
    const running = tk.call('echo', gate.input('runs')).then((answer) => answer);
    await gate.running('runs');
    const waiting = tk.call('echo', { waits: true }).then((answer) => answer);
    await until(
      async () => (await tk.http.get('/api/v1/custom-tools/echo/health')).body.processes.waiting === 1,
      {
        what: 'the second call to wait',
      },
    );
    const { body } = await tk.call('echo', {}, context).expect(429).expect('retry-after', '1');
    expect(body).toMatchObject({ code: 'queue_full', fallback: { note: 'go on without it' } });
    await gate.open('runs');
    expect((await running).body.status).toBe('success');
    expect((await waiting).body.status).toBe('success');
    const { headers } = await tk.call('echo', {}, context).expect(200);
    expect(headers['ratelimit-remaining']).toBe('9');
  });
});

describe('finding tools', () => {
  const query = 'search for remediation workflows';

  it('a list with a query has the best first, page by page', async () => {
    const list = async (more = '') => {
      const path = `/api/v1/tools?query=${encodeURIComponent(`${query} or a fixture`)}&limit=1${more}`;
      return (await tk.http.get(path).expect(200)).body;
    };
    const first = await list();
    expect(first.data.map(({ name }: { name: string }) => name)).toEqual(['get_playbooks']);
    const second = await list(`&cursor=${first.nextCursor}`);
    expect(second.data.map(({ name }: { name: string }) => name)).toEqual(['echo']);
  });

  it('an agent asks find_tools, and calls what it is told of', async () => {
    const { body } = await tk.call('find_tools', { query, limit: 1 }).expect(200);
    const [found] = body.result.tools;
    expect(found).toMatchObject({ name: 'get_playbooks', inputSchema: { required: ['query'] } });
    await tk.call(found.name, { query: 'disk full' }).expect(200);
    await tk.call('find_tools', { query: ' ' }).expect(422);
  });
});

describe('the list of tools', () => {
  it('holds custom and built-in tools, in every format, filtered and paged', async () => {
    const names = async (query: string) =>
      (await tk.http.get(`/api/v1/tools${query}`).expect(200)).body.data.map(
        (tool: { name: string }) => tool.name,
      );
    const all = await names('');
    expect(all).toEqual(expect.arrayContaining(['echo', 'find_tools', 'get_playbooks', 'readFile']));
    expect(all).toEqual(all.toSorted());
    expect(await names('?query=FIXTURE')).toEqual(['echo']);
    const { body: page } = await tk.http.get('/api/v1/tools?limit=2').expect(200);
    expect(page.nextCursor).not.toBeNull();
    expect(await names(`?limit=2&cursor=${page.nextCursor}`)).toEqual(all.slice(2, 4));
    const { body: openai } = await tk.http.get('/api/v1/tools/echo?format=openai').expect(200);
    expect(openai).toMatchObject({
      type: 'function',
      function: { name: 'echo', parameters: { type: 'object' } },
    });
    const { body: anthropic } = await tk.http.get('/api/v1/tools?format=anthropic').expect(200);
    expect(anthropic.data[0]).toHaveProperty('input_schema');
    const { body: mcp } = await tk.http.get('/api/v1/tools/echo?format=mcp').expect(200);
    expect(mcp.annotations).toEqual({
      readOnlyHint: true,
      idempotentHint: true,
      destructiveHint: false,
      openWorldHint: false,
    });
    const { body: distri } = await tk.http.get('/api/v1/tools/echo?format=distri').expect(200);
    expect(distri).toMatchObject({ type: 'function', parameters: { type: 'object' } });
  });

  it('refuses what it does not know', async () => {
    await tk.http.get('/api/v1/tools?format=yaml').expect(400, /"pointer":"\/format"/);
    await tk.http.get('/api/v1/tools?limit=0').expect(400, /"pointer":"\/limit"/);
    await tk.http.get('/api/v1/tools?cursor=%20').expect(400, /"pointer":"\/cursor"/);
    await tk.http.get('/api/v1/tools/nope').expect(404, /"code":"tool_not_found"/);
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
