import { Ajv2020 } from 'ajv/dist/2020.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { writeSpans } from '../support/sent-spans.js';
import type { RawSpan } from '../support/trace-oracle.js';

// real: the whole server, HTTP, PostgreSQL; mock: nothing

let tk: TestApp;
const keys: Record<string, string> = {};
const now = Date.now() * 1_000;
const minute = 60_000_000;

beforeAll(async () => {
  tk = await startApp();
  for (const project of ['a', 'b']) {
    await writeSpans(tk.db.dataSource, project, spansOf(project));
    keys[project] = await keyFor([project], ['traces:read', 'tools:call']);
  }
  await writeSpans(tk.db.dataSource, 'default', spansOf('default'));
  for (const project of ['a', 'b'])
    await tk.http
      .post('/api/v1/experiments')
      .set('x-project-id', project)
      .send({ name: `of-${project}`, original_span_id: 'step-1' })
      .expect(201);
});
afterAll(() => tk.close());

async function keyFor(projects: readonly string[], scopes: readonly string[]): Promise<string> {
  const body = { name: `reader of ${projects.join()} ${scopes.join()}`, owner: 'tests', projects, scopes };
  return (await tk.http.post('/api/v1/keys').send(body).expect(201)).body.key;
}

/** Two steps of one run, the second of which fails; ids are the same in each project, what they say is not. */
function spansOf(project: string): RawSpan[] {
  const says = `of-${project}`;
  const span = (id: string, parent: string | undefined, at: number, more: object): RawSpan => ({
    trace_id: 'shared-trace',
    span_id: id,
    ...(parent && { parent_span_id: parent }),
    thread_id: 'shared-thread',
    run_id: 'shared-run',
    operation_name: 'run',
    start_time_us: now - 10 * minute + at,
    finish_time_us: now - 10 * minute + at + 1_000_000,
    attribute: {},
    ...more,
  });
  const call = {
    model_name: says,
    cost: 0.25,
    label: says,
    usage: { input_tokens: 100, output_tokens: 20 },
    request: { model: says, messages: [{ role: 'user', content: `${says} ${'long '.repeat(1_000)}` }] },
    output: says,
  };
  return [
    span('root', undefined, 0, { finish_time_us: now - 9 * minute, attribute: { note: says } }),
    span('step-1', 'root', 1_000, { operation_name: 'api_invoke', attribute: call }),
    span('step-2', 'root', 2_000_000, {
      operation_name: 'tool_call',
      attribute: { tool_name: says, arguments: '{"a":1}', error: `${says} broke` },
    }),
  ];
}

const get = (path: string, key?: string) => {
  const request = tk.anonymous.get(`/api/v1${path}`);
  return key ? request.set(bearer(key)) : request;
};
const run = async (tool: string, input: object, key = keys['a'] ?? ''): Promise<Json> =>
  (await tk.anonymous.post(`/api/v1/tools/${tool}/execute`).set(bearer(key)).send({ input }).expect(200))
    .body;

