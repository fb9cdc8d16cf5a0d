import { startApp, type TestApp } from '../support/app.js';
import { DataStorageServer } from '../support/data-storage.js';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver, treeOf } from '../support/otlp-receiver.js';

// real: the server, its pool and processes, the exporter, OTLP over HTTP; mock: nothing

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const readOnly = { readOnly: true, idempotent: true, destructive: false, openWorld: false };
/** The SDK reads these from the environment of this process. */
const setForSdk = (variables: Record<string, string>): void => void Object.assign(process.env, variables);
const doorSpan = (tool: string): string => `execute_tool ${tool}`;

describe('a server with a receiver of traces', () => {
  let receiver: OtlpReceiver;
  let tk: TestApp;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    setForSdk({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cret',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    tk = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '10' });
    await tk.register('echo', { keepAlive: true });
    await tk.register('cached', { keepAlive: true, cacheTtlMs: 60_000, annotations: readOnly });
  });
  afterAll(async () => {
    await tk.close();
    await receiver.close();
  });
  beforeEach(() => receiver.clear());

  const call = (tool: string, input: object, traceparent = `00-${traceId}-${callerSpan}-01`) =>
    tk.call(tool, input, { investigationId: 'inv-trace' }).set('traceparent', traceparent);
  /** Everything of the trace, once the door's span has come: it is the last to end. */
  const traceOf = async (tool: string): Promise<readonly ReceivedSpan[]> => {
    await receiver.span(doorSpan(tool));
    return receiver.spans;
  };

  it('tells of a call in the caller’s trace: door, guards and recorder, wait, start, round trip', async () => {
    const { body } = await call('echo', { a: 1 }).expect(200);
    const spans = await traceOf('echo');
    expect(treeOf(spans)).toEqual([
      'execute_tool echo',
      '  execution',
      ...['    pool.wait', '    pool.spawn', '    pool.round_trip'].filter((name) =>
        spans.some((span) => span.name === name.trim()),
      ),
    ]);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const door = await receiver.span(doorSpan('echo'));
    expect(door).toMatchObject({
      parentId: callerSpan,
      kind: 2,
      failed: false,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'echo',
        'toolkeeper.investigation_id': 'inv-trace',
        'toolkeeper.execution_id': body.executionId,
        'toolkeeper.status': 'success',
        'toolkeeper.cached': false,
      },
      resource: { 'service.name': 'toolkeeper', 'deployment.environment.name': 'test' },
    });
    for (const span of spans) {
      expect(span.endNs).toBeGreaterThanOrEqual(span.startNs);
      expect(span.endNs).toBeLessThanOrEqual(door.endNs + 5_000_000n);
    }
  });

  it('starts a process within the wait of the call that needs it', async () => {
    await tk.register('cold', { keepAlive: true, minProcesses: 0 });
    await call('cold', {}).expect(200);
    await traceOf('cold');
    const [wait, spawn, trip] = await Promise.all(
      ['pool.wait', 'pool.spawn', 'pool.round_trip'].map((name) => receiver.span(name)),
    );
    expect(spawn?.endNs).toBe(wait?.endNs);
    expect(trip?.startNs).toBe(wait?.endNs);
    expect(Number((spawn?.endNs ?? 0n) - (spawn?.startNs ?? 0n))).toBeGreaterThan(1_000_000);
    expect(trip?.attributes).toMatchObject({ 'process.pid': expect.any(Number) });
  });

  it('says where an answer was kept, and that nothing was run then', async () => {
    await call('cached', { a: 1 }).expect(200);
    expect(treeOf(await traceOf('cached')).slice(0, 3)).toEqual([
      'execute_tool cached',
      '  cache.lookup',
      '  execution',
    ]);
    expect((await receiver.span('cache.lookup')).attributes).toEqual({ 'toolkeeper.cache.hit': false });
    receiver.clear();
    await call('cached', { a: 1 }).expect(200);
    expect(treeOf(await traceOf('cached'))).toEqual(['execute_tool cached', '  cache.lookup']);
    expect((await receiver.span('cache.lookup')).attributes).toEqual({ 'toolkeeper.cache.hit': true });
  });

  it('shows failures and refusals by one word, and no contents', async () => {
    await call('echo', { action: 'error', code: -32_001, message: 'secret-text' }).expect(200);
    expect(await receiver.span(doorSpan('echo'))).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'tool_error', 'toolkeeper.status': 'error' },
    });
    await call('nobody', { query: 'secret-text' }).expect(404);
    expect(await receiver.span(doorSpan('nobody'))).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'tool_not_found' },
    });
    const told = JSON.stringify(receiver.spans, (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    expect(told).not.toContain('secret-text');
  });

  it('heeds the caller’s decision that a trace is not kept', async () => {
    await call('echo', {}, `00-${traceId}-${callerSpan}-00`).expect(200);
    await call('cached', { after: 1 }).expect(200);
    await receiver.span(doorSpan('cached'));
    expect(receiver.spans.some(({ name }) => name === doorSpan('echo'))).toBe(false);
  });

  it.each(['', 'nonsense', '00-00000000000000000000000000000000-b7ad6b7169203331-01'])(
    'begins a trace of its own where the caller sent %j',
    async (traceparent) => {
      await call('echo', {}, traceparent).expect(200);
      const door = await receiver.span(doorSpan('echo'));
      expect(door.parentId).toBe('');
      expect(door.traceId).toMatch(/^[\da-f]{32}$/);
      expect(door.traceId).not.toMatch(/^0+$|^0af7651916cd43dd8448eb211c80319c$/);
    },
  );

  it('sends the headers that the receiver wants', async () => {
    await call('echo', {}).expect(200);
    await receiver.span(doorSpan('echo'));
    expect(receiver.headers[0]).toMatchObject({
      authorization: 'Bearer s3cret',
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
    });
  });
});

