import { chmodSync, copyFileSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { CommandLine } from '../support/command-line.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: rows of tools as a server without SANDBOX_GRANTABLE_PATHS stored them (written by that server), a server that
// starts on them, the command line, tools' processes, their files; mock: nothing

const asRoot = process.getuid?.() === 0;
const fixtures = join(__dirname, '..', 'fixtures');
const folder = makeTestFolder();
const shared = join(folder, 'shared');
let db: TestDatabase;

beforeAll(async () => {
  for (const each of ['tool', 'tools', 'closed', 'data']) mkdirSync(join(folder, each));
  for (const each of ['tool', 'closed'])
    copyFileSync(join(fixtures, 'hostile', 'obey.py'), join(folder, each, 'obey.py'));
  copyFileSync(join(fixtures, 'tools', 'mcp-server.mjs'), join(folder, 'tool', 'mcp-server.mjs'));
  chmodSync(join(folder, 'closed'), 0o700);
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  db = await createTestDatabase();
  const text = readFileSync(join(fixtures, 'upgrade', 'rows.json'), 'utf8')
    .replaceAll('$FOLDER', folder)
    .replaceAll('$PYTHON', realpathSync('/usr/bin/python3'))
    .replaceAll('$NODE', process.execPath);
  for (const [table, rows] of Object.entries(JSON.parse(text) as Record<string, object[]>)) {
    for (const row of rows) {
      const names = Object.keys(row).join(', ');
      const insert = `INSERT INTO ${table} (${names}) SELECT ${names} FROM jsonb_populate_record(NULL::${table}, $1)`;
      await db.dataSource.query(insert, [JSON.stringify(row)]);
    }
  }
});
afterAll(async () => {
  await db.release();
  rmSync(folder, { recursive: true, force: true });
});

const start = (variables: Record<string, string> = {}): Promise<TestApp> =>
  startApp({
    DATABASE_URL: db.url,
    CUSTOM_TOOLS_DIR: join(folder, 'tools'),
    TOOLKEEPER_DATA_DIR: join(folder, 'data'),
    SANDBOX_GRANTABLE_PATHS: '',
    SECRETS_KEY: 'ab'.repeat(32),
    ...variables,
  });
const get = async (tk: TestApp, name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body;
const works = async (tk: TestApp, name: string): Promise<void> => {
  const input = { code: 'R = os.getuid()' };
  const { body } = await tk.call(name, input).expect(200);
  expect(body).toMatchObject({ status: 'success', result: { R: expect.any(Number) } });
  expect(body.result.R).not.toBe(0);
};

/** Tools that a rule refuses now, and the end of the message. */
const refused: readonly (readonly [string, string])[] = [
  ['reader', 'to allow it, set SANDBOX_GRANTABLE_PATHS=/etc'],
  ['writer', 'to allow it, set SANDBOX_GRANTABLE_PATHS=/var/log'],
  ['kernel', 'is an interface of the kernel: it is never given to a tool'],
  ['cloud', 'or set CUSTOM_TOOLS_ALLOWED_ENV=AWS_PROFILE'],
  ...(asRoot ? [['closed', `to allow it: chmod o+rx ${join(folder, 'closed')}`] as const] : []),
];

it('what is refused has the status error, the rule and the line that allows it; all else goes on', async () => {
  const tk = await start();
  try {
    for (const [name, line] of refused) {
      const { status, errorMessage } = await get(tk, name);
      expect([name, status, errorMessage]).toEqual([name, 'error', expect.stringContaining(line)]);
      expect(errorMessage.endsWith(line)).toBe(true);
      await tk.call(name, { code: '' }).expect(503, /"code":"tool_unavailable"/);
    }
    for (const name of ['plain', 'packed']) await works(tk, name);
    const { body } = await tk.call('notes__echo', { text: 'still here' }).expect(200);
    expect(body).toMatchObject({ status: 'success' });
    expect(await get(tk, 'notes')).toMatchObject({ status: 'active', isolation: 'shared' });

    const cli = new CommandLine(
      { TOOLKEEPER_URL: tk.url, TOOLKEEPER_KEY: tk.key.authorization.slice('Bearer '.length) },
      folder,
    );
    const findings: Json[] = JSON.parse((await cli.run('doctor', '--json')).stdout);
    for (const [name, line] of refused) {
      const found = findings.find(({ what }) => what === `tool ${name}`);
      expect(found).toMatchObject({ state: 'note', found: expect.stringContaining(line) });
    }
    expect(findings.filter(({ what }) => what === 'to allow all').map(({ found }) => found)).toEqual([
      'CUSTOM_TOOLS_ALLOWED_ENV=AWS_PROFILE',
      'SANDBOX_GRANTABLE_PATHS=/etc,/var/log',
    ]);
    expect(findings.find(({ what }) => what === 'MCP server notes')).toMatchObject({
      state: 'note',
      mend: 'PATCH /api/v1/custom-tools/notes {"isolation": "project"}',
    });
    expect(findings.find(({ what }) => what === 'sandbox')?.found).toContain('may be granted: nothing else');
  } finally {
    await tk.close();
  }
});

it('with these lines they work again, as nobody is root', async () => {
  chmodSync(join(folder, 'closed'), 0o755);
  const tk = await start({
    SANDBOX_GRANTABLE_PATHS: `/etc:/var/log:${shared}`,
    CUSTOM_TOOLS_ALLOWED_ENV: 'AWS_PROFILE',
  });
  try {
    for (const name of ['reader', 'cloud', 'closed', 'plain', 'packed']) await works(tk, name);
    // A grant for writing must be open to the tool's user.
    const { status, errorMessage } = await get(tk, 'writer');
    if (asRoot)
      expect([status, errorMessage]).toEqual(['error', expect.stringMatching(/chmod o\+rwx \/var\/log$/)]);
  } finally {
    await tk.close();
  }
});
