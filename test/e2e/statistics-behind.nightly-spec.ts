import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// real: the server, its database, a tool's process; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  // Nothing but the lock's end ends an insert that waits for it.
  const database = { statementTimeoutMs: 600_000, queryTimeoutMs: 600_000 };
  tk = await startApp({}, { database });
});
afterAll(() => tk.close());

it('statistics answer with what is there while the database takes no rows, and find an execution once it does', async () => {
  const calls = async (): Promise<unknown> =>
    (await tk.http.get('/api/v1/tool-metrics/stats/echo').expect(200)).body.totalCalls;
  await tk.register('echo');
  await tk.call('echo').expect(200);
  expect(await calls()).toBe(1);
  const other = tk.db.dataSource.createQueryRunner();
  await other.startTransaction();
  // Writers wait, readers do not.
  await other.query('LOCK TABLE tool_metrics IN EXCLUSIVE MODE');
  const { executionId } = (await tk.call('echo').expect(200)).body;
  expect(await calls()).toBe(1);
  const found = tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`).then((answer) => answer);
  expect((await tk.http.get('/api/v1/tool-metrics/executions').expect(200)).body.data).toHaveLength(1);
  await other.rollbackTransaction();
  await other.release();
  expect((await found).body).toMatchObject({ metricId: executionId, toolName: 'echo' });
  await until(async () => (await calls()) === 2, { what: 'the second execution to be counted' });
});

it('health counts the same calls as statistics, right after them', async () => {
  await tk.register('counted');
  for (let n = 1; n <= 3; n++) {
    await tk.call('counted').expect(200);
    const { totalCalls } = (await tk.http.get('/api/v1/tool-health/counted').expect(200)).body;
    const stats = (await tk.http.get('/api/v1/tool-metrics/stats/counted').expect(200)).body;
    expect([totalCalls, stats.totalCalls]).toEqual([n, n]);
  }
});
