import { join } from 'node:path';
import { bearer } from '../support/admin-key.js';
import { fixtures } from '../support/app.js';
import { endOf, submitSleep } from '../support/async-executions.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';
import { WebSite } from '../support/web-site.js';

// Real: two servers in processes of their own, PostgreSQL, HTTP, a receiver of webhooks. The way of one to the database is cut.

let receiver: WebSite;
let replicas: Replicas;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  receiver = await WebSite.start((_request, answer) => answer.writeHead(204).end());
  const hooks = { WEBHOOK_URLS: `${receiver.url}/hook`, WEBHOOK_SECRET: 'a secret for webhooks' };
  const own = (folder: string) => ({ FILES_DIR: folder });
  replicas = await startReplicas({ ...hooks, CUSTOM_TOOLS_MAX_PROCESSES: '8', SANDBOX: 'off' }, own);
  [one, two] = replicas.all;
  const args = [join(fixtures, 'fixture-tool.mjs')];
  const annotations = { readOnly: false, destructive: false, openWorld: false, idempotent: true };
  const tool = { command: 'node', args, keepAlive: true, annotations };
  for (const more of [{ name: 'frail' }, { name: 'again', poolSize: 4 }]) {
    await one.http
      .post('/api/v1/custom-tools')
      .send({ ...tool, ...more })
      .expect(201);
    await until(async () => (await two.http.get(`/api/v1/tools/${more.name}`)).status === 200, {
      what: more.name,
    });
  }
}, 120_000);
afterAll(async () => {
  await replicas.stop();
  await receiver.stop();
});

const act = (of: Replica, action: string) =>
  of.http.post('/api/v1/tools/frail/execute').send({ input: { action } }).expect(200);
const page = async (of: Replica, query: string): Promise<Json> =>
  (await of.http.get(`/api/v1/events?${query}`).expect(200)).body;
const events = async (of: Replica, type: string, count: number): Promise<Json[]> =>
  until(
    async () => {
      const { data } = await page(of, `type=${type}`);
      return data.length >= count && data;
    },
    { what: `${count} × ${type}` },
  );

describe('events of two replicas', () => {
  it('are heard at both, with the same ids, and a reader goes on at another one', async () => {
    await act(one, 'crash');
    const [first] = await events(two, 'tool.crashed', 1);
    await act(two, 'crash');
    const both = await events(one, 'tool.crashed', 2);
    expect(both[0]).toEqual(first);
    expect(await events(two, 'tool.crashed', 2)).toEqual(both);
    for (const of of replicas.all) {
      const rest = await page(of, `type=tool.crashed&since=${first?.id}`);
      expect(rest).toMatchObject({ data: [both[1]], reset: false, missed: 0 });
    }
  });

  it('tell of a grade once, and each is one webhook with its id', async () => {
    for (let n = 0; n < 5; n++) await act(n % 2 === 0 ? one : two, 'echo');
    for (const { http } of replicas.all)
      await until(async () => (await http.get('/api/v1/tool-health/frail')).body.status !== 'unknown', {
        what: 'its grade',
      });
    const grades = await events(two, 'health.changed', 1);
    await act(one, 'crash');
    await events(two, 'tool.crashed', 3);
    const data: Json[] = (await page(one, 'tool=frail')).data;
    expect(data.filter(({ type }) => type === 'health.changed')).toEqual(grades);
    const idsOf = (events: readonly Json[]) => String(events.map(({ id }) => String(id)).sort());
    const webhooks = () => receiver.seen.filter(({ body }) => JSON.parse(body).tool === 'frail');
    const told = () => idsOf(webhooks().map(({ headers }) => ({ id: headers['webhook-id'] })));
    // Compared with the events of the moment: the crash may have changed the grade meanwhile.
    await until(async () => told() === idsOf((await page(one, 'tool=frail')).data), {
      what: 'one webhook of each event',
    });
  });

  it('wait while the database is away, and come late', async () => {
    const before = (await events(one, 'tool.crashed', 1)).length;
    await two.wire.cut();
    await act(two, 'crash');
    await two.wire.open();
    const after = await events(one, 'tool.crashed', before + 1);
    expect(after).toHaveLength(before + 1);
  }, 60_000);
});

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
    const places = await Promise.all(Array.from({ length: 16 }, () => submitSleep(one, 'again', 200)));
    const ends = await Promise.all(places.map((place) => endOf(two, place)));
    expect(ends.map(({ outcome }) => outcome.status)).toEqual(Array<string>(16).fill('success'));
    const pids = new Set(ends.map(({ outcome }) => outcome.result.pid));
    expect(pids.size).toBeGreaterThan(1);
  }, 60_000);

  it('are cancelled from another replica than the one that runs them', async () => {
    const places = await Promise.all(Array.from({ length: 6 }, () => submitSleep(one, 'again', 25_000)));
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
    const after = await Promise.all(Array.from({ length: 4 }, () => submitSleep(two, 'again', 1)));
    for (const place of after) expect((await endOf(one, place)).outcome.status).toBe('success');
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
    const place = await until(() => submitSleep(one, 'again', 1), { what: 'the database is there again' });
    expect((await endOf(one, place)).outcome.status).toBe('success');
  }, 60_000);
});
