import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';

// Real: two servers in processes of their own, PostgreSQL, HTTP. The way of one to the database is cut.

let replicas: Replicas;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  replicas = await startReplicas({ CUSTOM_TOOLS_MAX_PROCESSES: '8', SANDBOX: 'off' });
  [one, two] = replicas.all;
  for (const [name, idempotent] of [
    ['again', true],
    ['single', false],
  ] as const) {
    const settings = {
      command: 'node',
      args: [join(fixtures, 'fixture-tool.mjs')],
      keepAlive: true,
      poolSize: 4,
    };
    const annotations = { readOnly: false, destructive: false, openWorld: false, idempotent };
    await one.http
      .post('/api/v1/custom-tools')
      .send({ name, description: name, ...settings, annotations })
      .expect(201);
    await until(async () => (await two.http.get(`/api/v1/tools/${name}`)).status === 200, { what: name });
  }
}, 120_000);
afterAll(() => replicas.stop());

const submit = async (of: Replica, tool: string, ms: number): Promise<string> => {
  const answer = await of.http
    .post(`/api/v1/tools/${tool}/execute`)
    .set('prefer', 'respond-async')
    .send({ input: { action: 'sleep', ms }, context: { timeoutMs: 30_000 } })
    .expect(202);
  return answer.headers['location'] ?? '';
};
const end = async (of: Replica, location: string): Promise<Json> =>
  until(
    async () => {
      const { body } = await of.http.get(`${location}?waitMs=5000`).expect(200);
      return body.endedAt && body;
    },
    { what: 'the end' },
  );

it('an MCP server that stays is registered with a warning: each replica has its own memory', async () => {
  const server = {
    protocol: 'mcp',
    description: 'notes',
    ...{ command: 'node', args: [join(fixtures, 'mcp-server.mjs')] },
  };
  const { body } = await one.http
    .post('/api/v1/custom-tools')
    .send({ ...server, name: 'notes' })
    .expect(201);
  expect(body.warnings).toEqual([expect.stringMatching(/^Each of the 2 replicas .* haproxy/)]);
  const again = await one.http.patch('/api/v1/custom-tools/again').send({ description: 'again' }).expect(200);
  expect(again.body).not.toHaveProperty('warnings');
}, 60_000);

describe('asynchronous executions of two replicas', () => {
  it('are run by both, and end for callers at either', async () => {
    const places = await Promise.all(Array.from({ length: 16 }, () => submit(one, 'again', 200)));
    const ends = await Promise.all(places.map((place) => end(two, place)));
    expect(ends.map(({ outcome }) => outcome.status)).toEqual(Array<string>(16).fill('success'));
    const pids = new Set(ends.map(({ outcome }) => outcome.result.pid));
    expect(pids.size).toBeGreaterThan(1);
  }, 60_000);

  it('are cancelled from another replica than the one that runs them', async () => {
    const places = await Promise.all(Array.from({ length: 6 }, () => submit(one, 'again', 25_000)));
    await until(
      async () => {
        const views = await Promise.all(places.map((place) => one.http.get(place)));
        return views.every(({ body }) => body.status === 'running');
      },
      { what: 'their starts' },
    );
    for (const place of places)
      expect((await two.http.delete(place).expect(200)).body.status).toBe('cancelled');
    // All processes are free again.
    const after = await Promise.all(Array.from({ length: 4 }, () => submit(two, 'again', 1)));
    for (const place of after) expect((await end(one, place)).outcome.status).toBe('success');
  }, 60_000);

  it('are refused at once without the database', async () => {
    await one.wire.cut();
    await until(
      async () => {
        const submitted = await one.http
          .post('/api/v1/tools/again/execute')
          .set('prefer', 'respond-async')
          .send({});
        return submitted.status === 503 && submitted.body.code === 'database_unavailable';
      },
      { what: 'the refusal' },
    );
    await one.wire.open();
    const place = await until(() => submit(one, 'again', 1), { what: 'the database is there again' });
    expect((await end(one, place)).outcome.status).toBe('success');
  }, 60_000);
});
