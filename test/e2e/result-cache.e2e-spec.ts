import { Gate } from '../fixtures/tools/gate.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

const annotations = { readOnly: true, idempotent: true, destructive: false, openWorld: false };
let tk: TestApp;
let gate: Gate;

beforeAll(async () => {
  tk = await startApp();
  gate = new Gate();
  const settings = { keepAlive: true, ...gate.access, annotations };
  await tk.register('cached', { ...settings, cacheTtlMs: 600_000 });
  await tk.register('plain', settings);
});
afterAll(async () => {
  gate.close();
  await tk.close();
});

const executionsOf = async (tool: string): Promise<Json[]> => {
  const { body } = await tk.http.get(`/api/v1/tool-metrics/executions?tool=${tool}&limit=200`).expect(200);
  return body.data;
};

describe('a tool with cacheTtlMs', () => {
  it('answers an equal call from memory: no execution, but a unit of the budget', async () => {
    const context = { investigationId: 'inv-cache' };
    const first = await tk.call('cached', { action: 'count' }, context).expect(200);
    const again = await tk.call('cached', { action: 'count' }, context).expect(200);
    expect(first.body.cached).toBe(false);
    expect(again.body).toEqual({ ...first.body, cached: true });
    expect([first, again].map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['9', '8']);
    const rows = await executionsOf('cached');
    expect(rows.map(({ metricId }) => metricId)).toEqual([first.body.executionId]);
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).toContain('toolkeeper_cached_answers_total{tool="cached",kind="kept"} 1');
    expect(text).toMatch(/toolkeeper_result_cache_bytes [1-9]/);
  });

  it('is refused without a budget, also where the answer is at hand', async () => {
    const context = { investigationId: 'inv-spent' };
    for (let n = 0; n < 10; n++) await tk.call('cached', { n: 'spent' }, context).expect(200);
    const { body } = await tk.call('cached', { n: 'spent' }, context).expect(429);
    expect(body.code).toBe('investigation_budget_spent');
  });

  it('runs once for 50 equal calls at once, which all cost a unit', async () => {
    const input = gate.input('stampede');
    const before = (await executionsOf('cached')).length;
    const answers = Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        tk.call('cached', input, { investigationId: `inv-${n % 5}` }).expect(200),
      ),
    );
    await gate.open('stampede');
    const bodies = (await answers).map(({ body }) => body);
    expect(gate.arrived.filter((key) => key === 'stampede')).toHaveLength(1);
    expect(new Set(bodies.map(({ executionId }) => executionId)).size).toBe(1);
    expect(bodies.filter(({ cached }) => !cached)).toHaveLength(1);
    expect(await executionsOf('cached')).toHaveLength(before + 1);
    const { body } = await tk.http.get('/api/v1/investigations/inv-0').expect(200);
    expect(body.tools).toMatchObject([{ tool: 'cached', used: 10 }]);
  });

  it('passes an open circuit with what is kept, and with nothing else', async () => {
    await tk.call('cached', { kept: 'before' }).expect(200);
    await tk.http
      .post('/api/v1/tool-health/cached/circuit/open')
      .send({ reason: 'test' })
      .expect((answer) => expect(answer.status).toBeLessThan(300));
    const { body } = await tk.call('cached', { kept: 'before' }).expect(200);
    expect(body).toMatchObject({ cached: true, result: { kept: 'before' } });
    const refused = await tk.call('cached', { kept: 'never' }).expect(503);
    expect(refused.body.code).toBe('circuit_open');
    await tk.http
      .post('/api/v1/tool-health/cached/circuit/close')
      .send({ reason: 'test' })
      .expect((answer) => expect(answer.status).toBeLessThan(300));
  });

  it('validates what comes, and keeps nothing of a failure', async () => {
    const ask = () => tk.call('cached', { action: 'error', message: 'not now' }).expect(200);
    const [one, two] = [await ask(), await ask()];
    expect(one.body.executionId).not.toBe(two.body.executionId);
    await tk.call('cached', { action: 7 }).expect(422);
  });

  it('answers nothing of an earlier revision', async () => {
    const old = await tk.call('cached', { action: 'count', of: 'revision' }).expect(200);
    await tk.http.patch('/api/v1/custom-tools/cached').send({ description: 'another one' }).expect(200);
    const { body } = await tk.call('cached', { action: 'count', of: 'revision' }).expect(200);
    expect(body.cached).toBe(false);
    expect(body.executionId).not.toBe(old.body.executionId);
  });

  it('is tried anew by its operator', async () => {
    await tk.call('cached', { tried: true }).expect(200);
    const { body } = await tk.http
      .post('/api/v1/custom-tools/cached/test')
      .send({ input: { tried: true } })
      .expect(200);
    expect(body.cached).toBe(false);
  });

  it('answers with its idempotency key what it answered first', async () => {
    await tk.call('cached', { keyed: true }).expect(200);
    const ask = () => tk.call('cached', { keyed: true }).set('idempotency-key', 'cached-1').expect(200);
    const [one, two] = [await ask(), await ask()];
    expect(two.body).toEqual(one.body);
    expect(two.headers['idempotent-replayed']).toBe('true');
  });
});

it('a tool without it runs each time', async () => {
  const [one, two] = [await tk.call('plain', { a: 1 }), await tk.call('plain', { a: 1 })];
  expect(one.body.executionId).not.toBe(two.body.executionId);
});

it('only a tool that only reads may have it', async () => {
  const wrong = { cacheTtlMs: 1_000, annotations: { readOnly: false } };
  const registered = await tk.http
    .post('/api/v1/custom-tools')
    .send({ name: 'writer', command: 'node', ...wrong })
    .expect(400);
  const changed = await tk.http.patch('/api/v1/custom-tools/plain').send(wrong).expect(400);
  for (const { body } of [registered, changed]) {
    expect(body.errors).toEqual([{ pointer: '/cacheTtlMs', detail: 'needs annotations.readOnly' }]);
  }
});
