import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import { startAskingServer } from '../support/asking-modern-server.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';
import type { WebSite } from '../support/web-site.js';

// real: the server's process and its death, HTTP, PostgreSQL, servers of the official libraries; mock: nothing

const library = join(__dirname, '..', '..', 'node_modules');
const [first, second, third] = [1, 2, 3].map(() => randomBytes(32).toString('base64'));
const folder = makeTestFolder();
let db: TestDatabase;
let upstream: WebSite;
let server: ServerProcess;

const start = async (keys: string): Promise<void> => {
  server = await startServer({
    ...{ DATABASE_URL: db.url, TOOLKEEPER_DATA_DIR: folder, CUSTOM_TOOLS_DIR: folder, SECRETS_KEY: keys },
    SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}`,
  });
};
beforeAll(async () => {
  db = await createTestDatabase();
  upstream = await startAskingServer();
});
afterAll(async () => {
  await server.end('SIGKILL');
  await upstream.stop();
  await db.release();
  rmSync(folder, { recursive: true, force: true });
});

const post = (path: string, body: object) => supertest(server.url).post(path).set(server.key).send(body);
const call = { input: { item: 'tea' }, elicitation: { form: {} } };
const answer = { inputResponses: { how: { action: 'accept', content: { amount: 1 } } } };
const execute = (tool: string, body: object) => post(`/api/v1/tools/${tool}/execute`, body);

it('calls whose caller is asked when the server is killed end once, as interrupted, whatever comes later', async () => {
  await start(`${first}`);
  const program = {
    command: 'node',
    args: [join(fixtures, 'asking-server.mjs')],
    sandbox: { allowedPaths: [library] },
  };
  await post('/api/v1/custom-tools', { name: 'old', protocol: 'mcp', ...program }).expect(201);
  await post('/api/v1/custom-tools', { name: 'new', protocol: 'mcp', url: upstream.url }).expect(201);
  const { requestState } = (await execute('new__order', call).expect(202)).body;
  const stream = await fetch(`${server.url}/api/v1/tools/old__order/execute`, {
    method: 'POST',
    headers: { ...server.key, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  let text = '';
  const reading = (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  })().catch(() => undefined);
  await until(() => text.includes('event: question'), { what: 'the question' });
  await server.end('SIGKILL');
  await reading;

  await start(`${second},${first}`);
  const endOf = async (tool: string) =>
    (await supertest(server.url).get('/api/v1/tool-metrics/executions').query({ tool }).set(server.key)).body
      .data;
  await until(async () => (await endOf('old__order')).length > 0, { what: 'the records' });
  for (const tool of ['old__order', 'new__order'])
    expect(await endOf(tool)).toMatchObject([{ status: 'error', errorType: 'interrupted' }]);
  // The key that sealed it is not the first one any more.
  const { body: late } = await execute('new__order', { ...call, ...answer, requestState }).expect(400);
  expect(late.detail).toContain('has ended (interrupted)');
  expect(await endOf('new__order')).toHaveLength(1);
  await server.end('SIGTERM');

  await start(`${third}`);
  const { body: unknown } = await execute('new__order', { ...call, ...answer, requestState });
  expect(unknown.detail).toContain('was altered');
});
