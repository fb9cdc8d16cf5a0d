import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

/** Its circuits stay open for as long as the tests take, however long that is. */
let tk: TestApp;
/** Its circuits half-open soon. */
let hasty: TestApp;

beforeAll(async () => {
  tk = await startApp({}, { circuit: { openMs: 600_000, maxOpenMs: 600_000 } });
  hasty = await startApp({}, { circuit: { openMs: 500, maxOpenMs: 500 } });
});

afterAll(async () => {
  await hasty.close();
  await tk.close();
});

const circuit = async (tool: string, app = tk) =>
  (await app.http.get(`/api/v1/tool-health/${tool}/circuit`).expect(200)).body;
const times = async (count: number, work: () => PromiseLike<unknown>): Promise<void> => {
  for (let n = 0; n < count; n++) await work();
};

describe('the circuit', () => {
  it('opens after 5 crashes and refuses', async () => {
    await tk.register('fragile', { keepAlive: true, fallback: { note: 'use the other one' } });
    await times(5, () => tk.call('fragile', { action: 'crash' }).expect(200));
    expect(await circuit('fragile')).toMatchObject({ state: 'open' });

    const { body, headers } = await tk.call('fragile').expect(503);
    expect(body).toMatchObject({ code: 'circuit_open', fallback: { note: 'use the other one' } });
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const { body: executions } = await tk.http.get('/api/v1/tool-metrics/executions?tool=fragile');
    expect(executions.data.length).toBeLessThanOrEqual(5);
    const { body: health } = await tk.http.get('/api/v1/tool-health').expect(200);
    expect(health).toMatchObject({
      circuits: [{ tool: 'fragile', state: 'open' }],
      toolReports: expect.arrayContaining([
        expect.objectContaining({ toolName: 'fragile', refusals: [{ code: 'circuit_open', count: 1 }] }),
      ]),
    });

    // A test call runs also now, and does not close the circuit.
    await tk.http
      .post('/api/v1/custom-tools/fragile/test')
      .send({ input: {} })
      .expect(200, /"status":"success"/);
    expect(await circuit('fragile')).toMatchObject({ state: 'open' });
  });

  it('ignores a test call, which takes no key: its outcome would answer a real call', async () => {
    const { body } = await tk.http
      .post('/api/v1/custom-tools/fragile/test')
      .set('idempotency-key', 'test')
      .send({ input: {} })
      .expect(400);
    expect(body.detail).toMatch(/no Idempotency-Key/);
  });

  it('stays closed where callers wait less than the tool needs, or than its process takes to start', async () => {
    await tk.register('patient', { keepAlive: true, minProcesses: 0 });
    const inAMoment = async (input: object) =>
      (await tk.call('patient', input, { timeoutMs: 1 }).expect(200)).body;
    // The process starts meanwhile: the last of these calls may be answered in time.
    expect(await inAMoment({})).toMatchObject({ status: 'timeout', error: { type: 'timeout' } });
    await times(4, () => inAMoment({}));
    await times(5, async () => {
      const body = await inAMoment({ action: 'sleep', ms: 5_000 });
      expect(body).toMatchObject({ status: 'timeout', error: { type: 'timeout' } });
    });
    expect(await circuit('patient')).toMatchObject({ state: 'closed' });
    await tk.call('patient').expect(200);
  });

  it.each([
    ['with a key', (n: number) => ({ 'idempotency-key': `hangs-${n}` })],
    ['without one', () => ({})],
  ])('opens where callers %s wait as long as the tool may take', async (how, headers) => {
    const name = `hangs_${how.length}`;
    await tk.register(name, { keepAlive: true, timeoutMs: 300 });
    let n = 0;
    const call = () => {
      const answer = tk.http.post(`/api/v1/tools/${name}/execute`).set(headers(++n));
      return answer.send({ input: { action: 'sleep', ms: 5_000 }, context: { timeoutMs: 300 } });
    };
    // A call that ends while its process starts is nobody's fault.
    await until(async () => (await call()).status === 503, { what: 'the circuit to open' });
    expect(await circuit(name)).toMatchObject({ state: 'open' });
  });

  it('half-opens and closes again', async () => {
    await hasty.register('mended', { keepAlive: true });
    await times(5, () => hasty.call('mended', { action: 'crash' }).expect(200));
    const probe = await until(
      async () => {
        const answer = await hasty.call('mended', { action: 'count' });
        return answer.status === 200 ? answer.body : undefined;
      },
      { what: 'the circuit to let a probe through' },
    );
    // A probe runs on a process that has served nobody.
    expect(probe.result.served).toBe(1);
    expect(await circuit('mended', hasty)).toMatchObject({ state: 'half_open' });
    await times(2, () => hasty.call('mended').expect(200));
    expect(await circuit('mended', hasty)).toMatchObject({ state: 'closed' });
    await hasty.call('mended').expect(200);
  });

  it('opens again when a probe fails', async () => {
    await hasty.register('relapsing', { keepAlive: true });
    await times(5, () => hasty.call('relapsing', { action: 'crash' }));
    await until(async () => (await hasty.call('relapsing', { action: 'crash' })).status === 200, {
      what: 'a probe',
    });
    const { history } = await circuit('relapsing', hasty);
    // By now it may be half-open again.
    const openings = history.filter(({ to }: { to: string }) => to === 'open');
    expect(openings.map(({ reason }: { reason: string }) => reason)).toEqual([
      expect.stringMatching(/^5 of 5 calls/),
      'A probe failed',
    ]);
  });

  it("opens for a tool that always answers -32001, never for the caller's -32602", async () => {
    await tk.register('failing', { keepAlive: true });
    await tk.register('picky', { keepAlive: true });
    await times(5, () => tk.call('failing', { action: 'error', code: -32001 }).expect(200));
    await times(12, () => tk.call('picky', { action: 'error', code: -32602 }).expect(200));
    await tk.call('failing').expect(503, /"code":"circuit_open"/);
    await tk.call('picky').expect(200);
    expect(await circuit('picky')).toMatchObject({ state: 'closed', faultsInWindow: 0 });
  });

  it('stays closed while failures are rare', async () => {
    await tk.register('mostly', { keepAlive: true });
    await times(20, () => tk.call('mostly'));
    await times(6, () => tk.call('mostly', { action: 'error' }));
    expect(await circuit('mostly')).toMatchObject({ state: 'closed', faultsInWindow: 6, callsInWindow: 26 });
  });

  it('is opened, closed and reset by hand', async () => {
    await tk.register('manual', { keepAlive: true });
    const post = (action: string) =>
      tk.http.post(`/api/v1/tool-health/manual/circuit/${action}`).send({ reason: 'maintenance' });
    expect((await post('open').expect(200)).body).toMatchObject({ state: 'open' });
    await tk.call('manual').expect(503);
    const list = async (app: TestApp) =>
      (await app.http.get('/api/v1/tool-health/circuits').expect(200)).body.data;
    const held = { tool: 'manual', state: 'open', reason: 'maintenance', heldByHand: true };
    expect(await list(tk)).toContainEqual(expect.objectContaining(held));
    const second = await startApp({ DATABASE_URL: tk.db.url });
    expect(await list(second)).toContainEqual(expect.objectContaining(held));
    await second.close();
    expect((await post('close').expect(200)).body).toMatchObject({ state: 'closed' });
    expect(await list(tk)).not.toContainEqual(expect.objectContaining({ tool: 'manual' }));
    await tk.call('manual').expect(200);
    expect((await post('reset').expect(200)).body).toMatchObject({ state: 'closed', callsInWindow: 0 });
  });

  it('grades what happened', async () => {
    await tk.register('graded', { keepAlive: true });
    await times(17, () => tk.call('graded'));
    await times(3, () => tk.call('graded', { action: 'error', message: 'disk full' }));
    const report = await until(
      async () => {
        const { body } = await tk.http.get('/api/v1/tool-health/graded').expect(200);
        return body.totalCalls === 20 ? body : undefined;
      },
      { what: 'all rows to be written' },
    );
    expect(report).toMatchObject({
      status: 'degraded',
      successRate: 0.85,
      recentErrors: 3,
      issues: ['Success rate is 85.0% (target: ≥95.0%)'],
      recommendations: ['Investigate recent error patterns'],
    });
    const { body: patterns } = await tk.http.get('/api/v1/tool-health/graded/error-patterns').expect(200);
    expect(patterns).toMatchObject({
      toolName: 'graded',
      totalErrors: 3,
      patterns: [{ errorType: 'tool_error', count: 3 }],
      recentMessages: ['disk full', 'disk full', 'disk full'],
    });
    const { body: dashboard } = await tk.http.get('/api/v1/tool-health/dashboard').expect(200);
    expect(dashboard.toolsNeedingAttention.map((tool: { toolName: string }) => tool.toolName)).toContain(
      'graded',
    );
  });

  it('remembers after a restart', async () => {
    await tk.register('remembered', { keepAlive: true });
    await times(5, () => tk.call('remembered', { action: 'crash' }));
    await until(
      async () => (await tk.http.get('/api/v1/tool-metrics/stats/remembered')).body.totalCalls === 5,
      {
        what: 'all rows to be written',
      },
    );
    const second = await startApp(
      { DATABASE_URL: tk.db.url },
      { circuit: { openMs: 600_000, maxOpenMs: 600_000 } },
    );
    try {
      await second.call('remembered').expect(503, /"code":"circuit_open"/);
    } finally {
      await second.close();
    }
  });
});
