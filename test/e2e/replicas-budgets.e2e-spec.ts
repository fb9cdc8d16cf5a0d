import { bearer } from '../support/admin-key.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';

// Real: two servers in processes of their own, PostgreSQL, HTTP. The way of one to the database is cut.

let replicas: Replicas;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  replicas = await startReplicas({}, (folder) => ({ FILES_DIR: folder }));
  [one, two] = replicas.all;
}, 120_000);
afterAll(() => replicas.stop());

const nth = (n: number): Replica => (n % 2 === 0 ? one : two);
const call = (of: Replica, investigationId: string, agent = of.http) =>
  agent
    .post('/api/v1/tools/find_tools/execute')
    .send({ input: { query: 'disk' }, context: { investigationId } });
const remaining = (answers: readonly Json[]): number[] =>
  answers.filter(({ status }) => status === 200).map(({ headers }) => Number(headers['ratelimit-remaining']));
const tenDown = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

describe('a budget of two replicas', () => {
  it('admits exactly 10 of 45 calls in turn, and the headers fall by one', async () => {
    const answers = [];
    for (let n = 0; n < 45; n++) answers.push(await call(nth(n), 'in-turn'));
    expect(remaining(answers)).toEqual(tenDown);
    expect(answers.slice(10).map(({ body }) => body.code)).toEqual(
      Array<string>(35).fill('investigation_budget_spent'),
    );
  });

  it('admits exactly 10 of 60 calls at once, and shows them alike', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => call(nth(n), 'at-once')));
    expect(remaining(answers).sort((a, b) => b - a)).toEqual(tenDown);
    const views = await Promise.all(
      replicas.all.map(({ http }) => http.get('/api/v1/investigations/at-once')),
    );
    for (const { body } of views)
      expect(body.tools).toEqual([{ tool: 'find_tools', limit: 10, used: 10, remaining: 0 }]);
    const lists = await Promise.all(replicas.all.map(({ http }) => http.get('/api/v1/investigations')));
    expect(lists[0]?.body).toEqual(lists[1]?.body);
  });

  it('is raised and reset for both, once that was answered', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, n) => call(nth(n), 'raised')));
    await call(two, 'raised').expect(429);
    await one.http
      .patch('/api/v1/investigations/raised')
      .send({ tools: { find_tools: 12 } })
      .expect(200);
    await call(two, 'raised').expect(200).expect('ratelimit-remaining', '1');
    await call(one, 'raised').expect(200).expect('ratelimit-remaining', '0');
    await two.http.delete('/api/v1/investigations/raised').expect(204);
    await call(one, 'raised').expect(200).expect('ratelimit-remaining', '9');
    await two.http.patch('/api/v1/investigations/raised').send({ callsPerTool: 3 }).expect(200);
    await call(one, 'raised').expect(200).expect('ratelimit-remaining', '1');
    await two.http
      .patch('/api/v1/investigations/raised')
      .send({ tools: { '': 3 } })
      .expect(400, /"pointer":"\/tools\/"/);
  });

  it('counts the calls of a key at both', async () => {
    const made = {
      name: 'rated',
      owner: 'agent',
      scopes: ['tools:call'],
      rate: { calls: 10, per: 'minute' },
    };
    const { body } = await one.http.post('/api/v1/keys').send(made).expect(201);
    const agent = (of: Replica) => supertest.agent(of.url).set(bearer(body.key));
    await until(async () => (await agent(two).get('/api/v1/tools')).status === 200, { what: 'the key' });
    const answers = await Promise.all(
      Array.from({ length: 45 }, (_, n) => call(nth(n), 'unlimited', agent(nth(n)).set('x-project-id', 'p'))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe('rate_limited');
    expect(Number(refused?.headers['retry-after'])).toBeLessThanOrEqual(60);
  });

  it('is counted on by a replica without the database, which says so and brings its calls along', async () => {
    for (let n = 0; n < 4; n++) await call(nth(n), 'cut-off').expect(200);
    await two.wire.cut();
    const here = [];
    for (let n = 0; n < 8; n++) here.push(await call(two, 'cut-off'));
    // It heard of four.
    expect(remaining(here)).toEqual([5, 4, 3, 2, 1, 0]);
    const { text } = await two.http.get('/metrics').expect(200);
    expect(Number(/^toolkeeper_budget_local_total\{kind="budget"\} (\d+)$/m.exec(text)?.[1])).toBe(8);
    expect((await two.http.get('/readyz')).body.details.budgets.status).toBe('degraded');
    await two.http.patch('/api/v1/investigations/cut-off').send({ callsPerTool: 20 }).expect(503);
    await call(one, 'cut-off').expect(200).expect('ratelimit-remaining', '5');
    await two.wire.open();
    await until(
      async () =>
        (await call(two, 'back')).headers['ratelimit-remaining'] &&
        (await two.http.get('/readyz')).body.details.budgets.status === 'up',
      {
        what: 'the database is there again',
      },
    );
    await call(one, 'cut-off').expect(429);
  }, 60_000);
});

it('files folders that are not one volume are found out: calls are refused, and readiness says why', async () => {
  const write = (of: Replica) =>
    of.http.post('/api/v1/tools/writeFile/execute').send({ input: { path: 'a.txt', content: 'x' } });
  for (const of of replicas.all) {
    const refused = await until(
      async () => {
        const answer = await write(of);
        return answer.status === 503 ? answer : undefined;
      },
      { what: 'the refusal' },
    );
    expect(refused.body).toMatchObject({
      code: 'tool_unavailable',
      detail: expect.stringContaining('FILES_DIR'),
    });
    const { body, status } = await of.http.get('/readyz');
    expect([status, body.details.files.status]).toEqual([200, 'degraded']);
  }
}, 60_000);