describe('reading spans over REST', () => {
  it('answers in the envelope that clients of vLLora know, in microseconds', async () => {
    const { body } = await get('/spans?threadIds=shared-thread&limit=2').expect(200);
    expect(body.pagination).toEqual({ offset: 0, limit: 2, total: 3 });
    expect(body.data.map((span: Json) => [span.span_id, span.operation_name, span.start_time_us])).toEqual([
      ['root', 'run', now - 10 * minute],
      ['step-1', 'api_invoke', now - 10 * minute + 1_000],
    ]);
    expect(body.data[1].attribute.output).toBe('of-default');
  });

  it.each([
    ['parent_span_ids=null', ['root']],
    ['parentSpanIds=!NULL', ['step-1', 'step-2']],
    ['parent_span_ids=null,root', ['root', 'step-1', 'step-2']],
    ['labels=of-default', ['step-1']],
    ['labels=null&operation_names=tool_call', ['step-2']],
    ['has_errors=true', ['step-2']],
    ['has_errors=false', ['root', 'step-1']],
    ['has_errors=true&status=success', []],
    ['status=success&order=desc', ['step-1', 'root']],
    ['min_duration_ms=2000', ['root']],
    ['max_cost=0.25&min_cost=0.2', ['step-1']],
    ['q=BROKE', ['step-2']],
    ['q=%25', []],
    [`start_time=${now - 10 * minute + 1}&end_time=${now - 10 * minute + 1_000}`, ['step-1']],
    ['period=last_hour', ['root', 'step-1', 'step-2']],
    [`period=last_hour&startTime=${now}`, []],
    ['traceIds=shared-trace&spanIds=root,step-2', ['root', 'step-2']],
  ])('GET /spans?%s', async (query, expected) => {
    const { body } = await get(`/spans?${query}`).expect(200);
    expect(body.data.map((span: Json) => span.span_id)).toEqual(expected);
    expect(body.pagination.total).toBe(expected.length);
  });

  it('reads an hour, a day, a week or thirty days back from now', async () => {
    // Spans are kept by whole days: one of more than thirty days is there since midnight (UTC).
    const sinceMidnight = (now / (60 * minute)) % 24;
    const hours = { recent: 0.9, hour: 1.1, day: 25, week: 7 * 24 + 1, month: 30 * 24 + sinceMidnight / 2 };
    const spans = Object.entries(hours).map(([id, ago]) => {
      const start = now - ago * 60 * minute;
      return { ...spansOf('x')[0], span_id: id, start_time_us: start, finish_time_us: start } as RawSpan;
    });
    await writeSpans(tk.db.dataSource, 'periods', spans);
    const within = async (period: string): Promise<string[]> => {
      const asked = tk.http.get(`/api/v1/spans?period=${period}`).set('x-project-id', 'periods');
      return (await asked.expect(200)).body.data.map((span: Json) => span.span_id);
    };
    expect(await within('last_hour')).toEqual(['recent']);
    expect(await within('last_day')).toEqual(['hour', 'recent']);
    expect(await within('last_week')).toEqual(['day', 'hour', 'recent']);
    expect(await within('last_month')).toEqual(['week', 'day', 'hour', 'recent']);
  });

  it('answers a hundred where nothing is said', async () => {
    for (const path of ['/spans', '/runs', '/group', '/runs/shared-run']) {
      const { pagination } = (await get(path).expect(200)).body;
      expect([path, pagination]).toEqual([path, { offset: 0, limit: 100, total: expect.any(Number) }]);
    }
  });

  it('names the field that is wrong', async () => {
    const { body } = await get('/spans?limit=1001&period=ever').expect(400);
    expect(body.errors.map((error: Json) => error.pointer)).toEqual(['/limit', '/period']);
    await get('/runs?treadIds=x').expect(400, /treadIds is not a known field/);
    await get('/group/spans?group_by=thread').expect(400, /thread_id is required for groups by thread/);
  });

  it('tells what a run came to, and finds runs by it', async () => {
    const { body } = await get('/runs/shared-run/details').expect(200);
    expect(body.data).toMatchObject({
      run_id: 'shared-run',
      thread_ids: ['shared-thread'],
      root_span_ids: ['root'],
      root_operation: 'run',
      labels: ['of-default'],
      error_count: 1,
      llm_calls: 1,
      cost: 0.25,
      input_tokens: 100,
      output_tokens: 20,
      duration_ms: 60_000,
      has_errors: true,
      status: 'success',
      errors: ['of-default broke'],
    });
    for (const [query, found] of [
      ['has_errors=true', 1],
      ['status=failed', 1],
      ['status=failed&has_errors=false', 0],
      ['status=error', 0],
      ['status=success&model_name=of-default', 1],
      ['min_duration_ms=60001', 0],
      ['min_duration_ms=60000&max_duration_ms=60000', 1],
      ['min_cost=0.2&max_cost=0.25', 1],
      ['min_cost=0.26', 0],
      ['q=of-default%20broke', 1],
      ['type_filter=mcp&labels=of-default', 0],
      ['labels=of-default', 1],
      ['period=last_hour', 1],
    ] as const) {
      const runs = await get(`/runs?${query}`).expect(200);
      expect([query, runs.body.data.length, runs.body.pagination.total]).toEqual([query, found, found]);
    }
    expect((await get('/runs/none/details').expect(200)).body).toEqual({ data: null });
    expect((await get('/runs/shared-run').expect(200)).body.pagination.total).toBe(3);
  });

  it('shows what a run waited for', async () => {
    const { body } = await get('/runs/shared-run/bottlenecks').expect(200);
    expect(body).toMatchObject({ run_id: 'shared-run', total_ms: 60_000 });
    expect(body.data.map((each: Json) => [each.span_id, each.self_ms, each.percent_of_total])).toEqual([
      ['root', 58_000, 96.7],
      ['step-1', 1_000, 1.7],
      ['step-2', 1_000, 1.7],
    ]);
    await get('/runs/none/bottlenecks').expect(404);
  });

  it('draws a trace of any size from columns, in gzip where the caller takes it', async () => {
    const path = '/traces/shared-trace/skeleton';
    const { body, headers } = await get(path).set('accept-encoding', 'gzip').expect(200);
    expect(headers['content-encoding']).toBe('gzip');
    expect(body).toEqual({
      spans: 3,
      labels: ['of-default'],
      label: [-1, 0, -1],
      total_spans: 3,
      start_time_us: now - 10 * minute,
      id_length: 6,
      span_ids: 'root  step-1step-2',
      parents: [-1, 0, 0],
      starts_after_ms: [0, 1, 1_999],
      durations_ms: [60_000, 1_000, 1_000],
      types: [
        { operation: 'api_invoke', kind: 'llm', status: 'success' },
        { operation: 'run', kind: 'chain', status: 'success' },
        { operation: 'tool_call', kind: 'tool', status: 'error' },
      ],
      type: [1, 0, 2],
      names: ['of-default', 'run'],
      name: [1, 0, 0],
      costs: [0, 0.25, 0],
      tokens: [0, 120, 0],
      flags: [0, 0, 1],
      patterns: [],
      execution_ids: '',
    });
    const plain = await get(path).set('accept-encoding', 'identity').expect(200);
    expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, body]);
    await get('/traces/none/skeleton').expect(404, /There is no trace/);
  });

  it('flags errors that texts tell of once, and names executions, in the columns of a trace', async () => {
    const execution = '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f';
    const told = 'Failed to open: unauthorized';
    const repeated = { messages: [{ role: 'tool', tool_call_id: 'call-1', content: told }] };
    const attributes = [
      { 'toolkeeper.execution_id': execution, tool_name: 'search', output: told },
      { request: repeated },
      { request: repeated },
    ];
    const spans = spansOf('default').map((span, at) => ({
      ...{ ...span, trace_id: 'flagged', run_id: 'flagged', attribute: attributes[at] },
      operation_name: at === 0 ? 'tool_call' : 'api_invoke',
    }));
    await writeSpans(tk.db.dataSource, 'flagged', spans as RawSpan[]);
    const of = (path: string) => tk.http.get(`/api/v1${path}`).set('x-project-id', 'flagged').expect(200);
    const { body } = await of('/traces/flagged/skeleton');
    expect([body.flags, body.patterns.length, body.execution_ids]).toEqual([[6, 2, 0], 2, execution]);
    const { data } = (await of('/runs')).body;
    expect([data[0].error_count, data[0].semantic_error_count]).toEqual([0, 2]);
    const window = (await of('/traces/flagged/window?limit=1&texts=true')).body;
    const found = (await of(`/traces/find?id=${execution}`)).body.data;
    expect(found.map((each: Json) => [each.kind, each.span_id])).toEqual([['execution', 'root']]);
    expect(window.data[0]).toMatchObject({ semantic_source: 'output', semantic_snippet: told, output: told });
  });

  it('shows the window of a trace around a span, or in a span of time', async () => {
    const window = async (query: string) => {
      const { body } = await get(`/traces/shared-trace/window?${query}`).expect(200);
      return [body.data.map((span: Json) => span.span_id), body.pagination.offset, body.pagination.total];
    };
    expect(await window('span_id=step-1&limit=1')).toEqual([['step-1'], 1, 3]);
    expect(await window('span_id=step-2&limit=2')).toEqual([['step-1', 'step-2'], 1, 3]);
    expect(await window('spanId=root&end_time=5')).toEqual([['root', 'step-1', 'step-2'], 0, 3]);
    const at = now - 10 * minute + 1_500_000;
    expect(await window(`start_time=${at}&end_time=${at}`)).toEqual([['root'], 0, 1]);
    expect(await window(`start_time=${at}`)).toEqual([['root', 'step-2'], 0, 2]);
    await get('/traces/shared-trace/window?span_id=none').expect(404, /no span .*none.* in the trace/);
    await get('/traces/shared-trace/window?limit=501').expect(400, /limit/);
  });

  it.each([
    ['shared-trace', ['trace', 'root']],
    ['shared-run', ['run', 'root']],
    ['shared-thread', ['thread', 'root']],
    ['step-2', ['span', 'step-2']],
    ['of-default'],
  ])('says what %s is the id of', async (id, ...expected) => {
    const { body } = await get(`/traces/find?id=${id}`).expect(200);
    expect(body.data.map((found: Json) => [found.kind, found.span_id])).toEqual(expected);
  });

  it('compares two runs by their summaries', async () => {
    const again = spansOf('default').map((span) => ({
      ...span,
      trace_id: 'later-trace',
      run_id: 'later-run',
      ...(span.span_id === 'step-1' && { attribute: { ...span.attribute, cost: 0.5 } }),
      ...(span.span_id === 'step-2' && { attribute: {} }),
    }));
    await writeSpans(tk.db.dataSource, 'compared', [...spansOf('default'), ...again]);
    const compare = (runs: string) =>
      tk.http.get(`/api/v1/stats/compare?${runs}`).set('x-project-id', 'compared');
    const { body } = await compare('a=shared-run&b=later-run').expect(200);
    expect([body.a.summary.total_cost, body.b.error_spans_total]).toEqual([0.25, 0]);
    expect(body.differences).toMatchObject({
      total_spans: { a: 3, b: 3, change: 0, change_percent: 0 },
      errors: { a: 1, b: 0, change: -1, change_percent: -100 },
      total_cost: { a: 0.25, b: 0.5, change: 0.25, change_percent: 100 },
      cache_hit_rate: { a: 0, b: 0, change: 0, change_percent: null },
      p95_ms: { a: 1_000, b: 1_000, change: 0, change_percent: 0 },
    });
    await compare('a=shared-run&b=none').expect(404, /There is no run .*none/);
    await compare('a=shared-run').expect(400, /b is required/);
  });

  it('takes `null` in a list for spans without one, and alone for the id that it is', async () => {
    const odd = spansOf('default').map((span) => ({ ...span, run_id: 'null', thread_id: 'null' }));
    const { thread_id: _, ...threadless } = { ...spansOf('default')[0], span_id: 'threadless' } as RawSpan;
    await writeSpans(tk.db.dataSource, 'odd', [...odd, threadless]);
    const ask = async (path: string) =>
      (await tk.http.get(`/api/v1${path}`).set('x-project-id', 'odd').expect(200)).body;
    expect((await ask('/spans?thread_ids=null')).data.map((span: Json) => span.span_id)).toEqual([
      'threadless',
    ]);
    expect((await ask('/spans?thread_ids=!null')).pagination.total).toBe(3);
    expect((await ask('/runs/null/details')).data).toMatchObject({ run_id: 'null', cost: 0.25 });
    expect((await ask('/group?group_by=thread')).data).toMatchObject([
      { group_key: { thread_id: 'null' }, total_spans: 3 },
    ]);
    expect((await ask('/group/spans?group_by=thread&thread_id=null')).pagination.total).toBe(3);
    const remove = (id: string) =>
      tk.http.delete(`/api/v1/threads/${id}`).set('x-project-id', 'odd').expect(200);
    expect((await remove('!null')).body).toEqual({ deleted: 0 });
    expect((await remove('null')).body).toEqual({ deleted: 3 });
    expect((await ask('/spans')).data.map((span: Json) => span.span_id)).toEqual(['threadless']);
  });

  it('groups by time, thread and run, and gives the spans of several groups at once', async () => {
    const bucket = Math.floor((now - 10 * minute) / 3.6e9) * 3.6e9;
    const { body } = await get('/group?bucketSize=3600').expect(200);
    expect(body.data[0]).toMatchObject({
      group_by: 'time',
      group_key: { time_bucket: bucket },
      total_spans: 3,
    });
    const byThread = await get('/group?groupBy=thread').expect(200);
    expect(byThread.body.data[0].group_key).toEqual({ thread_id: 'shared-thread' });
    const groups = [
      { groupBy: 'time', timeBucket: bucket, bucketSize: 3_600 },
      { groupBy: 'thread', threadId: 'shared-thread' },
      { groupBy: 'run', runId: 'shared-run' },
    ];
    const batch = await tk.anonymous
      .post('/api/v1/group/batch-spans')
      .send({ groups, spansPerGroup: 2 })
      .expect(200);
    expect(Object.keys(batch.body.data)).toEqual([
      `time-${bucket}`,
      'thread-shared-thread',
      'run-shared-run',
    ]);
    for (const group of Object.values<Json>(batch.body.data))
      expect([group.spans.length, group.pagination.total]).toEqual([2, 3]);
    await tk.anonymous
      .post('/api/v1/group/batch-spans')
      .send({ groups: [{ groupBy: 'run' }] })
      .expect(400, /groups\/0\/runId/);
  });

  it('counts labels, and the figures of a period', async () => {
    expect((await get('/labels?threadId=shared-thread').expect(200)).body).toEqual({
      labels: [{ name: 'of-default', count: 1 }],
      total: 1,
    });
    const figures = {
      spans: 3,
      calls: 1,
      errors: 1,
      cost: 0.25,
      input_tokens: 100,
      output_tokens: 20,
      p50_ms: 1_000,
    };
    expect((await get('/stats?period=last_hour').expect(200)).body).toMatchObject(figures);
    expect((await get(`/stats?end_time=${now - 20 * minute}`).expect(200)).body).toMatchObject({
      spans: 0,
      p50_ms: null,
    });
    const { body } = await get('/metrics/timeseries?bucket_size=86400').expect(200);
    expect(body.data[0]).toMatchObject(figures);
  });

  it('deletes a run for the operator alone', async () => {
    await writeSpans(tk.db.dataSource, 'default', [
      { ...spansOf('default')[0], run_id: 'gone', span_id: 'x' } as RawSpan,
    ]);
    await tk.anonymous.delete('/api/v1/runs/gone').expect(401);
    expect((await tk.http.delete('/api/v1/runs/gone').expect(200)).body).toEqual({ deleted: 1 });
    expect((await get('/spans?runIds=gone').expect(200)).body.data).toEqual([]);
    const [{ n }] = await tk.db.dataSource.query(
      `SELECT count(*)::int AS n FROM span_contents WHERE span_id = 'x'`,
    );
    expect(n).toBe(0);
  });
});

