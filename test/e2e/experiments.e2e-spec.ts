import { once } from 'node:events';
import { SpanIngest } from '../../src/records/spans/ingest/span-ingest.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type AskedOfLlm, type LlmServer, refuse, startLlmServer } from '../support/llm-endpoint.js';
import { until } from '../support/wait.js';

// Real: the whole server, HTTP, PostgreSQL, the ingest of spans, the requests to the model. Scripted: the model's answers.

const apiKey = 'sk-not-to-be-told';
let tk: TestApp;
let llm: LlmServer;

beforeAll(async () => {
  llm = await startLlmServer();
  tk = await startApp({ LLM_BASE_URL: llm.url, LLM_MODEL: 'usual-1', LLM_API_KEY: apiKey });
});
beforeEach(() => {
  llm.asked.length = 0;
  llm.answer = ({ body }) => `Answer to ${body.messages.at(-1).content}`;
});
afterAll(async () => {
  await tk.close();
  await llm.close();
});

const path = '/api/v1/experiments';
const make = async (body: Json): Promise<Json> =>
  (
    await tk.http
      .post(path)
      .send({ name: 'Try', ...body })
      .expect(201)
  ).body;
const run = async ({ id }: Json): Promise<Json> => (await tk.http.post(`${path}/${id}/run`).expect(200)).body;
const shown = async ({ id }: Json): Promise<Json> => (await tk.http.get(`${path}/${id}`).expect(200)).body;
const evaluation = async ({ id }: Json): Promise<Json> =>
  (await tk.http.get(`${path}/${id}/evaluation`).expect(200)).body;
const hello = { messages: [{ role: 'user', content: 'Hello' }] };

let spans = 0;
const question = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Which is cheapest?' }], seed: 7 };

/** Sends the span of a model's call. */
async function sent(more: Json = {}, attribute: Json = {}, project = 'default'): Promise<string> {
  const id = `span-${++spans}`;
  const start = Date.now() * 1_000 - 5_000_000;
  const span = {
    trace_id: `trace-${spans}`,
    span_id: id,
    thread_id: 'thread-7',
    operation_name: 'api_invoke',
    start_time_us: start,
    finish_time_us: start + 2_000_000,
    attribute: {
      model_name: 'gpt-4.1',
      request: question,
      output: 'The one at 9:40.',
      cost: 0.0005,
      usage: { input_tokens: 200, output_tokens: 20 },
      ...attribute,
    },
    ...more,
  };
  await tk.http.post('/api/v1/spans').set('x-project-id', project).send([span]).expect(200);
  return id;
}

/** A model that does not answer until it is told to. */
function silentModel() {
  const asked = Promise.withResolvers<AskedOfLlm>();
  const answer = Promise.withResolvers<string>();
  const left = Promise.withResolvers<void>();
  llm.answer = (question, response) => {
    void once(response, 'close').then(() => left.resolve());
    asked.resolve(question);
    return answer.promise;
  };
  return { asked: asked.promise, left: left.promise, answer: answer.resolve };
}

