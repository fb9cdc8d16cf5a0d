import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// Real: the whole server, tool processes, PostgreSQL.

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});

afterAll(() => tk.close());

const shown = async (name: string) => (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
const circuit = async (name: string) =>
  (await tk.http.get(`/api/v1/tool-health/${name}/circuit`).expect(200)).body;

describe("a tool's own thresholds", () => {
  it('are registered, graded by, shown in its texts, and open its circuit', async () => {
    const thresholds = { minCalls: 2, successRateHealthy: 0.999, errorThreshold: 2, windowMinutes: 1 };
    await tk.register('strict', { keepAlive: true, thresholds });
    expect((await shown('strict')).thresholds).toEqual(thresholds);
    expect((await circuit('strict')).opensAt).toEqual({ faults: 2, minFailureRate: 0.5, windowMs: 60_000 });
    for (let n = 0; n < 9; n++) await tk.call('strict').expect(200);
    await tk.call('strict', { action: 'error' }).expect(200);
    const report = await until(
      async () => {
        const { body } = await tk.http.get('/api/v1/tool-health/strict').expect(200);
        return body.totalCalls === 10 ? body : undefined;
      },
      { what: 'all rows to be written' },
    );
    expect(report).toMatchObject({
      status: 'degraded',
      issues: ['Success rate is 90.0% (target: ≥99.9%)'],
      why: [{ rule: 'success_rate', figure: 0.9, threshold: 0.999, since: expect.any(String) }],
    });
    const { body } = await tk.http.get('/api/v1/tool-health/strict/circuit/advice').expect(200);
    expect(body).toMatchObject({ errors: 1, errorThreshold: 2, windowMinutes: 1, shouldBreak: false });
    await tk.http.post('/api/v1/tool-health/strict/circuit/reset').send({});
    for (let n = 0; n < 2; n++) await tk.call('strict', { action: 'error' }).expect(200);
    await tk.call('strict').expect(503, /"code":"circuit_open"/);
  });

  it('are changed one by one, told by a revision, and come back by a rollback', async () => {
    await tk.register('changing', { keepAlive: true });
    expect((await shown('changing')).thresholds).toEqual({});
    const patch = (thresholds: object | null) =>
      tk.http.patch('/api/v1/custom-tools/changing').send({ thresholds }).expect(200);
    await patch({ latencyHealthyMs: 4_000, minCalls: 3 });
    await patch({ latencyHealthyMs: null, minCalls: null, slowCallMs: 100 });
    expect(await shown('changing')).toMatchObject({ revision: 3, thresholds: { slowCallMs: 100 } });
    const { body } = await tk.http.get('/api/v1/custom-tools/changing/revisions/3/diff').expect(200);
    expect(body.changes).toEqual([
      { path: '/configuration/thresholds/latencyHealthyMs', before: 4_000 },
      { path: '/configuration/thresholds/minCalls', before: 3 },
      { path: '/configuration/thresholds/slowCallMs', after: 100 },
    ]);
    const rollback = (revision: number) =>
      tk.http.post('/api/v1/custom-tools/changing/rollback').send({ revision }).expect(200);
    expect((await rollback(2)).body.thresholds).toEqual({ latencyHealthyMs: 4_000, minCalls: 3 });
    expect((await rollback(1)).body.thresholds).toEqual({});
    await patch({ minCalls: 2 });
    await patch({});
    expect((await shown('changing')).thresholds).toEqual({ minCalls: 2 });
    await patch(null);
    expect((await shown('changing')).thresholds).toEqual({});
  });

  it.each([
    [{ successRateHealthy: 1.1 }, '/thresholds/successRateHealthy'],
    [{ minCalls: 0 }, '/thresholds/minCalls'],
    [{ windowMinutes: 1_441 }, '/thresholds/windowMinutes'],
    [{ slowCallMs: '5' }, '/thresholds/slowCallMs'],
    [{ latency: 5 }, '/thresholds/latency'],
    [{ latencyHealthyMs: 6_000 }, '/thresholds/latencyDegradedMs'],
    [{ successRateHealthy: 0.5 }, '/thresholds/successRateDegraded'],
  ])('are refused with the field: %j', async (thresholds, pointer) => {
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'refused', command: 'node', thresholds })
      .expect(400);
    const pointers = new Set(body.errors.map((error: { pointer: string }) => error.pointer));
    expect(pointers).toEqual(new Set([pointer]));
  });
});
