import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import protobuf from 'protobufjs/minimal.js';
import { SpanIngest } from '../../src/records/spans/ingest/span-ingest.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, PostgreSQL, both threads of the ingest, OpenTelemetry's SDK; mock: nothing

const run = promisify(execFile);
let tk: TestApp;
const journalCap = 400_000;
beforeAll(async () => (tk = await startApp({ JOURNAL_MAX_BYTES: String(journalCap) })));
afterAll(() => tk.close());

type Row = Readonly<Record<string, unknown>>;
const stored = async (condition: string): Promise<Row[]> => {
  await tk.app.get(SpanIngest).flush();
  return tk.db.dataSource.query<Row[]>(
    `SELECT * FROM all_spans LEFT JOIN all_span_contents USING (project, start_day, trace_id, span_id)
     WHERE ${condition} ORDER BY start_us, span_id`,
  );
};
const newTrace = (() => {
  let last = 0;
  return () => (++last).toString(16).padStart(32, 'a');
})();
const idOf = (n: number) => n.toString(16).padStart(16, 'b');

interface Sent {
  readonly traceId: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly name?: string;
  /** Milliseconds from now. */
  readonly start?: number;
  readonly end?: number;
  readonly attributes?: object[];
}
const span = ({ traceId, spanId = idOf(1), name = 'step', start = -1_000, end = -500, ...rest }: Sent) => ({
  traceId,
  spanId,
  name,
  startTimeUnixNano: `${Date.now() + start}000000`,
  endTimeUnixNano: `${Date.now() + end}000000`,
  ...rest,
});
const batch = (...spans: readonly unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const post = (body: object) => tk.http.post('/v1/traces').send(body);
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

describe("an agent's spans", () => {
  it.each(['none', 'gzip'] as const)(
    'come from OpenTelemetry in protobuf, compression %s',
    async (compression) => {
      const exporter = new OTLPTraceExporter({
        url: `${tk.url}/v1/traces`,
        headers: { ...tk.key },
        compression: compression as CompressionAlgorithm,
      });
      const provider = new TracerProvider({
        resource: resourceFromAttributes({ 'service.name': `agent-${compression}`, 'host.name': 'h' }),
        spanProcessors: [new BatchSpanProcessor({ exporter })],
      });
      const tracer = provider.getTracer('agent');
      const one = tracer.startSpan('chat gpt-4o', {
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.usage.input_tokens': 1_000,
          'gen_ai.usage.output_tokens': 100,
          'gen_ai.conversation.id': `thread-${compression}`,
          list: ['a', 'b'],
          half: 0.5,
          yes: true,
        },
      });
      one.recordException(new Error('it broke'));
      one.setStatus({ code: 2 });
      one.end();
      await provider.shutdown();
      const [row] = await stored(`thread_id = 'thread-${compression}'`);
      expect(row).toMatchObject({
        operation: 'chat gpt-4o',
        kind: 'llm',
        model: 'gpt-4o',
        cost: '0.0035',
        cost_source: 'computed',
        input_tokens: '1000',
        status: 'error',
        error_message: 'it broke',
        trace_id: one.spanContext().traceId,
        run_id: one.spanContext().traceId,
        key_id: 'admin',
        attributes: {
          'service.name': `agent-${compression}`,
          list: ['a', 'b'],
          half: 0.5,
          yes: true,
          events: [expect.objectContaining({ name: 'exception' })],
        },
      });
      expect(row?.['attributes']).not.toHaveProperty(['host.name']);
    },
  );

  it('come in JSON, in any order, twice, and before their trace is whole', async () => {
    const traceId = newTrace();
    const child = span({ traceId, spanId: idOf(2), parentSpanId: idOf(1) });
    expect((await post(batch(child)).expect(200)).text).toBe('{}');
    expect(await stored(`trace_id = '${traceId}'`)).toHaveLength(1);
    const root = span({ traceId, start: -2_000 });
    await Promise.all([post(batch(root, child)).expect(200), post(batch(child, root)).expect(200)]);
    expect(await stored(`trace_id = '${traceId}'`)).toMatchObject([
      { span_id: idOf(1), parent_span_id: null },
      { span_id: idOf(2), parent_span_id: idOf(1) },
    ]);
  });

  it('come in the form of vLLora, one, a list or an envelope of them', async () => {
    const now = Date.now() * 1_000;
    const one = (span_id: string) => ({
      trace_id: 'vllora-1',
      span_id,
      thread_id: 't-v',
      run_id: 'r-v',
      operation_name: 'api_invoke',
      start_time_us: now - 900_000,
      finish_time_us: now,
      attribute: { cost: '{"cost": 0.25}', usage: '{"input_tokens": 7}', ttft: '1200000', label: 'mine' },
    });
    const send = async (body: object) => (await tk.http.post('/api/v1/spans').send(body).expect(200)).body;
    expect(await send(one('1'))).toEqual({ taken: 1, rejected: 0 });
    expect(await send([one('2')])).toEqual({ taken: 1, rejected: 0 });
    expect(await send({ data: [one('1'), { ...one('3'), trace_id: '' }] })).toEqual({
      taken: 1,
      rejected: 1,
      reason: 'Span 1 of the batch: its trace id is missing or invalid',
    });
    const rows = await stored(`run_id = 'r-v'`);
    expect(rows.map((row) => row['span_id'])).toEqual(['1', '2']);
    expect(rows[0]).toMatchObject({
      thread_id: 't-v',
      kind: 'llm',
      call_part: 'outer',
      cost: '0.25',
      cost_source: 'reported',
      input_tokens: '7',
      ttft_us: '1200000',
      label: 'mine',
    });
  });

  it('come as docs/agents/traces.md sends them', async () => {
    const page = readFileSync(join(__dirname, '..', '..', 'docs', 'agents', 'traces.md'), 'utf8');
    const [, command = '', answer] = /```bash run\n(now=[^`]+)```\n+```json\n([^`]+)```/.exec(page) ?? [];
    const { stdout } = await run('bash', ['-c', command.replace('localhost:3000', new URL(tk.url).host)]);
    expect(stdout).toBe(answer?.trim());
    expect(await stored(`thread_id = 'thread-1'`)).toMatchObject([{ model: 'gpt-4o', cost: '0.0021' }]);
  });

  it('that are bad never hold up the others of their batch, and partial success counts them', async () => {
    const traceId = newTrace();
    const day = 86_400_000;
    const bad = [
      span({ traceId, spanId: idOf(2), start: -40 * day, end: -40 * day }),
      span({ traceId, spanId: idOf(3), start: 2 * 3_600_000, end: 2 * 3_600_000 }),
      { ...span({ traceId, spanId: idOf(4) }), status: { code: 'BROKEN' } },
      span({ traceId, spanId: '0'.repeat(16) }),
      { ...span({ traceId, spanId: idOf(5) }), startTimeUnixNano: 'soon' },
      'no span',
    ];
    const answer = await post(batch(...bad, span({ traceId }))).expect(200);
    expect(answer.body).toEqual({
      partialSuccess: {
        rejectedSpans: '6',
        errorMessage: 'Span 0 of the batch: it started more than 30 days ago (SPANS_RETENTION_DAYS)',
      },
    });
    expect(await stored(`trace_id = '${traceId}'`)).toHaveLength(1);
    const outside = new Date(Date.now() - 40 * day).toISOString().slice(0, 10).replaceAll('-', '');
    const [made] = await tk.db.dataSource.query<Row[]>(`SELECT to_regclass('spans_${outside}') AS day`);
    expect(made).toEqual({ day: null });
  });

  it('are taken when others are not understood, and the answer names what stands there', async () => {
    const traceId = newTrace();
    const answer = await post({
      resourceSpans: [{ scope_spans: [] }, { scopeSpans: [{ spans: [span({ traceId })] }] }],
    }).expect(200);
    expect(answer.body).toEqual({
      partialSuccess: { rejectedSpans: '0', errorMessage: expect.stringContaining('"scope_spans"') },
    });
    expect(await stored(`trace_id = '${traceId}'`)).toHaveLength(1);
  });

  it('share what their resource says, which is read once and stored in short', async () => {
    const traceId = newTrace();
    const attributes = [
      text('service.name', 'agent'),
      text('service.description', 'x'.repeat(300)),
      text('toolkeeper.thread_id', 'of-resource'),
      ...Array.from({ length: 2_000 }, (_, n) => text(`a${n}`, 'x')),
    ];
    const scopeSpans = [{ spans: [span({ traceId }), span({ traceId, spanId: idOf(2), attributes })] }];
    const answer = await post({ resourceSpans: [{ resource: { attributes }, scopeSpans }] }).expect(200);
    expect(answer.body).toEqual({
      partialSuccess: {
        rejectedSpans: '0',
        errorMessage: '979 attributes of a resource were left out: it may have 1024',
      },
    });
    const [plain, full] = await stored(`trace_id = '${traceId}'`);
    expect(plain).toMatchObject({ thread_id: 'of-resource', attributes: { 'service.name': 'agent' } });
    expect(Object.keys(plain?.['attributes'] as object)).toEqual(['service.name', 'toolkeeper.thread_id']);
    const own = full?.['attributes'] as Record<string, unknown>;
    expect([Object.keys(own).length, own['toolkeeper.cut']]).toEqual([
      1_025,
      '979 attributes more than a span may have',
    ]);
  });

  it('are repaired where the database could not hold them', async () => {
    const traceId = newTrace();
    const deep =
      '{"kvlistValue":{"values":[{"key":"a","value":'.repeat(40) + '{"intValue":"1"}' + '}]}}'.repeat(40);
    const odd = span({
      traceId,
      name: 'nul \0 and half \ud800',
      attributes: [
        text('nul', 'a\0b'),
        text('half', '\ud800'),
        text('__proto__', 'own'),
        text('twice', 'first'),
        text('twice', 'last'),
        { key: 'nan', value: { doubleValue: 'NaN' } },
        { key: 'large', value: { intValue: '9223372036854775807' } },
        text('long', 'x'.repeat(300_000)),
        { key: 'deep', value: JSON.parse(deep) as unknown },
      ],
    });
    await post(batch(odd, span({ traceId, spanId: idOf(2) }))).expect(200);
    const [row, ...others] = await stored(`trace_id = '${traceId}'`);
    expect(others).toHaveLength(1);
    const attributes = row?.['attributes'] as Record<string, unknown>;
    expect(row?.['operation']).toBe('nul \uFFFD and half \uFFFD');
    expect(attributes).toMatchObject({
      nul: 'a\uFFFDb',
      half: '\uFFFD',
      twice: 'last',
      nan: 'NaN',
      large: '9223372036854775807',
    });
    expect(Object.hasOwn(attributes, '__proto__')).toBe(true);
    expect(attributes['long']).toMatch(/^x{262000,} \[cut: \d+ characters more\]$/);
    expect(JSON.stringify(attributes['deep'])).toContain('nested deeper than 32 levels');
  });
});