describe('an experiment', () => {
  it('is made from the call of a model, run with changes, and compared with it', async () => {
    const spanId = await sent();
    const made = await make({ original_span_id: spanId, description: 'Cheaper?' });
    expect(made).toMatchObject({
      ...{ name: 'Try', description: 'Cheaper?', status: 'draft', error: null, result: null },
      ...{ original_span_id: spanId, original_trace_id: `trace-${spans}`, project_id: 'default' },
      ...{ original_request: question, modified_request: question, headers: {}, prompt_variables: {} },
    });
    expect(await evaluation(made)).toEqual({
      hasResults: false,
      new: null,
      comparison: null,
      original: {
        ...{ output: 'The one at 9:40.', model: 'gpt-4.1', cost: 0.0005, duration_seconds: 2 },
        ...{ total_tokens: 220, input_tokens: 200, output_tokens: 20 },
      },
    });

    await tk.http
      .patch(`${path}/${made.id}`)
      .send({
        modified_request: { model: 'gpt-4.1-mini', messages: [{ role: 'user', content: 'Which {{what}}?' }] },
        prompt_variables: { what: 'flight' },
        headers: { 'X-Team': 'team of {{what}}s' },
        model_parameters: { temperature: 0.2 },
      })
      .expect(200);
    const ran = await run(made);
    expect([ran.status, ran.error]).toEqual(['completed', null]);
    expect(ran.result).toEqual({
      output: 'Answer to Which flight?',
      message: { role: 'assistant', content: 'Answer to Which flight?' },
      model: 'gpt-4.1-mini',
      usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      // 100 tokens at 0.40 and 20 at 1.60 US dollars for a million.
      cost: 0.000072,
      duration_ms: expect.any(Number),
      trace_id: null,
    });
    const [asked] = llm.asked;
    expect(asked?.body).toEqual({
      model: 'gpt-4.1-mini',
      messages: [{ role: 'user', content: 'Which flight?' }],
      // Of the original request: a change replaces the members that it names, and no others.
      seed: 7,
      temperature: 0.2,
      stream: false,
    });
    expect(asked?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'x-team': 'team of flights',
      'x-label': 'experiment',
      'x-thread-id': 'thread-7',
    });
    const { hasResults, new: after, comparison } = await evaluation(made);
    expect([hasResults, after.cost, after.total_tokens]).toEqual([true, 0.000072, 120]);
    expect(comparison).toMatchObject({
      total_tokens_change_percent: ((120 - 220) / 220) * 100,
      input_tokens_change_percent: -50,
      output_tokens_change_percent: 0,
    });
    expect(comparison.cost_change_percent).toBeCloseTo(-85.6, 10);
    expect(comparison.duration_change_percent).toBeLessThan(0);
  });

  it('is made from a request of its own, and asks the usual model where it names none', async () => {
    const made = await make({ original_request: hello });
    expect(made).toMatchObject({ original_span_id: null, original_trace_id: null, modified_request: hello });
    expect(await run(made)).toMatchObject({ status: 'completed', result: { model: 'usual-1', cost: null } });
    expect(llm.asked[0]?.headers).not.toHaveProperty('x-thread-id');
    expect(await evaluation(made)).toMatchObject({
      hasResults: false,
      original: null,
      new: { input_tokens: 100 },
      comparison: null,
    });
  });

  it('tells the cost that the endpoint tells, and the tools that a model asked for', async () => {
    const made = await make({ original_request: hello });
    const calls = [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } }];
    llm.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-trace-id': 'trace-of-run' });
      response.end(
        JSON.stringify({
          model: 'other-1',
          cost: '$0.001',
          choices: [{ message: { role: 'assistant', content: null, tool_calls: calls } }],
          usage: { input_tokens: 3, output_tokens: 4 },
        }),
      );
    };
    expect((await run(made)).result).toMatchObject({
      model: 'other-1',
      cost: '$0.001',
      output: JSON.stringify(calls),
      trace_id: 'trace-of-run',
    });
    expect((await evaluation(made)).new).toMatchObject({ cost: 0.001, total_tokens: 7 });
  });

  it('is a draft again when its request changes, and keeps its answer when its name does', async () => {
    const made = await make({ original_request: hello });
    await run(made);
    const change = async (body: Json): Promise<Json> =>
      (await tk.http.patch(`${path}/${made.id}`).send(body).expect(200)).body;
    expect(await change({ name: 'Again' })).toMatchObject({ name: 'Again', status: 'completed', result: {} });
    expect(await change({ prompt_variables: { a: 1 } })).toMatchObject({ status: 'draft', result: null });
    expect(await change({})).toMatchObject({ name: 'Again', prompt_variables: { a: 1 } });
    const smaller = await change({ modified_request: { model: 'gpt-4.1-mini' } });
    expect(smaller.modified_request).toEqual({ ...made.modified_request, model: 'gpt-4.1-mini' });
    // Each of several changes at once reads what the one before it wrote.
    const members = Array.from({ length: 12 }, (_, at) => [`member${at}`, at] as const);
    await Promise.all(members.map(([name, at]) => change({ modified_request: { [name]: at } })));
    expect((await shown(made)).modified_request).toMatchObject(Object.fromEntries(members));
    const tooLong = { modified_request: { user: 'x'.repeat(524_288) } };
    await tk.http.patch(`${path}/${made.id}`).send(tooLong).expect(400);
  });

  it('stands in the lists, newest first, and is gone once it is deleted', async () => {
    const spanId = await sent();
    const [first, second] = [
      await make({ name: 'first', original_span_id: spanId }),
      await make({ name: 'second', original_span_id: spanId }),
    ];
    const { body } = await tk.http.get(`${path}/by-span/${spanId}?limit=1`).expect(200);
    expect(body.pagination).toEqual({ offset: 0, limit: 1, total: 2 });
    expect(body.data.map(({ id }: Json) => id)).toEqual([second?.id]);
    expect(body.data[0]).not.toHaveProperty('original_request');
    await tk.http.delete(`${path}/${second?.id}`).expect(204);
    for (const gone of ['', '/evaluation']) await tk.http.get(`${path}/${second?.id}${gone}`).expect(404);
    await tk.http.delete(`${path}/${second?.id}`).expect(404);
    await tk.http.patch(`${path}/${second?.id}`).send({ name: 'x' }).expect(404);
    for (const verb of ['run', 'cancel']) await tk.http.post(`${path}/${second?.id}/${verb}`).expect(404);
    const left = await tk.http.get(`${path}/by-span/${spanId}`).expect(200);
    expect(left.body.data.map(({ id }: Json) => id)).toEqual([first?.id]);
    const all = await tk.http.get(`${path}?limit=1000`).expect(200);
    expect(all.body.data.map(({ id }: Json) => id)).toContain(first?.id);
    expect((await tk.http.get(`${path}?offset=1000`).expect(200)).body.data).toEqual([]);
  });
});

