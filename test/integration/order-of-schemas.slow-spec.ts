import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: servers one after another on one database, tools' processes; mock: nothing

const [folder, data] = [makeTestFolder(), makeTestFolder()];
const inner = { zoom: { type: 'number' }, at: { type: 'string' } };
const order = ['subject', 'to', 'body', 'cc', 'attachments'];
const inputSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(order.map((name) => [name, { type: 'string' }])),
    attachments: { type: 'array', items: { type: 'object', properties: inner } },
  },
  required: ['subject', 'to'],
};
const handshake = { name: 'mail', version: '1.0.0', description: 'Mails', inputSchema };
const listed = { name: 'send', description: 'Sends', inputSchema };
const names = ['said', 'given', 'server__send'];

let db: TestDatabase;
let tk: TestApp;
const start = async (): Promise<void> => {
  const variables = { DATABASE_URL: db.url, TOOLKEEPER_DATA_DIR: data, SECRETS_KEY: 'ab'.repeat(32) };
  tk = await startApp(variables);
};
beforeAll(async () => {
  db = await createTestDatabase();
  for (const each of ['says.mjs', 'mcp-server.mjs']) copyFileSync(join(fixtures, each), join(folder, each));
  writeFileSync(join(folder, 'mail.json'), JSON.stringify(handshake));
  writeFileSync(join(folder, 'nothing.json'), JSON.stringify({ version: '1.0.0' }));
  writeFileSync(join(folder, 'lists.json'), JSON.stringify([listed]));
  await start();
  const readable = { permissions: { canReadFiles: true }, sandbox: { allowedPaths: [folder] } };
  const program = (...args: string[]) => ({ command: 'node', args, workingDir: folder, ...readable });
  await tk.register('said', program('says.mjs', 'mail.json'));
  await tk.register('given', { ...program('says.mjs', 'nothing.json'), inputSchema });
  const lists = join(folder, 'lists.json');
  await tk.register('server', { ...program('mcp-server.mjs', `--lists=${lists}`), protocol: 'mcp' });
});
afterAll(async () => {
  await tk.close();
  await db.release();
  for (const each of [folder, data]) rmSync(each, { recursive: true, force: true });
});

const get = async (path: string): Promise<Json> => (await tk.http.get(`/api/v1/${path}`).expect(200)).body;
const formats = ['openai', 'openai&strict=true', 'openai-responses', 'anthropic', 'mcp', 'distri', 'holmes'];

const expected = [...order, ...Object.keys(inner)];
const namesIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) => [name, ...namesIn(each)])
    : [];

/** Of the tool in each format and in our own views: how its properties stand. */
async function ordersOf(name: string): Promise<[string, string[]][]> {
  const views = [`tools/${name}`, ...formats.map((format) => `tools/${name}?format=${format}`)];
  const [server] = name.split('__') as [string];
  const stored = server === name ? [`custom-tools/${name}`] : [`custom-tools/${server}/tools`];
  return Promise.all(
    [...views, ...stored].map(async (path): Promise<[string, string[]]> => {
      const answer = await get(path);
      const shown = answer.data?.find(({ tool }: Json) => tool === 'send') ?? answer;
      return [path, [...new Set(namesIn(shown).filter((each) => expected.includes(each)))]];
    }),
  );
}

const inOrder = async (name: string): Promise<boolean> =>
  (await ordersOf(name)).every(([, found]) => JSON.stringify(found) === JSON.stringify(expected));
it.each(names)('the properties of %s stay in their order, in every format', async (name) => {
  for (const [path, found] of await ordersOf(name)) expect([path, found]).toEqual([path, expected]);
});

it('so they do after a restart', async () => {
  await tk.close();
  await start();
  for (const name of names) expect([name, await inOrder(name)]).toEqual([name, true]);
});