/** google.rpc.Status in protobuf. */
function statusIn(body: Buffer): { code: number; message: string } {
  const reader = protobuf.Reader.create(body);
  reader.uint32();
  const code = reader.int32();
  reader.uint32();
  return { code, message: reader.string() };
}

describe('a batch that is refused', () => {
  const send = (type: string, body: Buffer | string, headers: Record<string, string>) =>
    fetch(`${tk.url}/v1/traces`, {
      method: 'POST',
      headers: { ...tk.key, 'content-type': type, ...headers },
      body,
    });
  const bomb = gzipSync(Buffer.alloc(80_000_000, ' '));
  const json = 'application/json';
  const tiny = Buffer.alloc(200_002, Buffer.from([18, 0]));
  const within = (bytes: Buffer, tag: number): Buffer =>
    Buffer.from(protobuf.Writer.create().uint32(tag).bytes(bytes).finish());
  const proto = 'application/x-protobuf';

  it.each([
    ['a gzip bomb', proto, bomb, { 'content-encoding': 'gzip' }, 413, 3, 'payload_too_large'],
    ['a gzip bomb', json, bomb, { 'content-encoding': 'gzip' }, 413, 3, 'payload_too_large'],
    ['more than 16 MiB', proto, Buffer.alloc(17_000_000), {}, 413, 3, 'payload_too_large'],
    ['100,001 spans', proto, within(within(tiny, 18), 10), {}, 413, 3, 'payload_too_large'],
    [
      '100,001 spans',
      json,
      `{"resourceSpans":[{"scopeSpans":[{"spans":[${'0,'.repeat(100_000)}0]}]}]}`,
      {},
      413,
      3,
      'payload_too_large',
    ],
    [
      'a million scopes',
      proto,
      within(Buffer.alloc(2_200_000, Buffer.from([18, 0])), 10),
      {},
      413,
      3,
      'payload_too_large',
    ],
    ['over a million lists', json, `[${'[],'.repeat(1_500_000)}[]]`, {}, 413, 3, 'payload_too_large'],
    ['what has no resourceSpans', json, '{"resource_spans":[{}]}', {}, 400, 3, 'invalid_request'],
    [
      'what has no scopeSpans',
      json,
      '{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{}]}]}]}',
      {},
      400,
      3,
      'invalid_request',
    ],
    [
      'what has no spans',
      json,
      '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}',
      {},
      400,
      3,
      'invalid_request',
    ],
    ['fields of another message', proto, Buffer.from([18, 1, 0]), {}, 400, 3, 'invalid_request'],
    ['what is no gzip', json, '{}', { 'content-encoding': 'gzip' }, 400, 3, 'invalid_request'],
    ['another compression', json, '{}', { 'content-encoding': 'br' }, 415, 3, 'invalid_request'],
    ['what is no protobuf', proto, Buffer.from([10, 200, 1]), {}, 400, 3, 'invalid_request'],
    ['what is no JSON', json, '{', {}, 400, 3, 'invalid_request'],
    ['JSON of another shape', json, '[]', {}, 400, 3, 'invalid_request'],
    [
      'a project of 257 characters',
      json,
      '{}',
      { 'x-project-id': 'p'.repeat(257) },
      400,
      3,
      'invalid_request',
    ],
    ['a wrong key', proto, '', { authorization: 'Bearer wrong' }, 401, 16, 'unauthorized'],
    ['a wrong key', json, '{}', { authorization: 'Bearer wrong' }, 401, 16, 'unauthorized'],
  ])('for %s in %s answers a google.rpc.Status', async (_what, type, body, headers, status, code, name) => {
    const answer = await send(type, body, headers);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const said = type === proto ? statusIn(bytes) : (JSON.parse(bytes.toString()) as object);
    expect(said).toEqual({ code, message: expect.stringMatching(new RegExp(`^${name}: .{5,}`)) });
  });

  it('of another type is refused as every other route refuses it', async () => {
    await tk.http.post('/v1/traces').set('content-type', 'text/plain').send('x').expect(415);
    await tk.http.post('/api/v1/tool-calls').set('content-type', proto).send(Buffer.alloc(4)).expect(415);
  });

  it('without spans, but with nothing else either, is taken', async () => {
    for (const body of [{}, { resourceSpans: [] }, { resourceSpans: [{ resource: {}, scopeSpans: [] }] }])
      expect((await post(body).expect(200)).text).toBe('{}');
    expect((await send(proto, Buffer.alloc(0), {})).status).toBe(200);
  });

  it('in the form of vLLora gets a problem', async () => {
    const answer = await tk.http.post('/api/v1/spans').send({ spans: 5 }).expect(400);
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('a list of spans'),
    });
  });
});

