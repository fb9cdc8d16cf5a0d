import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

// Real: the whole server, a tool's process, the journal and the thread that drains it, PostgreSQL.

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
  await tk.register('silent', { keepAlive: true });
});
afterAll(() => tk.close());

const base = '/api/v1/tool-metrics';
const get = async (path: string): Promise<Json> => (await tk.http.get(path).expect(200)).body;

/** The number of findings on every surface. */
async function counted(): Promise<Record<string, unknown>> {
  const stats = await get(`${base}/stats/silent`);
  const series = await get(`${base}/series?tool=silent`);
  const report = await get('/api/v1/tool-health/silent');
  const all = await get('/api/v1/tool-health');
  const listed = await get(`${base}/executions?tool=silent&finding=true&limit=1000`);
  const { text } = await tk.http.get('/metrics').expect(200);
  return {
    stats: stats.findingCount,
    series: series.total.findings,
    report: report.findings,
    now: report.now.findings,
    issue: Number(/^(\d+) of 120 results report an error/.exec(report.issues.join('; '))?.[1]),
    all: all.toolReports.find(({ toolName }: Json) => toolName === 'silent').findings,
    listed: listed.data.length,
    metric: Number(/^toolkeeper_semantic_findings_total\{tool="silent"\} (\d+)$/m.exec(text)?.[1]),
  };
}
const everywhere = (n: number, metric = n): object => ({
  ...{ stats: n, series: n, report: n, now: n, issue: n, all: n, listed: n, metric },
});

it('counts 30 silent failures of 120 alike everywhere, and marks with them at once', async () => {
  const ids: string[] = [];
  // Fewer at once than the tool's queue takes.
  for (let n = 0; n < 120; n += 4) {
    const inputs = [{ error: 'Failed to log in: 401' }, { rows: [1] }, { rows: [2] }, { rows: [3] }];
    const answers = await Promise.all(inputs.map((input) => tk.call('silent', input).expect(200)));
    ids.push(...answers.map(({ body }) => body.executionId));
  }
  const [reporting, fine] = ids;
  expect(await counted()).toEqual(everywhere(30));
  const graded = await get('/api/v1/tool-health/silent');
  expect(graded).toMatchObject({ status: 'healthy', successRate: 1, semanticFailures: 0 });

  // An execution that reports an error is not counted again.
  const mark = (id: string | undefined): string => `${base}/executions/${id}/semantic-failure`;
  for (const id of [reporting, fine, fine])
    await tk.http.post(mark(id)).send({ reason: 'wrong' }).expect(204);
  expect(await counted()).toEqual(everywhere(31));
  const { metadata } = await get(`${base}/executions/${fine}`);
  expect(metadata.marked).toEqual({ by: 'admin', at: expect.stringMatching(/^20/) });

  // A counter of Prometheus does not go down.
  for (const id of [reporting, fine]) await tk.http.delete(mark(id)).expect(204);
  expect(await counted()).toEqual(everywhere(30, 31));
  expect((await get(`${base}/executions/${fine}`)).metadata).not.toHaveProperty('marked');
  expect((await get(`${base}/executions?tool=silent&finding=false&limit=1000`)).data).toHaveLength(90);
});

it('says whom a failing tool hurts', async () => {
  await tk.register('hurting', { keepAlive: true });
  const broken = { action: 'error', code: -32_001, message: 'no' };
  const inA = tk.call('hurting', {}, { userId: 'carol', investigationId: 'inv-1' });
  await inA.set('x-project-id', 'a').expect(200);
  for (const userId of ['alice', 'alice', 'alice', 'alice', 'bob'])
    await tk.call('hurting', broken, { userId }).expect(200);
  const callers = `${base}/callers?tool=hurting`;
  const byName = async (path: string): Promise<unknown[]> =>
    (await get(path)).data.map(({ name, calls, failures, refusals }: Json) => [
      name,
      calls,
      failures,
      refusals,
    ]);
  expect(await byName(callers)).toEqual([
    ['alice', 4, 4, 0],
    ['bob', 1, 1, 0],
    ['carol', 1, 0, 0],
  ]);
  expect(await byName(`${callers}&project=a`)).toEqual([['carol', 1, 0, 0]]);
  expect(await byName(`${callers}&by=investigation`)).toEqual([
    [null, 5, 5, null],
    ['inv-1', 1, 0, null],
  ]);
  expect((await get('/api/v1/tool-health/hurting')).now).toMatchObject({ failuresSince: 5, callersSince: 2 });

  for (const [query, pointer, detail] of [
    ['tool=t&by=revision&since=2020-01-01', '/since', 'at most 24 hours'],
    ['by=revision', '/tool', 'is needed with by=revision'],
    ['by=weekday', '/by', 'caller'],
    ['since=2020-01-02&until=2020-01-01', '/since', 'must not be after until'],
  ]) {
    const { body } = await tk.http.get(`${base}/callers?${query}`).expect(400);
    expect(body.errors[0]).toMatchObject({ pointer, detail: expect.stringContaining(detail ?? '') });
  }
});

it('counts calls that were not run for their callers', async () => {
  await tk.register('refusing', { keepAlive: true });
  await tk.http
    .post('/api/v1/tool-health/refusing/circuit/open')
    .send({ by: 'alice', reason: 'test' })
    .expect(200);
  for (const userId of ['alice', 'bob', 'bob']) await tk.call('refusing', { n: 1 }, { userId }).expect(503);
  const { data } = await get(`${base}/callers?tool=refusing`);
  expect(data).toEqual([
    { name: 'bob', project: null, calls: 0, failures: 0, refusals: 2 },
    { name: 'alice', project: null, calls: 0, failures: 0, refusals: 1 },
  ]);
});
