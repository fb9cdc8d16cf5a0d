import { createHmac } from 'node:crypto';
import { APP_CONFIG, type AppConfig } from '../../src/base/config/app-config.js';
import { replicaHeader } from '../../src/runtime/custom-tools/logs/fleet-logs.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';
import { WebSite } from '../support/web-site.js';

// real: the server, its database; mock: the other replica, which answers and signs as no good one does

const line = { id: 'other-1', timestamp: '2026-01-23T10:30:00.000Z', level: 'info', message: 'from afar' };
const page = { data: [line], nextSince: 'other-1', missed: 0, partial: false };
const logs = '/api/v1/custom-tools/echo/logs';
let tk: TestApp;
let other: WebSite;
let answer: string;

beforeAll(async () => {
  tk = await startApp({ SECRETS_KEY: 'ab'.repeat(32) });
  await tk.register('echo');
  other = await WebSite.start((_request, response) => response.end(answer));
  await tk.db.dataSource.query(
    `INSERT INTO replicas (id, host, version, address, started_at, seen_at, parts)
     VALUES ('other', 'other', '1', $1, now(), now() + interval '1 hour', '{}')`,
    [other.url],
  );
  await tk.db.dataSource.query(`SELECT pg_notify('toolkeeper', 'replicas')`);
  await until(async () => (await tk.http.get(logs)) && other.seen.length > 0, {
    what: 'the other to be asked',
  });
});
afterAll(async () => {
  await tk.close();
  await other.stop();
});

it.each<[what: string, answer: unknown, partial: boolean]>([
  ['a page', page, false],
  ['an empty page', { ...page, data: [], nextSince: null }, false],
  ['null', null, true],
  ['text', 'a page', true],
  ['a list', [page], true],
  ['no lines', { ...page, data: null }, true],
  ['a null line', { ...page, data: [line, null] }, true],
  ['a line that is text', { ...page, data: ['line'] }, true],
  ['a line without an id', { ...page, data: [{ ...line, id: undefined }] }, true],
  ['a line whose time is a number', { ...page, data: [{ ...line, timestamp: 1 }] }, true],
  ['a place that is a number', { ...page, nextSince: 1 }, true],
  ['no place', { ...page, nextSince: undefined }, true],
  ['missed lines that are text', { ...page, missed: '1' }, true],
])('a replica that answers with %s does not break the log', async (_what, said, partial) => {
  answer = JSON.stringify(said);
  const { body } = await tk.http.get(logs).expect(200);
  expect(body.partial).toBe(partial);
  const { data } = said === null || partial ? { data: [] } : (said as typeof page);
  expect(body.data.filter(({ id }: { id: string }) => id.startsWith('other'))).toEqual(data);
});

it.each(['', 'other', 'other:3000', 'ftp://other', 'http://', 'http://other:99999', 'http://other/path'])(
  'a replica at the address %j does not break the log',
  async (address) => {
    await tk.db.dataSource.query('UPDATE replicas SET address = $1 WHERE id = $2', [address, 'other']);
    const { body } = await tk.http.get(logs).expect(200);
    expect(body.partial).toBe(true);
  },
);

it.each<[what: string, aheadMs: number, status: number]>([
  ['is over', -1_000, 404],
  ['expires in half a minute', 30_000, 200],
  ['expires in 55 s', 55_000, 200],
  ['expires too late', 70_000, 404],
  ['expires in years', 10 ** 12, 404],
  ['never expires', Infinity, 404],
  ['has no time', NaN, 404],
])('a signature that %s admits a replica only within the next minute', async (_what, aheadMs, status) => {
  const [secret = Buffer.alloc(0)] = tk.app.get<AppConfig>(APP_CONFIG).secrets.keys;
  const key = createHmac('sha256', secret).update('toolkeeper replicas').digest();
  const [path, expiry] = [`${logs}/own?limit=1`, String(Date.now() + aheadMs)];
  const signature = createHmac('sha256', key).update(`${expiry} ${path}`).digest('base64url');
  await tk.anonymous.get(path).set(replicaHeader, `${expiry}.${signature}`).expect(status);
});