describe('whose spans they are', () => {
  const keyFor = async (
    projects: string[],
    scopes = ['traces:write'],
  ): Promise<{ authorization: string }> => {
    const made = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'k', owner: 'o', scopes, projects })
      .expect(201);
    return { authorization: `Bearer ${(made.body as { key: string }).key}` };
  };
  const as = (headers: Record<string, string>, body: object) =>
    tk.anonymous.post('/v1/traces').set(headers).send(body);

  it("the key says, and x-project-id chooses among the key's projects alone", async () => {
    const key = await keyFor(['payments', 'search']);
    const traceId = newTrace();
    await as(key, batch(span({ traceId }))).expect(200);
    await as({ ...key, 'x-project-id': 'search' }, batch(span({ traceId, spanId: idOf(2) }))).expect(200);
    const refused = await as(
      { ...key, 'x-project-id': 'default' },
      batch(span({ traceId, spanId: idOf(3) })),
    ).expect(403);
    expect(refused.body).toEqual({ code: 7, message: expect.stringContaining('payments or search') });
    const rows = await stored(`trace_id = '${traceId}'`);
    expect(rows.map(({ project, span_id }) => [project, span_id])).toEqual([
      ['payments', idOf(1)],
      ['search', idOf(2)],
    ]);
    expect(rows.every(({ key_id }) => /^[0-9a-f]{20}$/.test(String(key_id)))).toBe(true);
  });

  it('on loopback whoever has no key sends to the project default, and no key is noted', async () => {
    const traceId = newTrace();
    await as({}, batch(span({ traceId }))).expect(200);
    await as({ 'x-project-id': 'payments' }, batch(span({ traceId, spanId: idOf(2) }))).expect(403);
    expect(await stored(`trace_id = '${traceId}'`)).toMatchObject([{ project: 'default', key_id: null }]);
  });

  it('needs traces:write', async () => {
    await as(await keyFor(['payments'], ['traces:read']), batch()).expect(403);
  });

  it("a key's rate holds for its batches, apart from its calls", async () => {
    const body = { name: 'k', owner: 'o', scopes: ['traces:write'], rate: { calls: 2, per: 'minute' } };
    const made = await tk.http.post('/api/v1/keys').send(body).expect(201);
    const key = { authorization: `Bearer ${(made.body as { key: string }).key}` };
    await as(key, batch()).expect(200);
    await as(key, batch()).expect(200);
    const answer = await as(key, batch()).expect(429);
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(answer.body).toMatchObject({ code: 8 });
  });
});

