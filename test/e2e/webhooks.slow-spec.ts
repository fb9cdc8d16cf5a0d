import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { fixtures } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';
import { type SeenRequest, WebSite } from '../support/web-site.js';

const secret = 'a secret for webhooks';
const folder = makeTestFolder();
let db: TestDatabase;
let server: ServerProcess;
let receiver: WebSite;

beforeAll(async () => {
  // The first two tries fail.
  receiver = await WebSite.start((_request, answer) =>
    answer.writeHead(receiver.seen.length <= 2 ? 503 : 200).end(),
  );
  db = await createTestDatabase();
  server = await startServer({
    DATABASE_URL: db.url,
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: folder,
    CIRCUIT_FAILURES: '2',
    WEBHOOK_URLS: `${receiver.url}/hook?token=hidden`,
    WEBHOOK_SECRET: secret,
    WEBHOOK_EVENTS: 'circuit.opened,circuit.closed',
  });
});
afterAll(async () => {
  await server.end('SIGTERM');
  await receiver.stop();
  await db.release();
  rmSync(folder, { recursive: true, force: true });
});

/** The check that docs/operate/observability.md shows, run as it stands there. */
function isGenuine({ headers, body }: Pick<SeenRequest, 'headers' | 'body'>, key = secret): boolean {
  const page = readFileSync(join(__dirname, '..', '..', 'docs', 'operate', 'observability.md'), 'utf8');
  const code = /```js\nimport .*\n([^]*?)```/.exec(page)?.[1] ?? '';
  const make = runInThisContext(`(createHmac, timingSafeEqual, Buffer) => { ${code}; return isGenuine; }`);
  return make(createHmac, timingSafeEqual, Buffer)(headers, body, key);
}

it('tells a receiver that was away for a while of a circuit, signed, and of nothing that it did not ask for', async () => {
  const http = supertest.agent(server.url).set(server.key);
  await http
    .post('/api/v1/custom-tools')
    .send({ name: 'frail', command: 'node', args: [join(fixtures, 'fixture-tool.mjs')], keepAlive: true })
    .expect(201);
  const crash = { input: { action: 'crash' } };
  for (let n = 0; n < 2; n++) await http.post('/api/v1/tools/frail/execute').send(crash).expect(200);
  await http.post('/api/v1/tool-health/frail/circuit/close').send({ reason: 'repaired' });
  const { seen: tries } = receiver;
  await until(() => tries.length === 4, { what: 'both events' });
  const events: Json[] = tries.map(({ body }) => JSON.parse(body));
  const taken = events.slice(2).map(({ type }) => type);
  // A try that failed does not hold up the others.
  expect(taken.sort()).toEqual(['circuit.closed', 'circuit.opened']);
  expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  expect(tries.map(({ headers }) => headers['webhook-id'])).toEqual(events.map(({ id }) => id));
  expect(tries.map((each) => isGenuine(each))).toEqual([true, true, true, true]);
  for (const { headers, body } of tries) {
    expect(isGenuine({ headers, body: `${body} ` })).toBe(false);
    expect(isGenuine({ headers, body }, 'another secret of it')).toBe(false);
    expect(isGenuine({ headers: { ...headers, 'webhook-timestamp': '1700000000' }, body })).toBe(false);
  }
  const { body: page } = await http.get('/api/v1/events?type=circuit.opened').expect(200);
  expect(page.data).toEqual([events.find(({ type }) => type === 'circuit.opened')]);
  // The receiver knows of the last try before the sender does.
  const text = await until(
    async () => {
      const metrics = (await http.get('/metrics').expect(200)).text;
      return metrics.includes('toolkeeper_webhooks_total{result="delivered"} 2') ? metrics : undefined;
    },
    { what: 'both to count as delivered' },
  );
  expect(text).toContain('toolkeeper_webhooks_total{result="retried"} 2');
  expect(server.log()).not.toContain('hidden');
});