it('the call that it starts from is shown before it is made, and whether it can run', async () => {
  const spanId = await sent();
  const { body } = await tk.http.get(`${path}/by-span/${spanId}/original`).expect(200);
  expect(body).toEqual({
    ...{ original_span_id: spanId, original_trace_id: `trace-${spans}`, original_request: question },
    original: {
      ...{ output: 'The one at 9:40.', model: 'gpt-4.1', cost: 0.0005, duration_seconds: 2 },
      ...{ total_tokens: 220, input_tokens: 200, output_tokens: 20 },
    },
  });
  await sent({ span_id: spanId });
  const unclear = await tk.http.get(`${path}/by-span/${spanId}/original`).expect(400);
  expect(unclear.body.errors).toEqual([
    { pointer: '/trace_id', detail: 'is required: the span occurs in several traces' },
  ]);
  await tk.http.get(`${path}/by-span/${spanId}/original?trace_id=trace-${spans}`).expect(200);
  const toolSpan = await sent({ operation_name: 'tool_call' });
  const noModel = await tk.http.get(`${path}/by-span/${toolSpan}/original`).expect(400);
  expect(noModel.body.errors).toEqual([{ pointer: '/id', detail: 'must be the call of a model' }]);
  await tk.http.get(`${path}/by-span/nowhere/original`).expect(404, /no span nowhere in this project/);
  const list = await tk.http.get(`${path}/by-span/${spanId}`).expect(200);
  expect(list.body).toMatchObject({ data: [], can_run: true });
});