describe('executions of our own', () => {
  const traceId = newTrace();
  const parent = idOf(7);
  const place = (): Record<string, string> => ({
    traceparent: `00-${traceId}-${parent}-01`,
    'x-project-id': 'own',
  });
  const execute = async (
    headers: Record<string, string>,
    context: object = {},
    input: object = { n: 1 },
  ): Promise<string> => {
    const answer = await tk.http
      .post('/api/v1/tools/own/execute')
      .set(headers)
      .send({ input, context })
      .expect(200);
    return (answer.body as { executionId: string }).executionId;
  };
  beforeAll(() => tk.register('own'));

  it("stand below their caller's span, without being stored as one", async () => {
    const id = await execute(place(), {
      runId: 'run-own',
      threadId: 'thread-own',
      labels: { label: 'mine' },
    });
    await until(async () => (await stored(`project = 'own'`)).length > 0, {
      what: 'the execution as a span',
    });
    const [row] = await stored(`project = 'own'`);
    expect(row).toMatchObject({
      trace_id: traceId,
      parent_span_id: parent,
      span_id: id.replaceAll('-', '').slice(-16),
      run_id: 'run-own',
      thread_id: 'thread-own',
      label: 'mine',
      operation: 'tool_call',
      kind: 'tool',
      tool_name: 'own',
      status: 'success',
      execution_id: id,
      key_id: 'admin',
      attributes: { 'toolkeeper.execution_id': id, 'gen_ai.tool.name': 'own' },
    });
    expect(await tk.db.dataSource.query(`SELECT FROM spans WHERE project = 'own'`)).toEqual([]);
  });

  it('have the trace of their investigation, and are none outside of everything', async () => {
    const id = await execute({ 'x-project-id': 'alone' }, { investigationId: 'inv-own' });
    const none = await execute({ 'x-project-id': 'alone' });
    const recorded = () =>
      tk.db.dataSource.query<Row[]>('SELECT FROM tool_metrics WHERE metric_id = $1', [none]);
    await until(async () => (await recorded()).length > 0, { what: 'the record' });
    expect(await stored(`project = 'alone'`)).toMatchObject([
      {
        trace_id: expect.stringMatching(/^investigation:inv-own:\d{8}T\d{6}$/) as string,
        run_id: expect.stringMatching(/^investigation:inv-own:\d{8}T\d{6}$/) as string,
        thread_id: 'inv-own',
        execution_id: id,
      },
    ]);
  });

  it("count once together with the agent's own span that names them", async () => {
    const id = await execute({ ...place(), 'x-project-id': 'pair' }, {}, { b: 2, a: 1 });
    await until(async () => (await stored(`project = 'pair'`)).length > 0, {
      what: 'the execution as a span',
    });
    const [before] = await stored(`project = 'pair'`);
    const mine = span({
      traceId,
      spanId: parent,
      name: 'execute_tool own',
      attributes: [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'own'),
        text('gen_ai.tool.call.arguments', '{"a": 1, "b": 2}'),
        text('toolkeeper.execution_id', id),
      ],
    });
    await tk.http.post('/v1/traces').set('x-project-id', 'elsewhere').send(batch(mine)).expect(200);
    expect(await stored(`project = 'pair'`)).toHaveLength(1);
    await tk.http.post('/v1/traces').set('x-project-id', 'pair').send(batch(mine)).expect(200);
    const [row, ...others] = await stored(`project = 'pair'`);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ span_id: parent, execution_id: id, kind: 'tool', tool_name: 'own' });
    expect(row?.['arguments_hash']).toBe(before?.['arguments_hash']);
  });

  it('are not hidden by a span that came with another key, or none', async () => {
    const id = await execute({ traceparent: `00-${traceId}-${parent}-01` }, { runId: 'run-of-owner' });
    const ofOwner = () => stored(`run_id = 'run-of-owner'`);
    await until(async () => (await ofOwner()).length > 0, { what: 'the execution as a span' });
    const forged = (spanId: string) =>
      batch(
        span({
          traceId: newTrace(),
          spanId,
          attributes: [text('run_id', 'another'), text('toolkeeper.execution_id', id)],
        }),
      );
    await tk.anonymous
      .post('/v1/traces')
      .send(forged(idOf(1)))
      .expect(200);
    const made = await tk.http
      .post('/api/v1/keys')
      .send({ name: 'k', owner: 'o', scopes: ['traces:write'], projects: ['default'] })
      .expect(201);
    const key = `Bearer ${(made.body as { key: string }).key}`;
    await tk.anonymous
      .post('/v1/traces')
      .set('authorization', key)
      .send(forged(idOf(2)))
      .expect(200);
    expect(await ofOwner()).toMatchObject([{ execution_id: id, kind: 'tool', key_id: 'admin' }]);
    await post(forged(idOf(3))).expect(200);
    expect(await ofOwner()).toEqual([]);
  });
});

