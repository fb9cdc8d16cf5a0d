import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// real: the whole server, PostgreSQL, the journal and its thread, tools' processes; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ CIRCUIT_FAILURES: '100', INVESTIGATION_CALLS_PER_TOOL: '5' });
  for (const name of ['one', 'two']) await tk.register(name, { keepAlive: true });
});
afterAll(() => tk.close());

const get = async (path: string, status = 200): Promise<Json> =>
  (await tk.http.get(`/api/v1/${path}`).expect(status)).body;

describe('a series', () => {
  it('tells calls, failures and durations by time, without gaps; test calls do not count', async () => {
    const since = new Date().toISOString();
    for (let n = 0; n < 3; n++) await tk.call('one', { n }).expect(200);
    await tk.call('one', { action: 'error', code: -1, message: 'no' }).expect(200);
    await tk.call('two', {}).expect(200);
    await tk.http.post('/api/v1/custom-tools/one/test').send({ input: {} }).expect(200);
    const sums = (series: Json): number[] =>
      ['calls', 'errors', 'timeouts'].map((name) =>
        series.data.reduce((sum: number, point: Json) => sum + point[name], 0),
      );
    const one = await get(`tool-metrics/series?tool=one&since=${since}&bucketMs=60000`);
    expect(sums(one)).toEqual([4, 1, 0]);
    const busy = one.data.find(({ calls }: Json) => calls > 0);
    expect(busy).toMatchObject({ avgTimeMs: expect.any(Number), p50TimeMs: expect.any(Number) });
    expect(busy.p95TimeMs).toBeGreaterThanOrEqual(busy.p50TimeMs);
    const day = await get('tool-metrics/series');
    expect(sums(day)).toEqual([5, 1, 0]);
    expect(day.bucketMs).toBe(900_000);
    expect(day.data.length).toBeGreaterThanOrEqual(96);
    const times = day.data.map(({ at }: Json) => Date.parse(at));
    expect(new Set(times.slice(1).map((at: number, n: number) => at - times[n]))).toEqual(new Set([900_000]));
    expect(day.data[0]).toMatchObject({ calls: 0, avgTimeMs: null });
    expect(day.total).toMatchObject({ calls: 5, errors: 1, p95TimeMs: expect.any(Number) });
    // Day cells tell the same.
    expect(sums(await get('tool-metrics/series?bucketMs=86400000'))).toEqual([5, 1, 0]);
  });

  it.each([
    ['bucketMs=90000', '/bucketMs'],
    ['bucketMs=59999', '/bucketMs'],
    ['bucketMs=60000&since=2026-01-01&until=2026-02-01', '/bucketMs'],
    ['since=2026-02-01&until=2026-01-01', '/since'],
    ['since=yesterday', '/since'],
    ['other=1', '/other'],
  ])('refuses %s, naming %s', async (query, pointer) => {
    expect((await get(`tool-metrics/series?${query}`, 400)).errors[0].pointer).toBe(pointer);
  });
});

describe('the investigations', () => {
  it('are listed with what is left, the one that called last first', async () => {
    for (const investigationId of ['inv-a', 'inv-b', 'inv-a'])
      await tk.call('one', {}, { investigationId }).expect(200);
    // A look at it is no call.
    await get('investigations/inv-b');
    const { data } = await get('investigations?limit=10');
    expect(data.map(({ investigationId }: Json) => investigationId)).toEqual(['inv-a', 'inv-b']);
    expect(data[0]).toEqual(await get('investigations/inv-a'));
    expect(data[0].tools).toEqual([{ tool: 'one', limit: 5, used: 2, remaining: 3 }]);
    expect((await get('investigations?limit=1')).data).toHaveLength(1);
  });
});

