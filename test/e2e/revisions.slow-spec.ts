import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, its database, the tools' processes; mock: nothing

const fixture = join(fixtures, 'fixture-tool.mjs');
/** For scripts that lie elsewhere and import the fixture. */
const importing = { allowedPaths: [fixtures] };

let tk: TestApp;
let folder: string;

beforeAll(async () => {
  tk = await startApp();
  folder = makeTestFolder();
});

afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const path = (name: string, rest = ''): string => `/api/v1/custom-tools/${name}${rest}`;
const revisions = async (name: string, query = ''): Promise<Json> =>
  (await tk.http.get(path(name, `/revisions${query}`)).expect(200)).body;
const numbers = async (name: string): Promise<number[]> =>
  (await revisions(name)).data.map(({ revision }: Json) => revision);
const patch = (name: string, change: object) => tk.http.patch(path(name)).send(change);
const rollback = (name: string, revision: unknown) =>
  tk.http.post(path(name, '/rollback')).send({ revision });

describe('a revision', () => {
  it('is made by the registration and by every change that alters the configuration', async () => {
    await tk.register('changing', { tags: ['a'] });
    await patch('changing', { timeoutMs: 5_000 }).expect(200, /"revision":2/);
    await patch('changing', { timeoutMs: 5_000, tags: ['a'] }).expect(200, /"revision":2/);
    await patch('changing', {}).expect(200);
    await patch('changing', { command: 'nope' }).expect(400);
    await tk.http.post(path('changing', '/disable')).expect(200);
    await tk.http.post(path('changing', '/enable')).expect(200);
    const { data } = await revisions('changing');
    expect(data).toMatchObject([
      { revision: 2, source: 'patch', createdBy: 'admin', restores: null },
      { revision: 1, source: 'register', createdBy: 'admin', restores: null },
    ]);
    for (const { contentHash, createdAt } of data) {
      expect(contentHash).toMatch(/^[0-9a-f]{64}$/);
      expect(Date.now() - Date.parse(createdAt)).toBeLessThan(60_000);
    }
  });

  it('shows configuration and files, and of environment variables only their names', async () => {
    await tk.register('secretive', { env: { TOKEN: 's3cret-value' } });
    const { body, text } = await tk.http.get(path('secretive', '/revisions/1')).expect(200);
    expect(body).toMatchObject({
      revision: 1,
      configuration: { name: 'secretive', command: 'node', args: [fixture], env: { TOKEN: '***' } },
    });
    expect(body.files.map((file: Json) => file.path)).toEqual(
      expect.arrayContaining(['test/fixtures/tools/fixture-tool.mjs', expect.stringMatching(/node$/)]),
    );
    expect(body.files.find((file: Json) => file.path.endsWith('.mjs')).hash).toMatch(/^[0-9a-f]{64}$/);
    expect(text).not.toContain('s3cret-value');
    for (const key of ['status', 'errorMessage', 'id', 'updatedAt']) {
      expect(body.configuration).not.toHaveProperty(key);
    }
  });

  it('is listed newest first, paged', async () => {
    await tk.register('paged');
    for (const description of ['b', 'c', 'd']) await patch('paged', { description }).expect(200);
    const first = await revisions('paged', '?limit=3');
    expect(first.data.map(({ revision }: Json) => revision)).toEqual([4, 3, 2]);
    const second = await revisions('paged', `?limit=3&cursor=${first.nextCursor}`);
    expect(second).toMatchObject({ data: [{ revision: 1 }], nextCursor: null });
    const { status } = await tk.http.get(path('paged', '/revisions?cursor=bm9uZQ'));
    expect(status).toBe(400);
  });

  it('never changes, not even by SQL, and goes with its tool', async () => {
    await tk.register('fixed');
    const [{ id }] = await tk.db.dataSource.query(`SELECT id FROM custom_tools WHERE name = 'fixed'`);
    await expect(
      tk.db.dataSource.query(`UPDATE custom_tool_revisions SET configuration = '{}' WHERE tool_id = $1`, [
        id,
      ]),
    ).rejects.toThrow('never change');
    await tk.http.delete(path('fixed')).expect(204);
    const rows = await tk.db.dataSource.query(`SELECT 1 FROM custom_tool_revisions WHERE tool_id = $1`, [id]);
    expect(rows).toEqual([]);
    await tk.register('fixed');
    expect(await numbers('fixed')).toEqual([1]);
  });

  it('is not found where there is none', async () => {
    await tk.http.get(path('nope', '/revisions')).expect(404, /"code":"not_found"/);
    await tk.http.get(path('changing', '/revisions/99')).expect(404, /"code":"not_found"/);
    await tk.http.get(path('changing', '/revisions/zero')).expect(400, /"pointer":"\/revision"/);
    await tk.http.get(path('changing', '/revisions/0')).expect(400, /"pointer":"\/revision"/);
  });

  it('stands in the metric of every execution', async () => {
    await tk.register('measured', { keepAlive: true });
    await tk.call('measured').expect(200);
    await patch('measured', { timeoutMs: 4_000 }).expect(200);
    await tk.call('measured').expect(200);
    const rows = await until(
      async () => {
        const { body } = await tk.http.get('/api/v1/tool-metrics/executions?tool=measured');
        return body.data.length === 2 ? (body.data as Json[]) : undefined;
      },
      { what: 'both executions to be recorded' },
    );
    expect(rows.map(({ metadata }) => metadata.revision).sort()).toEqual([1, 2]);
  });
});