describe('the tools that read spans', () => {
  it('start with a summary', async () => {
    const { status, result } = await run('fetch_spans_summary', { threadIds: 'shared-thread' });
    expect(status).toBe('success');
    expect(result).toMatchObject({
      success: true,
      summary: {
        total_spans: 3,
        total_cost: 0.25,
        models_used: ['of-a'],
        by_status: { success: 2, error: 1 },
      },
      error_spans: [{ span_id: 'step-2', operation: 'tool_call', error_message: 'of-a broke' }],
      error_spans_total: 1,
      _note: expect.stringContaining('get_span_content'),
    });
  });

  it('go on with contents, which are cut', async () => {
    const { result } = await run('get_span_content', { spanIds: 'step-1,nowhere' });
    expect(result.not_found).toEqual(['nowhere']);
    expect(result.data[0]).toMatchObject({
      span_id: 'step-1',
      model: 'of-a',
      output_excerpt: 'of-a',
      error: null,
    });
    expect(result.data[0].input_excerpt).toMatch(
      /^\[\{"role":"user","content":"of-a .*characters cut.*long "\}\]$/,
    );
    expect(result.data[0].input_excerpt.length).toBeLessThan(1_850);
    const full = await run('get_span_content', { spanIds: ['step-1'], full: true });
    expect(full.result.data[0].attribute.request.messages[0].content.length).toBeGreaterThan(5_000);
  });

  it('show contents to one who asked for no summary, and after the summary of another thread', async () => {
    const own = keys['b'];
    await run('fetch_spans_summary', { threadIds: 'another' });
    for (const key of [own, keys['a']]) {
      const { result } = await run('get_span_content', { spanIds: 'step-1' }, key);
      expect(result).toMatchObject({ success: true, not_found: [], data: [{ span_id: 'step-1' }] });
    }
  });

  it('list runs, groups, spans and labels', async () => {
    expect((await run('fetch_runs', { period: 'last_hour' })).result.data[0]).toMatchObject({
      run_id: 'shared-run',
      cost: 0.25,
    });
    expect((await run('fetch_groups', { groupBy: 'thread' })).result.data[0].group_key).toEqual({
      thread_id: 'shared-thread',
    });
    const spans = (await run('fetch_spans', { runIds: ['shared-run'], limit: 2 })).result;
    expect([spans.data.length, spans.pagination, spans._note]).toEqual([
      2,
      { offset: 0, limit: 2, total: 3 },
      'Showing 2 of 3 spans. Use limit/offset for more: the next offset is 2.',
    ]);
    const details = (await run('get_run_details', { runId: 'shared-run' })).result;
    expect([details.data.run_id, details.spans.length, details.total_spans]).toEqual(['shared-run', 3, 3]);
    expect(details.spans[0].attribute).toBeUndefined();
    expect((await run('list_labels', {})).result).toMatchObject({
      success: true,
      data: [{ name: 'of-a', count: 1 }],
      total: 1,
    });
  });

  it.each([
    ['fetch_spans_summary', {}, 'threadIds, runIds, or labels is required'],
    ['get_span_content', {}, 'spanIds is required'],
    [
      'get_span_content',
      { spanIds: '1,2,3,4,5,6' },
      'Maximum 5 spans can be retrieved at once. Please reduce the number of span_ids.',
    ],
    ['get_run_details', { runId: 'none' }, 'Run none not found'],
  ])('tell the agent of a misuse of %s %j, which is no fault of theirs', async (tool, input, message) => {
    const outcome = await run(tool, input);
    expect(outcome).toMatchObject({
      status: 'error',
      error: { code: -32602, message },
      result: { success: false, error: message },
    });
    const [metric] = await tk.db.dataSource.query(
      `SELECT tool_fault FROM tool_metrics WHERE metric_id = $1`,
      [outcome.executionId],
    );
    expect(metric?.tool_fault ?? false).toBe(false);
  });

  it.each([
    ['fetch_runs', 50],
    ['fetch_spans', 10],
    ['fetch_groups', 100],
  ])('of %s answer a page of %d where nothing is said', async (tool, limit) => {
    const { result } = await run(tool, {});
    expect(result.pagination).toMatchObject({ offset: 0, limit });
    const { body } = await tk.http
      .post(`/api/v1/tools/${tool}/execute`)
      .send({ input: { limit: 1_001 } })
      .expect(422);
    expect(body.detail).toMatch(/limit.*1000/);
  });

  it('say that the store is away when it fails, which is no fault of theirs', async () => {
    const error = 'The store of spans is not available';
    await tk.db.dataSource.query('ALTER VIEW all_spans RENAME TO spans_that_are_away');
    try {
      expect(await run('fetch_spans_summary', { threadIds: 'shared-thread' })).toMatchObject({
        status: 'error',
        error: { type: 'upstream_unavailable', message: error },
        result: { success: false, error },
      });
    } finally {
      await tk.db.dataSource.query('ALTER VIEW spans_that_are_away RENAME TO all_spans');
    }
  });

  it('keep an answer small, whatever there is', async () => {
    const big = Array.from({ length: 300 }, (_, at): RawSpan => ({
      ...(spansOf('a')[1] as RawSpan),
      trace_id: 'big',
      span_id: `big-${at}`,
      thread_id: 'big',
      run_id: at < 120 ? 'big-run' : `big-${at % 60}`,
      operation_name: `operation ${at} ${'x'.repeat(300)}`,
      attribute: {
        error: `${at} ${'ö'.repeat(600)}`,
        label: `label ${at}`,
        request: { text: 'ü'.repeat(20_000) },
      },
    }));
    await writeSpans(tk.db.dataSource, 'a', big);
    const threadIds = ['big'];
    for (const [tool, input, most] of [
      ['fetch_spans_summary', { threadIds }, 32_768],
      ['fetch_spans', { threadIds, limit: 1_000 }, 32_768],
      ['fetch_runs', { threadIds, limit: 1_000 }, 32_768],
      ['fetch_groups', { threadIds, groupBy: 'run' }, 32_768],
      ['get_run_details', { runId: 'big-run' }, 65_536],
      ['get_span_content', { spanIds: ['big-1', 'big-2', 'big-3', 'big-4', 'big-5'] }, 32_768],
      ['get_span_content', { spanIds: ['big-1', 'big-2', 'big-3', 'big-4', 'big-5'], full: true }, 262_144],
    ] as const) {
      const { result } = await run(tool, input);
      const bytes = Buffer.byteLength(JSON.stringify(result));
      expect([tool, result.success, bytes <= most, bytes > 1_000]).toEqual([tool, true, true, true]);
    }
    const details = (await run('get_run_details', { runId: 'big-run' })).result;
    expect([details.total_spans, details.spans.length, details.spans[0].attribute]).toEqual([
      120,
      100,
      undefined,
    ]);
    expect(details._note).toMatch(/of 120 spans.*the next offset is \d+.*fetch_spans with this runId/);
    const summary = (await run('fetch_spans_summary', { threadIds })).result;
    expect([summary.error_spans_total, summary.error_spans.length <= 20]).toEqual([300, true]);
    expect([Object.keys(summary.summary.by_operation).length, summary.summary.by_operation._other]).toEqual([
      51, 250,
    ]);
  });
});

