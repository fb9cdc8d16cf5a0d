import { request as rawRequest } from 'node:http';
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashFolder } from '../../src/runtime/custom-tools/bundles/archive.js';
import { BundleFolders } from '../../src/runtime/custom-tools/bundles/bundle-folders.js';
import { startApp, type TestApp } from '../support/app.js';
import { archiveOf, type Entry } from '../support/bundle.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: two servers with a database and folders of their own, tools' processes, archives; mock: nothing

const folders = [makeTestFolder(), makeTestFolder()] as const;
const settings = { BUNDLE_MAX_BYTES: '1048576', SECRETS_KEY: 'ab'.repeat(32) };
let tk: TestApp;
let other: TestApp;
beforeAll(async () => {
  tk = await startApp({ ...settings, CUSTOM_TOOLS_DIR: folders[0] });
});
afterAll(async () => {
  await other?.close();
  await tk.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const path = (name: string, rest = ''): string => `/api/v1/custom-tools/${name}${rest}`;
const upload = (method: 'post' | 'put', name: string, body: Buffer, type = 'application/gzip') =>
  tk.http[method](path(name, '/bundle')).set('content-type', type).send(body);
const unpackedIn = (folder: string): string[] =>
  existsSync(join(folder, '.bundles')) ? readdirSync(join(folder, '.bundles')) : [];
const say = async (name: string, app = tk): Promise<unknown> =>
  (await app.call(name).expect(200)).body.result;

/** A tool that says what its own module has, and whether it may change it. */
const program = `
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { word } from './lib/word.mjs';
const mayWrite = () => { try { writeFileSync(new URL('lib/word.mjs', import.meta.url), ''); return true; } catch { return false; } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const result = method === 'initialize'
    ? { name: 'x', description: 'Says a word', version: '1.0.0', inputSchema: { type: 'object' } }
    : method === 'health' ? { status: 'healthy' } : { word, mayWrite: mayWrite() };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
`;
const saying = (word: string, manifest: object = {}, ...more: readonly Entry[]): Buffer =>
  archiveOf([
    { path: 'tool.json', content: JSON.stringify({ command: 'node', args: ['tool.mjs'], ...manifest }) },
    { path: 'tool.mjs', content: program },
    { path: 'lib/word.mjs', content: `export const word = ${JSON.stringify(word)};` },
    ...more,
  ]);

it('a tool runs the files that it brought, on each replica, and a roll-back brings them back', async () => {
  const { body: made } = await upload('post', 'bundled', saying('first')).expect(201);
  expect(made).toMatchObject({ name: 'bundled', status: 'active', revision: 1, workingDir: null });
  expect(made.bundle).toMatch(/^[0-9a-f]{64}$/);
  expect(await say('bundled')).toEqual({ word: 'first', mayWrite: false });
  expect(unpackedIn(folders[0])).toEqual([made.bundle]);
  const { body: audit } = await tk.http.get('/api/v1/audit?action=registerToolBundle').expect(200);
  expect(audit.data).toMatchObject([{ target: 'custom-tools/bundled', status: 201 }]);

  // What tool.json does not name stays.
  await tk.http
    .patch(path('bundled'))
    .send({ timeoutMs: 9_000, env: { TZ: 'UTC' } })
    .expect(200);
  const { body: changed } = await upload('put', 'bundled', saying('second')).expect(200);
  expect(changed).toMatchObject({ revision: 3, timeoutMs: 9_000, env: { TZ: '***' } });
  expect(await say('bundled')).toMatchObject({ word: 'second' });
  await upload('put', 'bundled', saying('second')).expect(200, /"revision":3/);

  // A server with an empty disk: one that was restarted elsewhere, or another replica.
  // What is stored already needs no leave for uploads.
  const closed = { ...settings, BUNDLE_MAX_BYTES: '0', CUSTOM_TOOLS_DIR: folders[1] };
  other = await startApp({ ...closed, DATABASE_URL: tk.db.url });
  expect(await say('bundled', other)).toMatchObject({ word: 'second' });
  expect(unpackedIn(folders[1])).toEqual([changed.bundle]);

  const rolled = await tk.http.post(path('bundled', '/rollback')).send({ revision: 1 }).expect(200);
  expect(rolled.body).toMatchObject({ revision: 4, bundle: made.bundle });
  expect(await say('bundled')).toMatchObject({ word: 'first' });
  await until(async () => ((await say('bundled', other)) as Json).word === 'first', {
    what: 'the other replica to follow',
  });
  const { body: revisions } = await tk.http.get(path('bundled', '/revisions')).expect(200);
  expect(revisions.data.map(({ source }: Json) => source)).toEqual(['rollback', 'bundle', 'patch', 'bundle']);
  const { body: first } = await tk.http.get(path('bundled', '/revisions/1')).expect(200);
  expect(first.configuration.bundle).toBe(made.bundle);
  expect(first.files.map((file: Json) => file.path)).toEqual([expect.stringMatching(/node$/)]);
});

it('its folder is fetched again where somebody removed it', async () => {
  await upload('post', 'removed', saying('still here')).expect(201);
  for (const name of unpackedIn(folders[0]))
    rmSync(join(folders[0], '.bundles', name), { recursive: true, force: true });
  await tk.http.post(path('removed', '/enable')).expect(200);
  expect(await say('removed')).toMatchObject({ word: 'still here' });
});

it.each<[string, (folder: string) => void]>([
  ['a changed file', (at) => writeFileSync(join(at, 'lib/word.mjs'), 'export const word = "changed";')],
  ['a file that is gone', (at) => rmSync(join(at, 'lib/word.mjs'))],
  ['one more file', (at) => writeFileSync(join(at, 'lib/more.mjs'), '')],
  ['another mode', (at) => chmodSync(join(at, 'tool.mjs'), 0o755)],
  [
    'a link in the place of a file',
    (at) => {
      renameSync(join(at, 'lib/word.mjs'), join(at, 'other.mjs'));
      symlinkSync(join(at, 'other.mjs'), join(at, 'lib/word.mjs'));
    },
  ],
])('%s is found when it is loaded: the files are those of the bundle again', async (_what, change) => {
  const { bundle } = (await tk.http.get(path('removed')).expect(200)).body;
  const folder = join(folders[0], '.bundles', bundle);
  await tk.http.post(path('removed', '/disable')).expect(200);
  const before = await hashFolder(folder);
  for (const file of ['lib/word.mjs', 'tool.mjs']) chmodSync(join(folder, file), 0o644);
  change(folder);
  expect(await hashFolder(folder)).not.toBe(before);
  await tk.http.post(path('removed', '/enable')).expect(200);
  expect(await hashFolder(folder)).toBe(before);
  expect(await say('removed')).toMatchObject({ word: 'still here' });
});

it('a bundle is described, and runs nowhere but in its own folder', async () => {
  const { body } = await tk.http.get(path('bundled', '/bundle')).expect(200);
  expect(body).toMatchObject({ hash: expect.any(String), files: 3 });
  await tk.http
    .patch(path('bundled'))
    .send({ workingDir: '/tmp' })
    .expect(400, /"pointer":"\/workingDir"/);
  await upload('post', 'elsewhere', saying('x', { workingDir: '/tmp' })).expect(
    400,
    /"pointer":"\/workingDir"/,
  );
  await upload('post', 'in_own_folder', saying('x', { workingDir: './' })).expect(201, /"workingDir":null/);
  await tk.register('in_place');
  await tk.http.get(path('in_place', '/bundle')).expect(404, /has no bundle/);
});

describe('refused, leaving nothing behind:', () => {
  const bomb = archiveOf([{ path: 'tool.json' }, { path: 'zeros', content: Buffer.alloc(9_000_000) }]);
  const noise = Buffer.from(Array.from({ length: 1_100_000 }, (_, n) => (n * 7_919) ^ (n >> 3)));
  it.each<[string, Buffer, number, RegExp]>([
    ['a path that climbs', saying('x', {}, { path: '../../climbed' }), 400, /leads out of the bundle/],
    ['a link', saying('x', {}, { path: 'a', type: 'SymbolicLink', linkpath: '/' }), 400, /is a SymbolicLink/],
    ['a bomb', bomb, 400, /more than 8388608 bytes/],
    ['more than may be sent', noise, 413, /1100000 bytes, more than 1048576 \(BUNDLE_MAX_BYTES\)/],
    ['no archive', Buffer.from('{}'), 400, /no gzip/],
    ['an archive without a tool.json', archiveOf([{ path: 'x' }]), 400, /no tool.json at its top/],
    [
      'a tool.json over 256 KiB',
      archiveOf([{ path: 'tool.json', content: `{"tags":[]${' '.repeat(262_144)}}` }]),
      400,
      /"pointer":"\/tool.json","detail":"cannot be read: .* has 262155 bytes, more than 262144/,
    ],
    ['a tool.json that is no JSON', archiveOf([{ path: 'tool.json', content: '{' }]), 400, /it is no JSON/],
    [
      'one too large to be read at once',
      archiveOf([{ path: 'tool.json', content: ' '.repeat(5_000_000) }]),
      400,
      /"pointer":"\/tool.json"/,
    ],
    ['one with an unknown field', saying('x', { colour: 'red' }), 400, /"pointer":"\/colour"/],
    ['one of another tool', saying('x', { name: 'another' }), 400, /"pointer":"\/name"/],
    ['a program that is no tool', saying('x', { args: ['lib/word.mjs'] }), 400, /is not a tool/],
    [
      'a program in Python that cannot be read',
      saying('x', { command: 'python3', args: ['tool.py'] }, { path: 'tool.py', content: 'x = 1\ny = (' }),
      400,
      /"detail":"tool\.py line 2: SyntaxError: (?!.*\.bundles)/,
    ],
    [
      'packages that it does not contain',
      saying('x', {}, { path: 'package.json', content: '{"dependencies":{"a":"1"}}' }),
      400,
      /names packages, and there is no node_modules beside it: `toolkeeper tool bundle/,
    ],
  ])('%s', async (_what, archive, status, why) => {
    const before = readdirSync(folders[0]);
    const { text } = await upload('post', 'refused', archive).expect(status);
    expect(text).toMatch(why);
    await tk.http.get(path('refused')).expect(404);
    expect(readdirSync(folders[0])).toEqual(before);
    expect(unpackedIn(folders[0]).filter((name) => name.startsWith('.work'))).toEqual([]);
    expect(existsSync(join(folders[0], '..', 'climbed'))).toBe(false);
  });

  it('an upload whose client leaves is no fault of the server', async () => {
    const headers = { ...tk.key, 'content-type': 'application/gzip', 'content-length': '900000' };
    const request = rawRequest(`${tk.url}${path('left', '/bundle')}`, { method: 'POST', headers });
    request.on('error', () => undefined);
    request.write(noise.subarray(0, 100_000));
    const works = (): boolean => unpackedIn(folders[0]).some((name) => name.startsWith('.work'));
    await until(works, { what: 'the upload to begin' });
    request.destroy();
    const done = async (): Promise<Json> =>
      (await tk.http.get('/api/v1/audit?target=custom-tools/left').expect(200)).body.data[0];
    expect(await until(done, { what: 'its entry in the audit' })).toMatchObject({ status: 400 });
    expect(works()).toBe(false);
  });

  it('another type, another route, a name that is taken, a tool that is not there', async () => {
    await upload('post', 'refused', Buffer.from('{}'), 'application/json').expect(415);
    await tk.http.post('/api/v1/keys').set('content-type', 'application/gzip').send(saying('x')).expect(415);
    await upload('post', 'bundled', saying('x')).expect(409);
    await upload('put', 'nobody', saying('x')).expect(404);
    const put = other.http.put(path('bundled', '/bundle')).set('content-type', 'application/gzip');
    await put.send(saying('x')).expect(403, /BUNDLE_MAX_BYTES is 0/);
    await tk.anonymous.put(path('bundled', '/bundle')).expect(401);
  });
});

it('what no revision needs any more goes: after an hour, files a round later', async () => {
  const { body } = await upload('post', 'passing', saying('passing')).expect(201);
  const { dataSource } = tk.db;
  const stored = async (): Promise<boolean> =>
    (await dataSource.query('SELECT FROM tool_bundles WHERE hash = $1', [body.bundle])).length > 0;
  const sweeper = tk.app.get(BundleFolders);
  await tk.http.delete(path('passing')).expect(204);
  await sweeper.sweep();
  expect(await stored()).toBe(true);
  await dataSource.query(`UPDATE tool_bundles SET uploaded_at = now() - interval '2 hours'`);
  await sweeper.sweep();
  expect([await stored(), unpackedIn(folders[0]).includes(body.bundle)]).toEqual([false, true]);
  await sweeper.sweep();
  expect(unpackedIn(folders[0])).not.toContain(body.bundle);
  expect(await say('bundled')).toMatchObject({ word: 'first' });
});

it('a bundle is tried before it is registered, with a call, and nothing of it is registered', async () => {
  const dryRun = (query: string, body = saying('tried')) =>
    tk.http
      .post(path('attempt', `/bundle/try${query}`))
      .set('content-type', 'application/gzip')
      .send(body);
  const { body: started } = await dryRun('').expect(200);
  expect(started).toMatchObject({ handshake: { name: 'x' }, description: 'Says a word', outcome: null });
  const { body: called } = await dryRun(`?input=${encodeURIComponent('{"n":1}')}`).expect(200);
  expect(called.outcome).toMatchObject({
    status: 'success',
    result: { word: 'tried', mayWrite: false },
  });
  await tk.http.get(path('attempt')).expect(404);
  for (const [query, body, pointer] of [
    ['?input=%7B', saying('tried'), '/input'],
    ['', saying('tried', { name: 'another' }), '/name'],
    ['', Buffer.from('no archive'), ''],
  ] as const) {
    const { body: problem } = await dryRun(query, body).expect(400);
    expect(problem.errors[0].pointer).toBe(pointer);
  }
});

it('its files can be read, and what would replace them tried', async () => {
  await upload('post', 'mended', saying('wrong')).expect(201);
  await tk.http
    .patch(path('mended'))
    .send({ env: { TZ: 'UTC' }, timeoutMs: 9_000 })
    .expect(200);
  const files = () => tk.http.get(path('mended', '/bundle/files')).expect(200);
  const { body } = await files();
  expect(body).toEqual({
    data: [
      { path: 'lib/word.mjs', content: 'export const word = "wrong";', executable: false },
      { path: 'tool.json', content: '{"command":"node","args":["tool.mjs"]}', executable: false },
      { path: 'tool.mjs', content: program, executable: false },
    ],
    complete: true,
  });
  const attempt = (archive: Buffer) =>
    tk.http
      .post(path('mended', '/bundle/try?input=%7B%7D'))
      .set('content-type', 'application/gzip')
      .send(archive);
  const { body: tried } = await attempt(saying('right')).expect(200);
  expect(tried.outcome.result).toMatchObject({ word: 'right' });
  expect(await say('mended')).toMatchObject({ word: 'wrong' });
  await attempt(saying('right', { protocol: 'mcp' })).expect(400, /stays jsonrpc/);

  const much = { path: 'much.txt', content: 'x'.repeat(1_048_577) };
  await upload(
    'put',
    'mended',
    saying('right', {}, { path: 'run.sh', content: '', mode: 0o755 }, much),
  ).expect(200);
  const { body: large } = await files();
  expect(large.complete).toBe(false);
  expect(large.data.filter(({ path: each }: { path: string }) => !each.startsWith('tool'))).toEqual([
    { path: 'lib/word.mjs', content: 'export const word = "right";', executable: false },
    { path: 'much.txt', content: null, executable: false },
    { path: 'run.sh', content: '', executable: true },
  ]);
  const many = Array.from({ length: 200 }, (_, index) => ({ path: `${index}.bin`, content: '\0' }));
  await upload('put', 'mended', saying('right', {}, ...many)).expect(200);
  const { body: cut } = await files();
  expect([cut.complete, cut.data.length, cut.data[0].content]).toEqual([false, 200, null]);
  const { body: first } = await tk.http.get(path('mended', '/bundle/files?revision=1')).expect(200);
  expect(first).toEqual(body);
  await tk.http.get(path('mended', '/bundle/files?revision=9')).expect(404, /has no revision 9/);
  await tk.http.get(path('disk_usage', '/bundle/files')).expect(404);
});