describe('while the database takes no spans', () => {
  it('they are kept up to the cap, then refused as a whole with Retry-After, and calls go on', async () => {
    const traceId = newTrace();
    const long = [text('long', 'x'.repeat(150_000))];
    const held = batch(...[1, 2, 3, 4].map((n) => span({ traceId, spanId: idOf(n), attributes: long })));
    const later = batch(span({ traceId, spanId: idOf(9) }));
    await tk.app.get(SpanIngest).flush();
    const lock = tk.db.dataSource.createQueryRunner();
    await lock.startTransaction();
    // Spans are read meanwhile.
    await lock.query('LOCK TABLE spans IN SHARE MODE');
    try {
      await post(held).expect(200);
      const refused = await post(later).expect(503);
      expect(refused.headers['retry-after']).toBe('5');
      expect(refused.body).toEqual({
        code: 14,
        message: expect.stringMatching(
          /^spans_full: 4 spans wait .* the cap is 400000 \(JOURNAL_MAX_BYTES\)$/,
        ),
      });
      await tk.call('own', {}).expect(200);
      await tk.http.get('/readyz').expect(200);
      const summary = await tk.call('fetch_spans_summary', { labels: ['none'] }).expect(200);
      expect(summary.body.result._note).toContain('4 spans were taken and are not counted yet.');
      const metrics = (await tk.http.get('/metrics').expect(200)).text;
      expect(metrics).toMatch(/^toolkeeper_spans_waiting 4$/m);
      expect(metrics).toMatch(/^toolkeeper_spans_journal_bytes \d{6}$/m);
      expect(metrics).toMatch(/^toolkeeper_span_batches_refused_total\{code="spans_full"\} 1$/m);
    } finally {
      await lock.rollbackTransaction();
      await lock.release();
    }
    await until(async () => (await post(later)).status === 200, { what: 'room in the journal' });
    expect(await stored(`trace_id = '${traceId}'`)).toHaveLength(5);
  });
});