describe('the history of a grade', () => {
  it('survives a restart, and tells since when the grade is what it is', async () => {
    const { db } = tk;
    expect((await get('tool-health/two')).status).toBe('unknown');
    for (let n = 0; n < 6; n++) await tk.call('two', {}).expect(200);
    const healthy = await get('tool-health/two');
    expect(healthy.status).toBe('healthy');
    const history = await get('tool-health/two/history');
    expect(history).toEqual({
      data: [{ from: 'unknown', to: 'healthy', why: expect.any(String), at: expect.any(String) }],
      nextCursor: null,
    });
    // Replicas share what one of them decides: the same threshold.
    const again = await startApp({ DATABASE_URL: db.url, CIRCUIT_FAILURES: '100' });
    const { body: report } = await again.http.get('/api/v1/tool-health/two').expect(200);
    expect(report.why[0].since).toBe(history.data[0].at);
    // Another replica that sees the same change writes it no second time.
    const { body: same } = await again.http.get('/api/v1/tool-health/two/history').expect(200);
    expect(same).toEqual(history);
    for (let n = 0; n < 20; n++)
      await again.http.post('/api/v1/tools/two/execute').send({ input: { action: 'error' } });
    for (const app of [again, tk]) {
      const { body } = await app.http.get('/api/v1/tool-health/two').expect(200);
      expect(body.status).toBe('unhealthy');
    }
    for (const app of [tk, again]) {
      const { body: page } = await app.http.get('/api/v1/tool-health/two/history?limit=1').expect(200);
      expect(page.data[0]).toMatchObject({ from: 'healthy', to: 'unhealthy' });
      const next = await app.http.get(`/api/v1/tool-health/two/history?cursor=${page.nextCursor}`);
      expect(next.body).toEqual(history);
    }
    await again.close();
    expect((await get('tool-health/nobody/history')).data).toEqual([]);
    await get('tool-health/two/history?cursor=eA', 400);
  });
});

describe('the templates', () => {
  it('are listed with their files as they are', async () => {
    const { data } = await get('templates');
    expect(data.map(({ name, toolName }: Json) => [name, toolName])).toEqual([
      ['bash', 'my_bash_tool'],
      ['node', 'my_node_tool'],
      ['python', 'my_python_tool'],
    ]);
    for (const { name, description, files } of data) {
      expect(description).toMatch(/^A tool for Toolkeeper in \w+/);
      expect(files.map(({ path }: Json) => path)).toEqual(expect.arrayContaining(['README.md', 'tool.json']));
      const folder = join(__dirname, '..', '..', 'tools', 'templates', name);
      for (const { path, content } of files) expect(content).toBe(readFileSync(join(folder, path), 'utf8'));
    }
  });
});

interface Sent {
  readonly id: string;
  readonly event: string;
  readonly data: Json;
}

/** Opens the stream; what it has sent grows. */
async function follow(
  topics: string,
  lastEventId?: string,
  key: Record<string, string> = tk.key,
): Promise<{ sent: Sent[]; leave: () => void }> {
  const over = new AbortController();
  const headers = {
    accept: 'text/event-stream',
    ...key,
    ...(lastEventId && { 'last-event-id': lastEventId }),
  };
  const answer = await fetch(`${tk.url}/api/v1/console/stream?topics=${topics}`, {
    headers,
    signal: over.signal,
  });
  expect(answer.status).toBe(200);
  const sent: Sent[] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = Object.fromEntries(
          block.split('\n').map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? ['', '']),
        );
        if (fields['id'] || fields['data'])
          sent.push({
            id: fields['id'] ?? '',
            event: fields['event'] ?? '',
            data: JSON.parse(fields['data'] ?? '{}'),
          });
      }
    }
  };
  void read().catch(() => undefined);
  return { sent, leave: () => over.abort() };
}

