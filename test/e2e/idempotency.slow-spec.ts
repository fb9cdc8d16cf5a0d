import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';
import { Wire } from '../support/wire.js';

const annotations = { readOnly: false, idempotent: false, destructive: true, openWorld: false };
let keys = 0;
const newKey = (): string => `e2e-${process.pid}-${++keys}`;

describe('Idempotency-Key', () => {
  let tk: TestApp;
  let gate: Gate;

  beforeAll(async () => {
    tk = await startApp();
    gate = new Gate();
    await tk.register('worker', { keepAlive: true, ...gate.access, poolSize: 2, annotations });
  });
  afterAll(async () => {
    gate.close();
    await tk.close();
  });

  /** The lane takes the plain spelling, Nest's route the other. */
  const ways = { lane: '/api/v1/tools/worker/execute', nest: '/api/v1/tools/worker/execute?' };
  const post = (key: string, input: unknown, way: keyof typeof ways = 'lane', context?: object) =>
    tk.http.post(ways[way]).set('idempotency-key', key).send({ input, context });
  const rowsOf = async (): Promise<Json[]> => {
    const { body } = await tk.http.get('/api/v1/tool-metrics/executions?tool=worker&limit=100').expect(200);
    return body.data;
  };

  it.each([
    ['lane', 'nest'],
    ['nest', 'lane'],
  ] as const)(
    'given by the %s is known to the %s, costs no budget and leaves no second row',
    async (a, b) => {
      const key = newKey();
      const context = { investigationId: `inv-${key}` };
      const first = await post(key, { action: 'count' }, a, context).expect(200);
      expect(first.headers).not.toHaveProperty('idempotent-replayed');
      expect(first.headers['ratelimit-remaining']).toBe('9');
      const again = await post(key, { action: 'count' }, b, context).expect(200);
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.body).toEqual(first.body);
      const left = await tk.http.get(`/api/v1/investigations/${context.investigationId}`).expect(200);
      expect(left.body.tools).toMatchObject([{ tool: 'worker', used: 1 }]);
      const rows = (await rowsOf()).filter(
        ({ investigationId }) => investigationId === context.investigationId,
      );
      expect(rows).toMatchObject([{ metricId: first.body.executionId }]);
      const { text } = await tk.http.get('/metrics').expect(200);
      expect(text).toMatch(/toolkeeper_idempotent_replays_total\{tool="worker"\} [1-9]/);
    },
  );

  it('runs once for 50 that come at once', async () => {
    const key = newKey();
    const answers = Promise.all(
      Array.from({ length: 50 }, (_, n) => post(key, gate.input(key), n % 2 ? 'lane' : 'nest').expect(200)),
    );
    await gate.open(key);
    const ids = new Set((await answers).map(({ body }) => body.executionId));
    expect(ids.size).toBe(1);
    expect(gate.arrived.filter((each) => each === key)).toHaveLength(1);
    const rows = (await rowsOf()).filter(({ metricId }) => ids.has(metricId));
    expect(rows).toHaveLength(1);
  });

  it.each(['lane', 'nest'] as const)('with another input is a 422, by the %s', async (way) => {
    const key = newKey();
    await post(key, { n: 1 }, way).expect(200);
    const { body } = await post(key, { n: 2 }, way).expect(422);
    expect(body.code).toBe('idempotency_key_reused');
  });

  it.each(['lane', 'nest'] as const)('is a 409 while the first runs for longer, by the %s', async (way) => {
    const key = newKey();
    const input = gate.input(key);
    const first = post(key, input, way).then((answer) => answer);
    await gate.running(key);
    const { body, headers } = await post(key, input, way, { timeoutMs: 50 }).expect(409);
    expect([body.code, headers['retry-after']]).toEqual(['conflict', '1']);
    await gate.open(key);
    expect((await first).status).toBe(200);
  });

  it.each([
    ['lane', ''],
    ['nest', 'x'.repeat(256)],
    ['lane', 'ümlaut'],
  ] as const)('that is malformed is a 400, by the %s: %j', async (way, key) => {
    const { body } = await post(key, {}, way).expect(400);
    expect(body.code).toBe('invalid_request');
  });

  it('is free again after a refusal', async () => {
    const key = newKey();
    const create = (tool: string) =>
      tk.http.post(`/api/v1/tools/${tool}/execute`).set('idempotency-key', key);
    await create('comes_later').send({ input: {} }).expect(404);
    await tk.register('comes_later');
    const { body, headers } = await create('comes_later').send({ input: {} }).expect(200);
    expect(body.status).toBe('success');
    expect(headers).not.toHaveProperty('idempotent-replayed');
  });

  it('lets a caller leave, and come back for the outcome', async () => {
    const key = newKey();
    const leaving = new AbortController();
    const left = fetch(`${tk.url}${ways.lane}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...tk.key },
      body: JSON.stringify({ input: gate.input(key) }),
      signal: leaving.signal,
    }).catch((error: Error) => error.name);
    await gate.running(key);
    leaving.abort();
    expect(await left).toBe('AbortError');
    const back = post(key, gate.input(key)).then((answer) => answer);
    await gate.open(key);
    const { body, headers } = await back;
    expect(body).toMatchObject({ status: 'success', result: { key } });
    expect(headers['idempotent-replayed']).toBe('true');
    expect(gate.arrived.filter((each) => each === key)).toHaveLength(1);
  });

  it('also keeps failures, and streams what it kept', async () => {
    const key = newKey();
    const { body } = await post(key, { action: 'error', message: 'no such file' }).expect(200);
    expect(body.error).toMatchObject({ type: 'tool_error', message: 'no such file' });
    const { text, headers } = await post(key, { action: 'error', message: 'no such file' })
      .set('accept', 'text/event-stream')
      .expect(200);
    expect(headers['content-type']).toContain('text/event-stream');
    expect(headers['idempotent-replayed']).toBe('true');
    expect(text).toContain(`event: outcome\ndata: ${JSON.stringify(body)}\n\n`);
  });
});

describe('Idempotency-Key and a gateway that is killed', () => {
  let db: TestDatabase;
  let gate: Gate;
  let server: ServerProcess;
  const folder = makeTestFolder();

  const start = async (): Promise<void> => {
    server = await startServer({
      LOG_LEVEL: 'info',
      DATABASE_URL: db.url,
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_DIR: folder,
    });
  };
  const post = (tool: string, key: string, input: unknown) =>
    supertest(server.url).post(`/api/v1/tools/${tool}/execute`).set('idempotency-key', key).send({ input });

  beforeAll(async () => {
    db = await createTestDatabase();
    gate = new Gate();
    await start();
    for (const name of ['once', 'again']) {
      await supertest(server.url)
        .post('/api/v1/custom-tools')
        .set(server.key)
        .send({
          name,
          command: 'node',
          args: [join(fixtures, 'fixture-tool.mjs')],
          ...gate.access,
          keepAlive: true,
          annotations: { ...annotations, idempotent: name === 'again' },
        })
        .expect(201);
    }
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    gate.close();
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has its outcomes and decides honestly about what ran', async () => {
    const [ended, once, again] = [newKey(), newKey(), newKey()];
    const first = await post('once', ended, { action: 'count' }).expect(200);
    const lost = [post('once', once, gate.input(once)), post('again', again, gate.input(again))].map((call) =>
      call.then(
        () => 'answered',
        () => 'cut',
      ),
    );
    await Promise.all([gate.running(once), gate.running(again)]);
    await server.end('SIGKILL');
    expect(await Promise.all(lost)).toEqual(['cut', 'cut']);
    await start();

    const replay = await post('once', ended, { action: 'count' }).expect(200);
    expect(replay.headers['idempotent-replayed']).toBe('true');
    expect(replay.body).toEqual(first.body);

    const isTold = async (): Promise<boolean> => (await post('once', once, gate.input(once))).status === 200;
    await until(isTold, { what: 'the claim of the dead gateway to lapse' });
    const interrupted = await post('once', once, gate.input(once)).expect(200);
    expect(interrupted.body).toMatchObject({ status: 'error', error: { type: 'interrupted' } });
    expect((await post('once', once, gate.input(once)).expect(200)).body).toEqual(interrupted.body);

    const rerun = post('again', again, gate.input(again)).then((answer) => answer);
    await until(() => gate.arrived.filter((key) => key === again).length === 2, { what: 'the second run' });
    await gate.open(again);
    expect((await rerun).body).toMatchObject({ status: 'success', result: { key: again } });
    expect(gate.arrived.filter((key) => key === once)).toHaveLength(1);
  });
});

describe('Idempotency-Key without the database', () => {
  it('is not run, and calls without one go on', async () => {
    const db = await createTestDatabase({ connect: false });
    const url = new URL(db.url);
    const wire = new Wire({ host: url.hostname, port: Number(url.port) });
    url.hostname = '127.0.0.1';
    url.port = String(await wire.open());
    const tk = await startApp({ DATABASE_URL: url.toString() });
    try {
      await tk.register('echo', { keepAlive: true });
      await wire.cut();
      const keyed = () => tk.call('echo').set('idempotency-key', newKey());
      const { body, headers } = await keyed().expect(503);
      expect([body.code, headers['retry-after']]).toEqual(['database_unavailable', '5']);
      await tk.call('echo').expect(200);
      await wire.open();
      await until(async () => (await keyed()).status === 200, { what: 'keys to be taken again' });
    } finally {
      await tk.close();
      await wire.cut();
      await db.release();
    }
  });
});
