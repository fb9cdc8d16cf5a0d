import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { insertBatch, newToolMetric } from '../../src/records/executions/execution-record.js';
import { fixtures } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// Real: the built server as its own process, tool processes, PostgreSQL, SIGKILL.

const folder = makeTestFolder();
let db: TestDatabase;
let server: ServerProcess;

const start = async (): Promise<void> => {
  server = await startServer({
    DATABASE_URL: db.url,
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: folder,
    LOG_LEVEL: 'info',
  });
};

beforeAll(async () => {
  db = await createTestDatabase();
  await start();
});

afterAll(async () => {
  await server.end('SIGTERM');
  await db.release();
  rmSync(folder, { recursive: true, force: true });
});

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...server.key },
    body: JSON.stringify(body),
  });
const get = async (path: string): Promise<Json> => (await fetch(`${server.url}${path}`)).json();

async function register(name: string): Promise<void> {
  const tool = { name, description: name, command: 'node', args: [join(fixtures, 'fixture-tool.mjs')] };
  expect((await post('/api/v1/custom-tools', { ...tool, keepAlive: true, poolSize: 4 })).status).toBe(201);
}

it('kill -9 with calls in flight opens no circuit', async () => {
  await register('sleeper');
  const calls = Array.from({ length: 20 }, () =>
    post('/api/v1/tools/sleeper/execute', { input: { action: 'sleep', ms: 60_000 } }).catch(() => undefined),
  );
  await until(
    async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      return /toolkeeper_calls_in_flight\{tool="sleeper"\} 20/.test(metrics);
    },
    { what: '20 calls in flight' },
  );
  await server.end('SIGKILL');
  expect(await Promise.all(calls)).toEqual(Array(20).fill(undefined));
  // What a recorder leaves of them that survives the kill; the last of them wrongly marked as the tool's own fault.
  const interrupted = {
    toolName: 'sleeper',
    status: 'error',
    errorType: 'interrupted',
    executionTimeMs: 500,
  };
  const rows = Array.from({ length: 20 }, (_, n) =>
    newToolMetric({ ...interrupted, toolFault: n === 19, recordedAt: new Date(Date.now() - 1_000) }),
  );
  await insertBatch(db.dataSource, rows, 0);

  await start();
  const circuit = await get('/api/v1/tool-health/sleeper/circuit');
  expect(circuit).toMatchObject({ state: 'closed', faultsInWindow: 0, callsInWindow: 0, history: [] });
  const answer = await post('/api/v1/tools/sleeper/execute', { input: {} });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ status: 'success' });
});

it('a circuit that was open, or held open by hand, is so after kill -9, with its history', async () => {
  await register('fragile');
  await register('stopped');
  for (let n = 0; n < 5; n++) await post('/api/v1/tools/fragile/execute', { input: { action: 'crash' } });
  await post('/api/v1/tool-health/stopped/circuit/open', { by: 'alice', reason: 'maintenance' });
  // Reading writes down what waits.
  expect((await get('/api/v1/tool-metrics/stats/fragile')).totalCalls).toBe(5);
  const before = await get('/api/v1/tool-health/fragile/circuit');
  expect(before).toMatchObject({ state: 'open', historyComplete: true });
  await server.end('SIGKILL');
  await start();
  const after = await get('/api/v1/tool-health/fragile/circuit');
  expect(after.state).not.toBe('closed');
  expect(after.history.slice(0, 1)).toEqual(before.history);
  expect(await get('/api/v1/tool-health/stopped/circuit')).toMatchObject({
    state: 'open',
    heldByHand: true,
    by: 'alice',
    reason: 'maintenance',
  });
  expect((await post('/api/v1/tools/stopped/execute', { input: {} })).status).toBe(503);
});

it('a circuit that failed probes kept open is so after kill -9, when its window is over', async () => {
  await register('broken');
  for (let n = 0; n < 5; n++) await post('/api/v1/tools/broken/execute', { input: { action: 'crash' } });
  expect((await get('/api/v1/tool-metrics/stats/broken')).totalCalls).toBe(5);
  expect(await get('/api/v1/tool-health/broken/circuit')).toMatchObject({ state: 'open' });
  await server.end('SIGKILL');
  // As if it had been cut off an hour ago, and its last probe had failed now.
  const sql = (text: string): Promise<unknown> => db.dataSource.query(text);
  await sql("DELETE FROM tool_metrics WHERE tool_name = 'broken'");
  await sql("UPDATE circuit_transitions SET at = at - interval '1 hour' WHERE tool = 'broken'");
  await sql(`INSERT INTO circuit_transitions (transition_id, tool, from_state, to_state, reason, at, openings, replica)
    SELECT gen_random_uuid(), tool, 'half_open', 'open', 'A probe failed', now(), 5, replica
    FROM circuit_transitions WHERE tool = 'broken'`);
  await start();
  const circuit = await get('/api/v1/tool-health/broken/circuit');
  expect(circuit).toMatchObject({ state: 'open', reason: 'A probe failed', by: null, heldByHand: false });
  expect(Date.now() - Date.parse(circuit.openSince)).toBeGreaterThan(3_590_000);
  expect((await post('/api/v1/tools/broken/execute', { input: {} })).status).toBe(503);
});
