import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type Replica, type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';
import { WebSite } from '../support/web-site.js';

// Real: two servers in processes of their own, PostgreSQL, HTTP, a receiver of webhooks.

let receiver: WebSite;
let replicas: Replicas;
let one: Replica;
let two: Replica;

beforeAll(async () => {
  receiver = await WebSite.start((_request, answer) => answer.writeHead(204).end());
  const hooks = { WEBHOOK_URLS: `${receiver.url}/hook`, WEBHOOK_SECRET: 'a secret for webhooks' };
  replicas = await startReplicas({ ...hooks, SANDBOX: 'off' });
  [one, two] = replicas.all;
  const tool = {
    name: 'frail',
    command: 'node',
    args: [join(fixtures, 'fixture-tool.mjs')],
    keepAlive: true,
  };
  await one.http.post('/api/v1/custom-tools').send(tool).expect(201);
}, 120_000);
afterAll(async () => {
  await replicas.stop();
  await receiver.stop();
});

const call = (of: Replica, action: string) =>
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
    await call(one, 'crash');
    const [first] = await events(two, 'tool.crashed', 1);
    await call(two, 'crash');
    const both = await events(one, 'tool.crashed', 2);
    expect(both[0]).toEqual(first);
    expect(await events(two, 'tool.crashed', 2)).toEqual(both);
    for (const of of replicas.all) {
      const rest = await page(of, `type=tool.crashed&since=${first?.id}`);
      expect(rest).toMatchObject({ data: [both[1]], reset: false, missed: 0 });
    }
  });

  it('tell of a grade once, and each is one webhook with its id', async () => {
    for (let n = 0; n < 5; n++) await call(n % 2 === 0 ? one : two, 'echo');
    for (const { http } of replicas.all)
      await until(async () => (await http.get('/api/v1/tool-health/frail')).body.status !== 'unknown', {
        what: 'its grade',
      });
    const grades = await events(two, 'health.changed', 1);
    await call(one, 'crash');
    await events(two, 'tool.crashed', 3);
    const all: Json[] = (await page(one, 'tool=frail')).data;
    expect(all.filter(({ type }) => type === 'health.changed')).toEqual(grades);
    await until(() => receiver.seen.length >= all.length, { what: 'the webhooks' });
    const ids = receiver.seen.map(({ headers }) => String(headers['webhook-id']));
    expect(ids.sort()).toEqual(all.map(({ id }) => String(id)).sort());
  });

  it('wait while the database is away, and come late', async () => {
    const before = (await events(one, 'tool.crashed', 1)).length;
    await two.wire.cut();
    await call(two, 'crash');
    await two.wire.open();
    const after = await events(one, 'tool.crashed', before + 1);
    expect(after).toHaveLength(before + 1);
  }, 60_000);
});
