import { connect } from 'node:net';
import { join } from 'node:path';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { postForEvents } from '../support/sse.js';
import { until } from '../support/wait.js';

const fixture = join(fixtures, 'fixture-tool.mjs');
let tk: TestApp;
let gate: Gate;

beforeAll(async () => {
  gate = new Gate();
  const { access } = gate;
  tk = await startApp({ INVESTIGATION_CALLS_PER_TOOL: '2' }, { customTools: { cancelGraceMs: 30_000 } });
  await tk.register('teller', { keepAlive: true, poolSize: 3, ...access });
  await tk.register('canceller', { keepAlive: true, args: [fixture, '--declares=cancel'], ...access });
});
afterAll(async () => {
  await tk.close();
  gate.close();
});

const urlOf = (name: string) => `${tk.url}/api/v1/tools/${name}/execute`;
const stream = (name: string, input: unknown, context = {}, signal?: AbortSignal) =>
  postForEvents(urlOf(name), { input, context }, { signal, key: tk.key });
const metricOf = (executionId: string) =>
  until(
    async () => {
      const { status, body } = await tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`);
      return status === 200 && body;
    },
    { what: 'the metric' },
  );

describe('Accept: text/event-stream', () => {
  it('streams progress and logs, and ends with the outcome that the plain answer would be', async () => {
    const messages = [
      { method: 'progress', params: { id: '$ID', progress: 1, total: 2, message: 'half' } },
      { method: 'log', params: { level: 'warn', message: 'careful', data: { n: 1 } } },
      { method: 'progress', params: { executionId: '$EXECUTION', progress: 2, total: 2 } },
    ];
    const answer = await stream('teller', { action: 'say', messages });
    const events = await answer.rest();
    expect(answer.response.statusCode).toBe(200);
    expect(answer.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(answer.response.headers['x-request-id']).toEqual(expect.any(String));
    expect(events.map(({ event }) => event)).toEqual(['progress', 'log', 'progress', 'outcome']);
    expect(events.slice(0, 3).map(({ data }) => data)).toEqual([
      { progress: 1, total: 2, message: 'half' },
      { level: 'warn', message: 'careful', data: { n: 1 } },
      { progress: 2, total: 2 },
    ]);
    const outcome = events.at(-1)?.data;
    const { body: plain } = await tk.call('teller', { action: 'say', messages: [] }).expect(200);
    expect(Object.keys(outcome)).toEqual(Object.keys(plain));
    expect(outcome).toMatchObject({ tool: 'teller', status: 'success', result: 'said', attempts: 1 });
    expect(answer.raw()).toContain(`: execution ${outcome.executionId}`);
    expect(await metricOf(outcome.executionId)).toMatchObject({ status: 'success' });
  });

  it('hands each event on while the tool still works', async () => {
    const said = await stream('teller', gate.input('slow'));
    expect(said.response.statusCode).toBe(200);
    await gate.running('slow');
    await gate.open('slow');
    expect(await said.rest()).toMatchObject([{ event: 'outcome', data: { result: { key: 'slow' } } }]);
  });

  it('ends with the outcome of a call that failed', async () => {
    const answer = await stream('teller', { action: 'crash' });
    expect(await answer.rest()).toMatchObject([
      { event: 'outcome', data: { status: 'error', error: { type: 'tool_crashed' } } },
    ]);
  });

  it('answers a refusal as without it', async () => {
    const unknown = await stream('nobody', {});
    expect([unknown.response.statusCode, unknown.response.headers['content-type']]).toEqual([
      404,
      'application/problem+json; charset=utf-8',
    ]);
    const context = { investigationId: 'streamed' };
    const first = await stream('teller', {}, context);
    expect(first.response.headers['ratelimit-remaining']).toBe('1');
    await first.rest();
    await (await stream('teller', {}, context)).rest();
    const spent = await stream('teller', {}, context);
    expect(spent.response.statusCode).toBe(429);
    expect(await spent.rest()).toEqual([]);
    expect(JSON.parse(spent.raw())).toMatchObject({ code: 'investigation_budget_spent', status: 429 });
    const wrong = await postForEvents(urlOf('teller'), { input: {}, colour: 'red' }, { key: tk.key });
    expect(wrong.response.statusCode).toBe(400);
  });

  it('is as good for a test call, also of an inactive tool', async () => {
    await tk.register('resting', { ...gate.access });
    await tk.http.post('/api/v1/custom-tools/resting/disable').expect(200);
    const testCall = (name: string, input: unknown) =>
      postForEvents(`${tk.url}/api/v1/custom-tools/${name}/test`, { input }, { key: tk.key });
    const answer = await testCall('resting', gate.input('test'));
    await gate.running('test');
    await gate.open('test');
    expect(await answer.rest()).toMatchObject([{ event: 'outcome', data: { result: { key: 'test' } } }]);
    const missing = await testCall('missing', {});
    expect(missing.response.statusCode).toBe(404);
  });

  it('cancels the call when its client leaves; a tool that ends it in time keeps its process', async () => {
    const { body: before } = await tk.call('canceller', { action: 'count' }).expect(200);
    const client = new AbortController();
    const answer = await stream('canceller', gate.input('left'), {}, client.signal);
    await gate.running('left');
    client.abort();
    await expect(answer.rest()).rejects.toThrow();
    const { body: heard } = await tk.call('canceller', { action: 'heard' }).expect(200);
    expect(heard.result).toEqual([
      { method: 'cancel', params: { id: gate.idOf('left'), reason: 'cancelled' } },
    ]);
    const { body: after } = await tk.call('canceller', { action: 'count' }).expect(200);
    expect(after.result.instance).toBe(before.result.instance);
    const executionId = /: execution (\S+)/.exec(answer.raw())?.[1] ?? '';
    const metric = await metricOf(executionId);
    expect(metric).toMatchObject({
      status: 'error',
      errorType: 'cancelled',
      metadata: { resultUnknown: true },
    });
  });

  it('is bounded for a client that does not read, and gives it the outcome in the end', async () => {
    await tk.register('flooder', {});
    const body = JSON.stringify({ input: { action: 'flood', count: 600, bytes: 100_000 } });
    const { hostname, port } = new URL(tk.url);
    const socket = connect(Number(port), hostname).setEncoding('utf8').pause();
    socket.write(
      'POST /api/v1/tools/flooder/execute HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n' +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    const ended = async (): Promise<boolean> => {
      const { body: page } = await tk.http.get('/api/v1/tool-metrics/executions?tool=flooder');
      return page.data.length === 1;
    };
    await until(ended, { what: 'the call to have ended' });
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    // The tool said 60 MB; what the sockets hold was on its way before it was known that nobody reads.
    expect(received.length).toBeLessThan(20_000_000);
    expect(received).toMatch(/"message":"\d+ notices were left out: the client reads too slowly"/);
    expect(received).toContain('event: outcome');
    expect(received).toContain('"result":"flooded"');
  });
});

it('a quiet stream says that it lives, and its connection ends with it', async () => {
  const app = await startApp({}, { server: { sseHeartbeatMs: 100 } });
  try {
    await app.register('quiet', { ...gate.access });
    const input = gate.input('quiet');
    const answer = await postForEvents(`${app.url}/api/v1/tools/quiet/execute`, { input });
    const rest = answer.rest();
    const signs = (): number => answer.raw().match(/^: still here$/gm)?.length ?? 0;
    await until(() => signs() > 1, { what: 'two signs of life' });
    await gate.open('quiet');
    expect(await rest).toMatchObject([{ event: 'outcome' }]);
    expect(answer.response.headers).toMatchObject({ connection: 'close', 'x-accel-buffering': 'no' });
  } finally {
    await app.close();
  }
});