describe('a diff', () => {
  it('tells field by field what changed, and of secrets only that they did', async () => {
    await tk.register('compared', {
      env: { KEPT: 'k', OLD: 'o', TURNED: 'before' },
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
      args: [fixture],
    });
    await patch('compared', {
      env: { OLD: null, NEW: 'n', TURNED: 'after' },
      inputSchema: { type: 'object', properties: { a: { type: 'number' }, 'b/c': { type: 'string' } } },
      tags: ['x'],
      timeoutMs: 1_234,
    }).expect(200);
    const { body } = await tk.http.get(path('compared', '/revisions/2/diff')).expect(200);
    expect(body).toEqual({
      revision: 2,
      against: 1,
      changes: [
        { path: '/configuration/env/NEW', after: '***' },
        { path: '/configuration/env/OLD', before: '***' },
        { path: '/configuration/env/TURNED', before: '***', after: '***' },
        { path: '/configuration/inputSchema/properties/a/type', before: 'string', after: 'number' },
        { path: '/configuration/inputSchema/properties/b~1c/type', after: 'string' },
        { path: '/configuration/tags', before: [], after: ['x'] },
        { path: '/configuration/timeoutMs', before: 30_000, after: 1_234 },
      ],
    });
    const back = await tk.http.get(path('compared', '/revisions/1/diff?against=2')).expect(200);
    expect(back.body.changes).toContainEqual({ path: '/configuration/tags', before: ['x'], after: [] });
    await tk.http.get(path('compared', '/revisions/2/diff?against=2')).expect(200, /"changes":\[\]/);
    const { body: first } = await tk.http.get(path('compared', '/revisions/1/diff')).expect(200);
    expect(first.against).toBeNull();
    expect(first.changes).toContainEqual({ path: '/configuration/command', after: 'node' });
    await tk.http.get(path('compared', '/revisions/1/diff?against=9')).expect(404);
    await tk.http.get(path('compared', '/revisions/1/diff?against=x')).expect(400, /"pointer":"\/against"/);
  });
});

describe('a roll-back', () => {
  it('brings the configuration back, secrets included, as a new revision that says so', async () => {
    await tk.register('restored', { env: { MODE: 'first' }, keepAlive: true });
    await patch('restored', { env: { MODE: 'second' }, description: 'Other words' }).expect(200);
    expect((await tk.call('restored', { action: 'env' })).body.result.MODE).toBe('second');
    await rollback('restored', 1).expect(200, /"description":"restored".*"revision":3/);
    expect((await tk.call('restored', { action: 'env' })).body.result.MODE).toBe('first');
    const { data } = await revisions('restored');
    expect(data[0]).toMatchObject({ revision: 3, source: 'rollback', restores: 1, createdBy: 'admin' });
    expect(data[0].contentHash).toBe(data[2].contentHash);
  });

  it('to what runs now changes nothing', async () => {
    await tk.register('same');
    await rollback('same', 1).expect(200, /"revision":1/);
    expect(await numbers('same')).toEqual([1]);
  });

  it('asks the executable first: where it does not answer, nothing changes', async () => {
    const script = join(folder, 'vanishing.mjs');
    writeFileSync(script, `import '${fixture}';`);
    await tk.register('guarded', { args: [script], sandbox: importing });
    await patch('guarded', { args: [fixture] }).expect(200);
    rmSync(script);
    await rollback('guarded', 1).expect(400, /"pointer":"\/args\/0","detail":"does not exist/);
    expect(await numbers('guarded')).toEqual([2, 1]);
    await tk.call('guarded', { a: 1 }).expect(200, /"status":"success"/);
  });

  it('refuses what it cannot do', async () => {
    await tk.register('refusing');
    await rollback('refusing', 9).expect(404, /"code":"not_found"/);
    await rollback('refusing', 'one').expect(400, /"pointer":"\/revision"/);
    await rollback('refusing', undefined).expect(400, /"pointer":"\/revision"/);
    await rollback('nope', 1).expect(404);
  });

  it('cannot bring files back, and says which', async () => {
    const script = join(folder, 'edited.mjs');
    writeFileSync(script, `import '${fixture}';`);
    await tk.register('edited', { args: [script], sandbox: importing });
    writeFileSync(script, `import '${fixture}'; // changed`);
    await patch('edited', {}).expect(200, /"revision":2/);
    const { body } = await tk.http.get(path('edited', '/revisions/2/diff')).expect(200);
    expect(body.changes).toEqual([
      { path: `/files/${script.replaceAll('/', '~1')}`, before: expect.anything(), after: expect.anything() },
    ]);
    const refused = await rollback('edited', 1).expect(409);
    expect(refused.body).toMatchObject({ code: 'conflict', detail: expect.stringContaining(script) });
    utimesSync(script, new Date(0), new Date(0));
    await patch('edited', {}).expect(200, /"revision":2/);
  });
});

it('changes of one tool at once are all revisions, none is lost', async () => {
  await tk.register('raced');
  const answers = await Promise.all([1, 2, 3, 4].map((n) => patch('raced', { timeoutMs: 1_000 + n })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await numbers('raced')).toEqual([5, 4, 3, 2, 1]);
});