describe('a bad experiment is refused by the name of its field', () => {
  it.each<[RegExp, Json]>([
    [/original_request is required without original_span_id/, {}],
    [/name must not/, { original_request: hello, name: '' }],
    [/original_request must have messages/, { original_request: { messages: [] } }],
    [
      /modified_request must have messages with a role each/,
      { original_request: hello, modified_request: { messages: ['x'] } },
    ],
    [
      /original_request must have at most 524288 characters/,
      { original_request: { ...hello, x: 'x'.repeat(524_288) } },
    ],
    [
      /prompt_variables must have at most 131072/,
      { original_request: hello, prompt_variables: { x: 'x'.repeat(131_072) } },
    ],
    [/prompt_variables must be object/, { original_request: hello, prompt_variables: [] }],
    [
      /headers may hold 32/,
      {
        original_request: hello,
        headers: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`x-${n}`, ''])),
      },
    ],
    [/headers\/Authorization must be left out/, { original_request: hello, headers: { Authorization: 'x' } }],
    [
      /headers\/x-goog-api-key must be left out/,
      { original_request: hello, headers: { 'x-goog-api-key': 'x' } },
    ],
    [/headers\/hOsT must be left out/, { original_request: hello, headers: { hOsT: 'x' } }],
    [
      /headers\/transfer-encoding must be left out/,
      { original_request: hello, headers: { 'transfer-encoding': 'x' } },
    ],
    [/headers\/a b must be named as HTTP/, { original_request: hello, headers: { 'a b': 'x' } }],
    [/headers\/a must be printable ASCII/, { original_request: hello, headers: { a: 'x\r\ny' } }],
    [/original_span_id must be a span of this project/, { original_span_id: 'nowhere' }],
    [/original_span_id must be a span of this project/, { original_span_id: '!null' }],
    [/status/, { original_request: hello, status: 'completed' }],
  ])('%s', async (message, body) => {
    const { body: problem } = await tk.http
      .post(path)
      .send({ name: 'Try', ...body })
      .expect(400);
    expect(problem.detail).toMatch(message);
    expect(problem.errors[0].pointer).toMatch(/^\/\w/);
  });

  it('also where a span is not the call of a model, has lost its request or nests it endlessly, or stands in several traces', async () => {
    const refusal = async (body: Json): Promise<string> =>
      (
        await tk.http
          .post(path)
          .send({ name: 'Try', ...body })
          .expect(400)
      ).body.detail;
    const tool = await sent({ operation_name: 'tool_call' });
    expect(await refusal({ original_span_id: tool })).toBe('original_span_id must be the call of a model');
    const poor = await sent({}, { request: undefined });
    expect(await refusal({ original_span_id: poor })).toMatch(
      /without its whole request: give that as original_request/,
    );
    const request = `{"messages":[{"role":"user","content":${'['.repeat(9_000)}${']'.repeat(9_000)}}]}`;
    const endless = await sent({}, { request });
    expect(await refusal({ original_span_id: endless })).toMatch(/names a span whose request must be nested/);
    await make({ original_span_id: poor, original_request: hello });
    const twice = await sent();
    await sent({ span_id: twice });
    expect(await refusal({ original_span_id: twice })).toMatch(/^original_trace_id is required/);
    expect(await make({ original_span_id: twice, original_trace_id: `trace-${spans}` })).toMatchObject({
      original_trace_id: `trace-${spans}`,
    });
  });
});