describe('a server with a Data Storage service', () => {
  let receiver: OtlpReceiver;
  let storage: DataStorageServer;
  let tk: TestApp;

  beforeAll(async () => {
    [receiver, storage] = await Promise.all([startOtlpReceiver(), DataStorageServer.start()]);
    tk = await startApp(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_SCHEDULE_DELAY: '10',
        DATA_STORAGE_URL: storage.url,
      },
      { dataStorage: { pauseMs: 1, timeoutMs: 30_000, deadlineMs: 90_000 } },
    );
  });
  afterAll(async () => {
    await tk.close();
    await Promise.all([receiver.close(), storage.stop()]);
  });

  it('tells of every try, and tells the service which one it is', async () => {
    await storage.behave('ok', { script: ['server_error'] });
    const traceparent = `00-${traceId}-${callerSpan}-01`;
    await tk.call('get_playbooks', { query: 'OOMKilled' }).set('traceparent', traceparent).expect(200);
    await receiver.span(doorSpan('get_playbooks'));
    expect(treeOf(receiver.spans)).toEqual([
      'execute_tool get_playbooks',
      '  cache.lookup',
      '  execution',
      '    playbooks.search',
      '      data_storage.try',
      '      data_storage.try',
    ]);
    const tries = receiver.spans.filter(({ name }) => name === 'data_storage.try');
    expect(tries.map(({ failed, kind, attributes }) => [failed, kind, attributes['url.path']])).toEqual([
      [true, 3, '/api/v1/playbooks/search'],
      [false, 3, '/api/v1/playbooks/search'],
    ]);
    const told = (await storage.requests()).map((request) => request.traceparent);
    expect(told).toEqual(tries.map(({ spanId }) => `00-${traceId}-${spanId}-01`));
  });
});

describe('a server whose traces are not wanted, or do not arrive', () => {
  let receiver: OtlpReceiver;
  let tk: TestApp;

  beforeEach(async () => {
    receiver = await startOtlpReceiver();
  });
  afterEach(async () => {
    await tk.close();
    await receiver.close();
  });

  it('sends what waits when it ends', async () => {
    tk = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '120000' });
    await tk.register('echo');
    await tk.call('echo').expect(200);
    expect(receiver.spans).toEqual([]);
    await tk.app.close();
    expect(receiver.spans.map(({ name }) => name)).toContain(doorSpan('echo'));
  });

  it('answers calls and ends in time while the receiver hangs', async () => {
    receiver.behave('hang');
    setForSdk({ OTEL_EXPORTER_OTLP_TIMEOUT: '120000' });
    tk = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, DRAIN_TIMEOUT_MS: '200' });
    await tk.register('echo');
    await tk.call('echo').expect(200);
    // If it waited for the exporter, that would take longer than this test may.
    await tk.app.close();
  });

  it('keeps the share of traces that a sampler says', async () => {
    tk = await startApp({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
    });
    await tk.register('echo');
    // The sampler compares the four words of a trace's id, combined by xor, with its share of all.
    const dropped = `${'f'.repeat(8)}${'0'.repeat(24)}`;
    const kept = `${'0'.repeat(31)}1`;
    for (const id of [dropped, kept])
      await tk.call('echo').set('traceparent', `00-${id}-${callerSpan}-01`).expect(200);
    const door = await receiver.span(doorSpan('echo'));
    expect(door.traceId).toBe(kept);
    expect(receiver.spans.filter(({ traceId }) => traceId !== kept)).toEqual([]);
  });

  it('sends nothing without an endpoint', async () => {
    tk = await startApp({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    await tk.register('echo');
    await tk.call('echo').expect(200);
    await tk.app.close();
    expect(receiver.spans).toEqual([]);
  });
});
