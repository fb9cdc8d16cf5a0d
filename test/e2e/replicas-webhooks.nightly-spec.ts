import { type Replicas, startReplicas } from '../support/replicas.js';
import { until } from '../support/wait.js';
import { WebSite } from '../support/web-site.js';

// Real: servers in processes of their own, which are killed, PostgreSQL, a receiver of webhooks that is silent at first.

let receiver: WebSite;
let replicas: Replicas;
let isSilent = true;

beforeAll(async () => {
  receiver = await WebSite.start((_request, answer) => {
    if (!isSilent) answer.writeHead(204).end();
  });
  const hooks = { WEBHOOK_URLS: `${receiver.url}/hook`, WEBHOOK_SECRET: 'a secret for webhooks' };
  replicas = await startReplicas(hooks);
}, 120_000);
afterAll(async () => {
  await replicas.stop();
  await receiver.stop();
});

it('a webhook survives that all replicas are killed, with its id', async () => {
  const [one, two] = replicas.all;
  await one.http.post('/api/v1/tool-health/find_tools/circuit/open').send({ reason: 'a test' }).expect(200);
  await until(() => receiver.seen.length > 0, { what: 'the first try' });
  await Promise.all([one.end('SIGKILL'), two.end('SIGKILL')]);
  const before = receiver.seen.length;
  isSilent = false;
  const next = await replicas.start();
  await until(() => receiver.seen.length > before, { what: 'another try' });
  const ids = new Set(receiver.seen.map(({ headers }) => headers['webhook-id']));
  const { body } = await next.http.get('/api/v1/events?type=circuit.opened').expect(200);
  expect([...ids]).toEqual(body.data.map(({ id }: { id: string }) => id));
}, 120_000);
