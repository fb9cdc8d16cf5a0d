import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import type { SpanRow } from '../../src/records/spans/span-row.js';
import { startApp, type TestApp } from '../support/app.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: the whole server, HTTP, PostgreSQL; mock: nothing

let tk: TestApp;
beforeAll(async () => (tk = await startApp()));
afterAll(() => tk.close());

const count = 50_000;
const idOf = () => randomBytes(8).toString('hex');
/** Microseconds, from some milliseconds to some seconds. */
const timeOf = () => Math.round(Math.exp(randomInt(8_000, 15_000) / 1_000));

/** An agent's steps, one after the other: it asks a model and calls what that asks for, and one call of twenty fails. */
function* stepsOf(agent: string, from: number): Generator<Partial<SpanRow>> {
  for (let at = from; ; at += randomInt(1_000, 50_000)) {
    const asked = { spanId: idOf(), parentSpanId: agent, startUs: at, finishUs: (at += timeOf()) };
    yield { ...asked, operation: 'api_invoke', kind: 'llm' };
    const inner = { ...asked, spanId: idOf(), parentSpanId: asked.spanId, startUs: asked.startUs + 500 };
    yield { ...inner, operation: 'model_call', kind: 'llm' };
    for (let calls = randomInt(1, 4); calls > 0; calls -= 1) {
      const called = {
        spanId: idOf(),
        parentSpanId: agent,
        startUs: (at += 200),
        finishUs: (at += timeOf()),
      };
      const status = randomInt(20) === 0 ? 'error' : 'success';
      yield { ...called, operation: 'tools', status };
      yield {
        ...called,
        spanId: idOf(),
        parentSpanId: called.spanId,
        operation: 'tool_call',
        kind: 'tool',
        status,
      };
    }
  }
}

async function storeTrace(): Promise<void> {
  const agent = idOf();
  const startUs = Date.now() * 1_000 - 20 * 3_600_000_000;
  const steps = stepsOf(agent, startUs + 300);
  const root = { traceId: 'large', spanId: agent, operation: 'agent', kind: 'agent', startUs } as const;
  const rows = [spanRow({ ...root, finishUs: startUs + 72_000_000_000 })];
  while (rows.length < count)
    rows.push(spanRow({ ...(steps.next().value as Partial<SpanRow>), traceId: 'large' }));
  for (let from = 0; from < count; from += 5_000)
    await storeSpans(tk.db.dataSource, rows.slice(from, from + 5_000));
}

/** As it comes over the wire. */
async function skeletonOf(trace: string): Promise<Buffer> {
  const headers = { ...tk.key, 'accept-encoding': 'gzip' };
  const sent = get(`${tk.url}/api/v1/traces/${trace}/skeleton`, { headers });
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return buffer(answer);
}

/** The longest block of the event loop meanwhile, in milliseconds. */
async function maxBlock(work: () => Promise<unknown>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await work();
  delays.disable();
  return delays.max / 1e6;
}

it('the skeleton of 50,000 spans is at most 600 kB in gzip, and no block of the loop over 50 ms', async () => {
  await storeTrace();
  let zipped = await skeletonOf('large');
  const idle = await maxBlock(() => setTimeout(1_000));
  const busy = await maxBlock(async () => {
    zipped = await skeletonOf('large');
  });
  const skeleton = JSON.parse(gunzipSync(zipped).toString());
  expect([skeleton.spans, skeleton.span_ids.length / 16, skeleton.parents.length]).toEqual(
    Array(3).fill(count),
  );
  process.stdout.write(`${JSON.stringify({ bytes: zipped.length, idle, busy })}\n`);
  expect(zipped.length).toBeLessThanOrEqual(600_000);
  expect(busy).toBeLessThan(50 + 2 * idle);
});

it('runs are found by a text among 30,000 spans of a day that nobody analysed yet', async () => {
  const startUs = (Date.now() - 3_000_000) * 1_000;
  const rows = Array.from({ length: 30_000 }, (_, n) =>
    spanRow({ project: 'many', traceId: `t${Math.floor(n / 10)}`, spanId: `s${n}`, startUs: startUs + n }),
  );
  for (let from = 0; from < rows.length; from += 5_000)
    await storeSpans(tk.db.dataSource, rows.slice(from, from + 5_000));
  const found = tk.http.get('/api/v1/runs?q=run&limit=50').set('x-project-id', 'many');
  // A question that takes longer than 20 s is ended.
  expect((await found.expect(200)).body.pagination.total).toBe(3_000);
});