describe('a key reads its own projects alone', () => {
  const everywhere: readonly { readonly path: string; readonly body?: object }[] = [
    { path: '/spans?thread_ids=shared-thread' },
    { path: '/spans?span_ids=step-1' },
    { path: '/runs?thread_ids=shared-thread' },
    { path: '/runs/shared-run' },
    { path: '/runs/shared-run/details' },
    { path: '/runs/shared-run/bottlenecks' },
    { path: '/group?group_by=time&thread_ids=shared-thread' },
    { path: '/group?group_by=thread&thread_ids=shared-thread' },
    { path: '/group/spans?group_by=run&run_id=shared-run' },
    { path: '/group/batch-spans', body: { groups: [{ groupBy: 'thread', threadId: 'shared-thread' }] } },
    { path: '/labels?thread_id=shared-thread' },
    { path: '/stats?labels=of-b,of-a' },
    { path: '/metrics/timeseries?labels=of-b,of-a' },
    { path: '/stats/compare?a=shared-run&b=shared-run' },
    { path: '/traces/shared-trace/skeleton' },
    { path: '/traces/shared-trace/window?span_id=root' },
    { path: '/traces/find?id=shared-thread' },
    { path: '/experiments' },
    { path: '/experiments/by-span/step-1' },
    { path: '/tools/fetch_runs/execute', body: { input: { threadIds: 'shared-thread' } } },
    { path: '/tools/fetch_spans/execute', body: { input: { threadIds: 'shared-thread' } } },
    { path: '/tools/get_run_details/execute', body: { input: { runId: 'shared-run' } } },
    { path: '/tools/fetch_groups/execute', body: { input: { groupBy: 'run', threadIds: 'shared-thread' } } },
    { path: '/tools/fetch_spans_summary/execute', body: { input: { runIds: 'shared-run' } } },
    {
      path: '/tools/get_span_content/execute',
      body: { input: { spanIds: 'root,step-1,step-2', full: true } },
    },
    { path: '/tools/list_labels/execute', body: { input: { threadId: 'shared-thread' } } },
  ];
  const figuresAlone =
    /^\/(stats\?|metrics|runs\/shared-run\/bottlenecks|traces\/shared-trace\/skeleton|traces\/find)/;

  it.each(everywhere)('$path', async ({ path, body }) => {
    const ask = async (project: string): Promise<Json> => {
      const request = body
        ? tk.anonymous.post(`/api/v1${path}`).send(body)
        : tk.anonymous.get(`/api/v1${path}`);
      return (await request.set(bearer(keys[project] ?? '')).expect(200)).body;
    };
    // At once, several times: nothing of one answer is left to the other.
    const answers = await Promise.all(
      ['a', 'b', 'a', 'b'].map(async (own) => ({ own, answer: await ask(own) })),
    );
    for (const { own, answer } of answers) {
      const text = JSON.stringify(answer);
      expect([own, text.includes(own === 'a' ? 'of-b' : 'of-a')]).toEqual([own, false]);
      if (!figuresAlone.test(path)) expect(text).toContain(`of-${own}`);
      if (answer.pagination) expect(answer.pagination.total).toBeLessThan(4);
      if (answer.total_spans) expect(answer.total_spans).toBe(3);
      if (/^\/(stats\?|metrics)/.test(path)) expect(answer.spans ?? answer.data[0].spans).toBe(1);
    }
  });

  it('and finds nothing that only another one has', async () => {
    const own = {
      ...spansOf('b')[0],
      trace_id: 'b-trace',
      run_id: 'b-run',
      span_id: 'b-span',
      thread_id: 'b-thread',
    };
    await writeSpans(tk.db.dataSource, 'b', [own as RawSpan]);
    const found = async (project: string, id: string) =>
      (await get(`/traces/find?id=${id}`, keys[project]).expect(200)).body.data.length;
    for (const id of ['b-trace', 'b-run', 'b-span', 'b-thread'])
      expect([id, await found('a', id), await found('b', id)]).toEqual([id, 0, 1]);
    for (const path of [
      '/traces/b-trace/skeleton',
      '/traces/b-trace/window?span_id=b-span',
      '/stats/compare?a=b-run&b=b-run',
      '/runs/b-run/bottlenecks',
    ]) {
      await get(path, keys['a']).expect(404);
      await get(path, keys['b']).expect(200);
    }
  });

  it('and is refused another one, however it is named', async () => {
    const key = keys['a'] ?? '';
    await get('/spans', key)
      .set('x-project-id', 'b')
      .expect(403, /may only name the project a/);
    const call = (headers: object, input: object) =>
      tk.anonymous
        .post('/api/v1/tools/fetch_spans/execute')
        .set({ ...bearer(key), ...headers })
        .send({ input });
    await call({ 'x-project-id': 'b' }, {}).expect(403);
    await call({}, { projectId: 'b' }).expect(403, /may only name the project a/);
    await call({}, { projectId: 'a' }).expect(200, /"success":true/);
    await get('/spans').set('x-project-id', 'a').expect(403);
  });

  it('has nobody to ask for an experiment where no language model is configured', async () => {
    const { body } = await get('/experiments', keys['a']).expect(200);
    expect(body.can_run).toBe(false);
    const run = tk.http.post(`/api/v1/experiments/${body.data[0].id}/run`).set('x-project-id', 'a');
    await run.expect(409, /No language model is configured: set LLM_BASE_URL and LLM_MODEL/);
  });

  it('needs traces:read, for the tools as well', async () => {
    const caller = await keyFor(['a'], ['tools:call']);
    await get('/spans', caller).expect(403, /traces:read/);
    const call = tk.anonymous
      .post('/api/v1/tools/list_labels/execute')
      .set(bearer(caller))
      .send({ input: {} });
    await call.expect(403, /traces:read/);
  });
});

it('the published inputs are schemas that take lists', async () => {
  const { body } = await tk.http.get('/api/v1/tools?format=distri&query=spans').expect(200);
  const summary = body.data.find(({ name }: Json) => name === 'fetch_spans_summary');
  expect(summary).toMatchObject({
    type: 'function',
    parameters: { properties: { threadIds: { type: 'array' } } },
  });
  new Ajv2020({ strict: false }).compile(summary.parameters);
});