describe('the one stream', () => {
  const circuit = (act: string) =>
    tk.http.post(`/api/v1/tool-health/one/circuit/${act}`).send({ reason: 'x' });
  const written = (sent: readonly Sent[], what: string): boolean =>
    sent.some(({ event, data }) => event === what || data.message === what);

  it('carries events and logs side by side, and goes on in all of them after a break', async () => {
    const first = await follow('events,logs:one,logs:two');
    await circuit('open').expect(200);
    await circuit('close').expect(200);
    await tk.call('one', {
      action: 'say',
      messages: [{ method: 'log', params: { level: 'info', message: 'from one' } }],
    });
    await tk.call('two', {
      action: 'say',
      messages: [{ method: 'log', params: { level: 'info', message: 'from two' } }],
    });
    for (const what of ['circuit.opened', 'circuit.closed', 'from one', 'from two'])
      await until(() => written(first.sent, what), { what });
    const { id } = first.sent.at(-1)!;
    first.leave();
    expect(id).toMatch(/events=[\w-]+/);
    await circuit('open').expect(200);
    await circuit('close').expect(200);
    const second = await follow('events,logs:one,logs:two', id);
    await until(() => written(second.sent, 'circuit.closed'), { what: 'what came meanwhile' });
    expect(second.sent.map(({ event }) => event)).toEqual(['', 'circuit.opened', 'circuit.closed']);
    second.leave();
    const third = await follow('events', 'events=other-1');
    await until(() => written(third.sent, 'reset'), { what: 'the reset' });
    third.leave();
  });

  it('goes on after a break before the first event as well', async () => {
    const first = await follow('events,logs:two');
    const { id } = await until(() => first.sent.find(({ event }) => event === ''), { what: 'the place' });
    first.leave();
    await circuit('open').expect(200);
    await circuit('close').expect(200);
    const second = await follow('events', id);
    await until(() => written(second.sent, 'circuit.closed'), { what: 'what came meanwhile' });
    second.leave();
    // The head alone is no stream that would take a place.
    for (let n = 0; n < 60; n++) await tk.http.head('/api/v1/console/stream?topics=events').expect(200);
  });

  it('announces executions that ended, without what they were given or answered', async () => {
    const stream = await follow('executions');
    await tk.call('two', { action: 'error', code: -1, message: 'not to be seen' }, { runId: 'run-1' });
    const found = () => stream.sent.find(({ event }) => event === 'executions');
    const { data } = await until(found, { what: 'the execution' });
    const execution = { id: expect.any(String), tool: 'two', status: 'error', errorType: 'tool_error' };
    expect(data).toMatchObject({ ended: [{ ...execution, runId: 'run-1' }], more: 0 });
    expect(JSON.stringify(data)).not.toContain('not to be seen');
    stream.leave();
  });

  it('says that a tool is gone, and goes on', async () => {
    await tk.register('brief');
    const stream = await follow('events,logs:brief');
    await tk.http.delete('/api/v1/custom-tools/brief').expect(204);
    await until(() => written(stream.sent, 'closed'), { what: 'the end of the log' });
    expect(stream.sent.find(({ event }) => event === 'closed')?.data).toEqual({ topic: 'logs:brief' });
    await circuit('open').expect(200);
    await circuit('close').expect(200);
    await until(() => written(stream.sent, 'circuit.closed'), { what: 'an event after it' });
    stream.leave();
  });

  it('says that spans came in, twice a second at most, to who may read their project', async () => {
    const key = async (projects: readonly string[], scopes: readonly string[]) => {
      const body = { name: projects.join(), owner: 'tests', projects, scopes };
      return bearer((await tk.http.post('/api/v1/keys').send(body).expect(201)).body.key);
    };
    const reader = await key(['one', 'two'], ['traces:read', 'traces:write']);
    const send = async (project: string, span: string) => {
      const now = Date.now() * 1_000;
      const times = { start_time_us: now - 1_000, finish_time_us: now };
      const body = { trace_id: project, span_id: span, operation_name: 'step', ...times };
      await tk.anonymous
        .post('/api/v1/spans')
        .set({ ...reader, 'x-project-id': project })
        .send(body)
        .expect(200);
    };
    const [first, second] = [
      await follow('spans', undefined, reader),
      await follow('spans:two', undefined, reader),
    ];
    const from = performance.now();
    for (let n = 0; n < 8; n++) await send('one', `s${n}`);
    await send('two', 'only');
    const told = ({ sent }: typeof first) => sent.filter(({ event }) => event === 'spans');
    const count = (stream: typeof first) => told(stream).reduce((sum, { data }) => sum + data.spans, 0);
    await until(() => count(first) === 8 && count(second) === 1, { what: 'every span' });
    const halves = Math.floor((performance.now() - from) / 500);
    expect(told(first).length).toBeLessThanOrEqual(halves);
    expect(told(second)[0]?.data).toMatchObject({ project: 'two', spans: 1 });
    first.leave();
    second.leave();
    const ask = (topics: string, as: { authorization: string }) =>
      tk.anonymous.get(`/api/v1/console/stream?topics=${topics}`).set(as);
    await ask('spans:three', reader).expect(403, /may only name the project one or two/);
    await ask('spans', await key(['one'], ['traces:write'])).expect(403, /traces:read/);
    await ask('events,spans', reader).expect(403, /metrics:read/);
  });

  it.each([
    ['', 400],
    ['nothing', 400],
    ['events,events', 400],
    ['logs', 404],
    ['logs:nobody', 404],
  ])('refuses topics=%s with %d', async (topics, status) => {
    await get(`console/stream?topics=${topics}`, status);
  });

  it('gives nobody a topic that the caller may not read by itself', async () => {
    await tk.anonymous.get('/api/v1/console/stream?topics=events,logs:one').expect(403);
  });
});