describe('a run', () => {
  it('is one at a time, goes on when its caller leaves, and lets nobody change its request', async () => {
    const made = await make({ original_request: hello });
    const model = silentModel();
    const leaving = new AbortController();
    const left = fetch(`${tk.url}${path}/${made.id}/run`, {
      method: 'POST',
      headers: tk.key,
      signal: leaving.signal,
    });
    await model.asked;
    leaving.abort();
    await expect(left).rejects.toThrow();
    expect(await shown(made)).toMatchObject({ status: 'running', result: null });
    await tk.http.post(`${path}/${made.id}/run`).expect(409, /runs: wait for its end, or cancel it/);
    await tk.http.patch(`${path}/${made.id}`).send({ name: 'x' }).expect(409);
    model.answer('At last.');
    await until(async () => (await shown(made)).status === 'completed', { what: 'the end of the run' });
    expect((await shown(made)).result.output).toBe('At last.');
    expect(llm.asked).toHaveLength(1);
  });

  it('is cancelled, and so is the request to the model', async () => {
    const made = await make({ original_request: hello });
    const model = silentModel();
    const running = run(made);
    await model.asked;
    const { body } = await tk.http.post(`${path}/${made.id}/cancel`).expect(200);
    expect(body).toMatchObject({ status: 'failed', error: 'The run was cancelled', result: null });
    await model.left;
    expect(await running).toMatchObject({ status: 'failed', error: 'The run was cancelled' });
    await tk.http.post(`${path}/${made.id}/cancel`).expect(409, /does not run/);
    llm.answer = () => 'Fine.';
    expect(await run(made)).toMatchObject({ status: 'completed', error: null });
  });

  it('ends when its experiment is deleted', async () => {
    const made = await make({ original_request: hello });
    const model = silentModel();
    const running = tk.http.post(`${path}/${made.id}/run`).then(({ status }) => status);
    await model.asked;
    await tk.http.delete(`${path}/${made.id}`).expect(204);
    await model.left;
    expect(await running).toBe(404);
  });

  it('that a server did not come to the end of is failed, and may be run again', async () => {
    const made = await make({ original_request: hello });
    const diedAgo = (seconds: number) =>
      tk.db.dataSource.query(
        `UPDATE experiments SET status = 'running', run_started_at = now() - interval '${seconds} seconds' WHERE id = $1`,
        [made.id],
      );
    await diedAgo(80);
    expect((await shown(made)).status).toBe('running');
    await diedAgo(91);
    const lost = { status: 'failed', error: 'The server ended before the run did' };
    expect(await shown(made)).toMatchObject(lost);
    const { body } = await tk.http.get(`${path}?limit=1`).expect(200);
    expect(body.data[0]).toMatchObject({ id: made.id, ...lost });
    await tk.http.post(`${path}/${made.id}/cancel`).expect(409);
    expect(await run(made)).toMatchObject({ status: 'completed', error: null });
  });

  it('waits its turn: three of a caller at a time at a server, and no more than the rate of its key', async () => {
    const answer = Promise.withResolvers<string>();
    llm.answer = () => answer.promise;
    const made = await Promise.all(Array.from({ length: 5 }, () => make({ original_request: hello })));
    const running = made.slice(0, 3).map(run);
    await until(() => llm.asked.length === 3, { what: 'three runs' });
    const late = await tk.http.post(`${path}/${made[4]?.id}/run`).expect(429);
    expect([late.body.detail, late.headers['retry-after']]).toEqual([
      'A caller may have 3 runs of experiments at a time at this server, and all callers 4',
      '5',
    ]);
    answer.resolve('Fine.');
    for (const { status } of await Promise.all(running)) expect(status).toBe('completed');
    const body = { name: 'slow', scopes: ['experiments:write'], rate: { calls: 1, per: 'minute' } };
    const key = bearer((await tk.http.post('/api/v1/keys').send(body).expect(201)).body.key);
    const runOnce = () => tk.anonymous.post(`${path}/${made[4]?.id}/run`).set(key);
    await runOnce().expect(200);
    await runOnce().expect(429, /This key may make 1 calls a minute/);
  });

  it('says why there is no answer, and repeats no key', async () => {
    const made = await make({ original_request: hello });
    llm.answer = (_, response) => refuse(response, 401, `Incorrect API key provided: ${apiKey}`);
    const { status, error } = await run(made);
    expect([status, error]).toEqual([
      'failed',
      expect.stringMatching(
        /^The language model gave no answer: it answered 401: .*Incorrect API key provided: \[token\]/,
      ),
    ]);
    llm.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"choices":[{"message":{"content":${'['.repeat(9_000)}${']'.repeat(9_000)}}}]}`);
    };
    expect((await run(made)).error).toMatch(/its answer is nested deeper than 1000 levels/);
    const [{ text }] = await tk.db.dataSource.query(
      `SELECT string_agg(e::text, '') AS text FROM experiments e`,
    );
    expect(text).not.toContain(apiKey);
    await tk.http.patch(`${path}/${made.id}`).send({
      modified_request: { messages: [{ role: 'user', content: '{{#open}}' }] },
    });
    expect(await run(made)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /^The request cannot be made: messages\/0\/content: Unclosed section "open"/,
      ),
    });
  });
});

it('belongs to its project: with the key of another one there is none', async () => {
  const keyFor = async (projects: string[], scopes: string[]): Promise<{ authorization: string }> =>
    bearer(
      (await tk.http.post('/api/v1/keys').send({ name: projects.join(), projects, scopes }).expect(201)).body
        .key,
    );
  const scopes = ['traces:read', 'experiments:write', 'tools:call'];
  const [a, b, reader] = [
    await keyFor(['a'], scopes),
    await keyFor(['b'], scopes),
    await keyFor(['a'], ['traces:read']),
  ];
  const body = { name: 'of-a', original_request: hello };
  const made = (await tk.anonymous.post(path).set(a).send(body).expect(201)).body;
  expect(made.project_id).toBe('a');
  const one = `${path}/${made.id}`;
  await tk.anonymous.get(one).set(reader).expect(200);
  await tk.anonymous.post(path).set(reader).send(body).expect(403);
  for (const verb of ['run', 'cancel']) await tk.anonymous.post(`${one}/${verb}`).set(reader).expect(403);
  await tk.anonymous
    .get(one)
    .set({ ...b, 'x-project-id': 'a' })
    .expect(403);
  for (const key of [b, tk.key]) {
    await tk.anonymous.get(one).set(key).expect(404);
    await tk.anonymous.get(`${one}/evaluation`).set(key).expect(404);
    await tk.anonymous.patch(one).set(key).send({ name: 'mine' }).expect(404);
    await tk.anonymous.delete(one).set(key).expect(404);
    for (const verb of ['run', 'cancel']) await tk.anonymous.post(`${one}/${verb}`).set(key).expect(404);
    expect((await tk.anonymous.get(path).set(key).expect(200)).text).not.toContain('of-a');
  }
  expect(llm.asked).toEqual([]);
  const spanId = await sent({}, {}, 'a');
  await tk.app.get(SpanIngest).flush();
  const from = { name: 'of a span', original_span_id: spanId };
  await tk.anonymous
    .post(path)
    .set(b)
    .send(from)
    .expect(400, /must be a span of this project/);
  await tk.anonymous.post(path).set(a).send(from).expect(201);
  // Twice, for answers are kept.
  for (const [key, valid] of [a, b, a, b].map((key) => [key, key === a] as const)) {
    const asked = tk.anonymous.post('/api/v1/tools/is_valid_for_optimize/execute').set(key);
    expect((await asked.send({ input: { spanId } }).expect(200)).body.result.valid).toBe(valid);
  }
});

it('is refused where its project has a thousand', async () => {
  await tk.db.dataSource.query(
    `INSERT INTO experiments (id, project, name, original_request, modified_request, headers, prompt_variables, model_parameters)
     SELECT gen_random_uuid(), 'full', 'x', '{}', '{}', '{}', '{}', '{}' FROM generate_series(1, 1000)`,
  );
  const body = { name: 'x', original_request: hello };
  const refused = tk.http.post(path).set('x-project-id', 'full').send(body);
  await refused.expect(409, /The project full has 1000 experiments, the most that it may have: delete some/);
});

describe('is_valid_for_optimize', () => {
  const ask = async (input: Json): Promise<Json> => {
    await tk.app.get(SpanIngest).flush();
    return (await tk.call('is_valid_for_optimize', input).expect(200)).body;
  };

  it('says whether a span is the call of a model, once; later answers say that they were kept', async () => {
    const [call, model] = [
      await sent(),
      await sent({ operation_name: 'gpt-4.1' }, { 'gen_ai.operation.name': 'chat' }),
    ];
    const yes = {
      success: true,
      valid: true,
      reason: 'This span is an actual model call and can be optimized',
    };
    const first = await ask({ spanId: call });
    expect([first.cached, first.result]).toEqual([false, { ...yes, spanId: call }]);
    const again = await ask({ spanId: call });
    expect(again).toMatchObject({ cached: true, executionId: first.executionId });
    expect(again.result).toEqual({
      ...{ ...yes, spanId: call, _cached: true },
      _note: 'Result retrieved from cache. No duplicate API call made.',
    });
    expect((await ask({ spanId: model })).result).toEqual({ ...yes, spanId: model });
  });

  it.each(['tool_call', 'model_call', 'guard_output', 'openai', 'run'])(
    'is no for %s',
    async (operation_name) => {
      const spanId = await sent({ operation_name });
      expect((await ask({ spanId })).result).toEqual({
        success: true,
        valid: false,
        spanId,
        reason:
          'This span is not available for optimization. Only actual model call spans (where operation_name is the model name) can be optimized.',
      });
    },
  );

  it('is no for a span that is not there, and a misuse without one', async () => {
    const absent = { success: true, valid: false, spanId: '!null', reason: 'Span !null not found' };
    expect((await ask({ spanId: '!null' })).result).toEqual(absent);
    expect((await ask({ spanId: '!null' })).result).toEqual({
      ...absent,
      _cached: true,
      _note: expect.any(String),
    });
    for (const input of [{}, { spanId: ' ' }])
      expect(await ask(input)).toMatchObject({
        cached: false,
        error: { code: -32602 },
        result: { success: false, error: 'spanId is required' },
      });
  });
});
