import { randomBytes } from 'node:crypto';
import {
  existsSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/app-config.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { postForEvents } from '../support/sse.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: HTTP, PostgreSQL, processes, key files; mock: nothing

const fixture = join(fixtures, 'fixture-tool.mjs');
const secret = 'tok-5f"3a\\9c';
/** Any part of it, escaped or not; hashes and ids hold none of them by chance. */
const leaks = /tok-|f\\*"3|a\\+9/;
let folder: string;
let data: string;
let tk: TestApp;

beforeAll(async () => {
  [folder, data] = [makeTestFolder(), makeTestFolder()];
  // It must not see what others write under keys that it does not have.
  tk = await startApp({ TOOLKEEPER_DATA_DIR: data }, { customTools: { reloadIntervalMs: 86_400_000 } });
});
afterAll(async () => {
  await tk.close();
  for (const each of [folder, data]) rmSync(each, { recursive: true, force: true });
});

const patch = (name: string, body: object, app = tk) =>
  app.http.patch(`/api/v1/custom-tools/${name}`).send(body);
const envOf = async (name: string, app = tk): Promise<Json> =>
  (await app.call(name, { action: 'env' })).body.result;
const rowOf = async (name: string): Promise<Json> =>
  (await tk.db.dataSource.query<Json[]>('SELECT * FROM custom_tools WHERE name = $1', [name]))[0];

describe('the values of env', () => {
  it('are encrypted in the database, shown to nobody but the process, and kept by a PATCH', async () => {
    await tk.register('sealed', { env: { TOKEN: secret, MODE: 'first', GONE: 'x' } });
    expect(statSync(join(data, 'secrets.key')).mode & 0o777).toBe(0o600);
    const row = await rowOf('sealed');
    expect(JSON.stringify(row)).not.toMatch(leaks);
    expect(row.env.TOKEN).toMatchObject({ alg: 'A256GCM', key: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(await envOf('sealed')).toMatchObject({ TOKEN: secret, MODE: 'first', GONE: 'x' });
    const { body } = await patch('sealed', { env: { TOKEN: '***', MODE: 'second', GONE: null } }).expect(200);
    expect(body.env).toEqual({ TOKEN: '***', MODE: '***' });
    const after = await envOf('sealed');
    expect(after).toMatchObject({ TOKEN: secret, MODE: 'second' });
    expect(after).not.toHaveProperty('GONE');
    expect((await rowOf('sealed')).env.TOKEN).toEqual(row.env.TOKEN);
    await patch('sealed', { description: 'other' }).expect(200);
    expect(await envOf('sealed')).toMatchObject({ TOKEN: secret, MODE: 'second' });
  });

  it('are shown and left in texts where they are said to be no secrets, or are ordinary words', async () => {
    const env = { TOKEN: secret, REGION: { value: 'eu-west-1', secret: false }, DEBUG: 'true', PIN: '77' };
    const shown = { ...env, TOKEN: '***', DEBUG: { value: 'true', secret: false }, PIN: '***' };
    await tk.register('regional', { env });
    const { body: made } = await tk.http.get('/api/v1/custom-tools/regional').expect(200);
    expect(made.env).toEqual(shown);
    expect(await envOf('regional')).toMatchObject({
      TOKEN: secret,
      REGION: 'eu-west-1',
      DEBUG: 'true',
      PIN: '77',
    });
    const message = `true in eu-west-1, not ${secret}, https://h/?pin=77 77`;
    expect((await tk.call('regional', { action: 'error', message })).body.error.message).toBe(
      'true in eu-west-1, not [secret TOKEN], https://h/?pin=[secret PIN] 77',
    );
    const { body: same } = await patch('regional', { env: shown }).expect(200);
    expect([same.env, same.revision]).toEqual([shown, made.revision]);
    const { body: after } = await patch('regional', {
      env: { REGION: { value: 'us', secret: true }, DEBUG: null },
    });
    expect(after.env).toEqual({ TOKEN: '***', REGION: '***', PIN: '***' });
    const { body: change } = await tk.http.get('/api/v1/custom-tools/regional/revisions/2/diff');
    expect(JSON.stringify(change)).toContain('eu-west-1');
  });

  it.each([
    { value: 7 },
    { value: 'x', secret: 'no' },
    { secret: false },
    { value: 'x', hidden: 1 },
    ['x'],
    true,
    { value: '***' },
  ])('cannot be %j', async (value) => {
    await patch('sealed', { env: { NEW: value } }).expect(400, /"pointer":"\/env\/NEW"/);
  });

  it('must be values: *** is none', async () => {
    await patch('sealed', { env: { NEW: '***' } }).expect(400, /"pointer":"\/env\/NEW"/);
    await patch('sealed', { env: { NEW: 7 } }).expect(400, /"pointer":"\/env\/NEW"/);
  });

  it('do not open for another tool or name', async () => {
    await tk.register('thief', { env: { OTHER: 'abcd' } });
    await tk.db.dataSource.query(
      `UPDATE custom_tools SET env = jsonb_build_object('OTHER', (SELECT env->'TOKEN' FROM custom_tools WHERE name = 'sealed'))
       WHERE name = 'thief'`,
    );
    const { body } = await tk.http.post('/api/v1/custom-tools/thief/validate').expect(200);
    expect(body).toEqual({
      valid: false,
      errors: [expect.stringContaining('OTHER was changed in the database')],
      differences: [],
    });
  });

  it('are taken out of answers, records and logs', async () => {
    await tk.register('talkative', { env: { TOKEN: secret }, keepAlive: true });
    const told = await tk.call('talkative', {
      action: 'error',
      message: `no ${secret}`,
      data: { t: [secret], [secret]: { [`a ${secret}`]: 1 } },
    });
    expect(told.body.error).toMatchObject({
      message: 'no [secret TOKEN]',
      data: { t: ['[secret TOKEN]'], '[secret TOKEN]': { 'a [secret TOKEN]': 1 } },
    });
    const crashed = await tk.call('talkative', {
      action: 'crash',
      stderr: `x ${secret} ${JSON.stringify(secret)}`,
    });
    expect(crashed.body.error.type).toBe('tool_crashed');
    await tk.call('talkative', {
      action: 'raw',
      text: `stray ${secret}\n{"jsonrpc":"2.0","id":"$ID","result":1}\n`,
    });
    const logs = async (): Promise<string> => (await tk.http.get('/api/v1/custom-tools/talkative/logs')).text;
    await until(async () => (await logs()).includes('stray [secret TOKEN]'), { what: 'the stray line' });
    expect(await logs()).toContain('x [secret TOKEN]');
    const { text } = await tk.http.get('/api/v1/tool-metrics/executions?tool=talkative').expect(200);
    const rows = await tk.db.dataSource.query(`SELECT * FROM tool_metrics WHERE tool_name = 'talkative'`);
    expect(JSON.stringify(rows)).toContain('[secret TOKEN]');
    for (const seen of [await logs(), text, JSON.stringify(rows)]) expect(seen).not.toMatch(leaks);
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'loud', command: 'bash', args: ['-c', 'true'], env: { TOKEN: secret } })
      .expect(400);
    expect(JSON.stringify(body)).not.toMatch(leaks);
    writeFileSync(join(folder, 'loud.sh'), 'echo "my $TOKEN" >&2; exit 3\n');
    await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'loud', command: 'bash', args: ['loud.sh'], workingDir: folder, env: { TOKEN: secret } })
      .expect(400, /my \[secret TOKEN\]/);
  });
});

describe('what a tool says while it works', () => {
  const notices = [
    { method: 'progress', params: { progress: 1, message: `half of ${secret}` } },
    {
      method: 'log',
      params: { level: 'warn', message: `with ${secret}`, data: { token: secret, [secret]: 1 } },
    },
    { method: 'log', params: { message: `${'x'.repeat(4_096 - 6)}${secret}` } },
  ];
  const logged = async (name: string): Promise<Json[]> =>
    (await tk.http.get(`/api/v1/custom-tools/${name}/logs?limit=1000`).expect(200)).body.data;

  it('reaches its caller and its log, without the values of env', async () => {
    await tk.register('narrator', { env: { TOKEN: secret }, keepAlive: true });
    const url = `${tk.url}/api/v1/tools/narrator/execute`;
    const answer = await postForEvents(url, { input: { action: 'say', messages: notices } });
    const events = await answer.rest();
    expect(events.map(({ event, data }) => [event, data.message?.slice(-20)])).toEqual([
      ['progress', 'half of [secret TOKEN]'.slice(-20)],
      ['log', 'with [secret TOKEN]'],
      ['log', 'xxxxxx[secret TOKEN]'],
      ['outcome', undefined],
    ]);
    expect(events[1]?.data).toEqual({
      level: 'warn',
      message: 'with [secret TOKEN]',
      data: { token: '[secret TOKEN]', '[secret TOKEN]': 1 },
    });
    const entries = (await logged('narrator')).filter(({ event }) => event === 'log');
    expect(entries).toMatchObject([
      {
        level: 'warn',
        message: 'with [secret TOKEN]',
        data: { token: '[secret TOKEN]', '[secret TOKEN]': 1 },
      },
      { level: 'info', message: expect.stringMatching(/^x+\[secre$/), truncated: true },
    ]);
    const executionId: unknown = events[3]?.data.executionId;
    expect(entries.map((entry) => entry.executionId)).toEqual([executionId, executionId]);
    expect(answer.raw() + JSON.stringify(entries)).not.toContain('tok-');
  });

  it('reaches its log when nobody follows the call, and after it', async () => {
    await tk.call('narrator', { action: 'say', messages: notices.slice(1, 2) }).expect(200);
    const late = '{"jsonrpc":"2.0","method":"log","params":{"message":"after it"}}';
    const text = `{"jsonrpc":"2.0","id":"$ID","result":1}\n${late}\n`;
    await tk.call('narrator', { action: 'raw', text }).expect(200);
    const last = async (): Promise<Json> => (await logged('narrator')).at(-1);
    await until(async () => (await last()).message === 'after it', { what: 'the late notice' });
    expect(await last()).toEqual({
      id: expect.any(String),
      timestamp: expect.any(String),
      tool: 'narrator',
      event: 'log',
      level: 'info',
      pid: expect.any(Number),
      message: 'after it',
      replica: expect.any(String),
    });
  });

  it('and the reasons of starts that fail, without them, too', async () => {
    const script = join(folder, 'stubborn.mjs');
    copyFileSync(fixture, script);
    await tk.register('stubborn', { args: [script], env: { TOKEN: secret }, keepAlive: true });
    await tk.call('stubborn').expect(200);
    const refusing = `if (process.env.TOKEN) { console.error('bad token ' + process.env.TOKEN); process.exit(4); }`;
    writeFileSync(script, refusing);
    await tk.call('stubborn', { action: 'crash' }).expect(200);
    await tk.call('stubborn').expect(200);
    const failed = await until(
      async () => (await logged('stubborn')).find(({ error }) => /^start 1 failed/.test(error ?? '')),
      { what: 'the failed start' },
    );
    expect(failed).toMatchObject({
      event: 'error',
      level: 'error',
      error: expect.stringMatching(/exit code 4/),
    });
    const all = JSON.stringify(await logged('stubborn'));
    expect(all).toContain('bad token [secret TOKEN]');
    expect(all).not.toContain('tok-');
  });

  it('cannot end the server by JSON that is too deep to be written', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const text = ['log', 'progress', 'other']
      .map((method) => `{"jsonrpc":"2.0","method":"${method}","params":{"message":"deep","data":${deep}}}\n`)
      .join('');
    const url = `${tk.url}/api/v1/tools/narrator/execute`;
    const reply = '{"jsonrpc":"2.0","id":"$ID","result":"alive"}\n';
    const answer = await postForEvents(url, { input: { action: 'raw', text: text + reply } });
    expect(await answer.rest()).toMatchObject([
      { event: 'log', data: { message: 'deep' } },
      { event: 'outcome', data: { result: 'alive' } },
    ]);
  });
});

describe('keys', () => {
  const keys = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')] as const;
  const restart = async (SECRETS_KEY: string, work: (app: TestApp) => Promise<void>): Promise<void> => {
    const app = await startApp({ DATABASE_URL: tk.db.url, SECRETS_KEY });
    await work(app).finally(() => app.close());
  };

  it('are rotated at start; a missing one breaks its tools alone', async () => {
    await tk.register('bystander', {});
    // The server that runs must not take up what others encrypt anew.
    await tk.db.dataSource.query('ALTER TABLE custom_tools DISABLE TRIGGER custom_tools_updated');
    const unreadable = (await rowOf('talkative')).env;
    await restart(keys[0], async (app) => {
      await app.register('rotated', { env: { TOKEN: secret, OLD: 'plain text' } });
      expect(await envOf('rotated', app)).toMatchObject({ TOKEN: secret, OLD: 'plain text' });
      // Sealed under a key file that this server does not have.
      const { body } = await app.http.get('/api/v1/custom-tools/talkative').expect(200);
      expect(body).toMatchObject({
        // The other server on this database has the key.
        status: 'active',
        healthStatus: 'degraded',
        errorMessage: expect.stringMatching(/TOKEN .*SECRETS_KEY/),
      });
      await app.call('talkative').expect(503, /"code":"tool_unavailable"/);
      await app.call('bystander', { a: 1 }).expect(200, /"status":"success"/);
      await app.http.get('/readyz').expect(200);
    });
    const underFirst = await rowOf('rotated');
    expect(JSON.stringify(underFirst.env)).not.toMatch(/plain|tok-/);
    // Every value is under the first key of its server's, whatever it was under before.
    const keysOf = ({ env }: Json): unknown[] => Object.values(env).map((value: Json) => value.key);
    expect(keysOf(underFirst)).toEqual([underFirst.env.TOKEN.key, underFirst.env.TOKEN.key]);
    await restart(`${keys[1]},${keys[0]}`, async (app) => {
      expect(await envOf('rotated', app)).toMatchObject({ TOKEN: secret });
    });
    const underSecond = await rowOf('rotated');
    expect(keysOf(underSecond)).toEqual([underSecond.env.TOKEN.key, underSecond.env.TOKEN.key]);
    expect(underSecond.env.TOKEN.key).not.toBe(underFirst.env.TOKEN.key);
    // What no server of these could read stayed as it was.
    expect((await rowOf('talkative')).env).toEqual(unreadable);
    // Another key is no change of the tool.
    const { revision, updated_at } = underFirst;
    expect(underSecond).toMatchObject({ revision, updated_at });
    expect(revision).toBe(1);
    await restart(keys[1], async (app) => {
      expect(await envOf('rotated', app)).toMatchObject({ TOKEN: secret, OLD: 'plain text' });
      // A value under a lost key is mended by sending it again.
      await patch('talkative', { env: { TOKEN: 'new value' } }, app).expect(200, /"status":"active"/);
      expect(await envOf('talkative', app)).toMatchObject({ TOKEN: 'new value' });
    });
    expect((await rowOf('rotated')).env).toEqual(underSecond.env);
  });

  it('that are none stop the start without being quoted', () => {
    const start = () => loadConfig({ SECRETS_KEY: 'correct horse battery' });
    expect(start).toThrow(/SECRETS_KEY: .*32 bytes/);
    expect(start).not.toThrow(/horse/);
  });
});

describe('commands', () => {
  const post = (body: object, app = tk) =>
    app.http.post('/api/v1/custom-tools').send({ name: 'refused', ...body });
  const refused = async (body: object, pointer: string, words: RegExp, app = tk): Promise<void> => {
    const answer = await post(body, app).expect(400);
    expect(answer.body.errors).toEqual([{ pointer, detail: expect.stringMatching(words) }]);
  };

  it.each(
    [
      ['/command', { command: '-c' }, /dash/],
      ['/command', { command: '../tool' }, /"\.\."/],
      ['/workingDir', { command: 'node', args: [fixture], workingDir: '/tmp/../etc' }, /"\.\."/],
      ['/args/0', { command: 'node', args: ['../fixture-tool.mjs'] }, /"\.\."/],
    ].filter(([, body]) => (body as { command: string }).command !== '/usr/bin/env') as [
      string,
      object,
      RegExp,
    ][],
  )('are refused at %s: %j', (pointer, body, words) => refused(body, pointer, words));

  it('get their arguments as they are, through no shell', async () => {
    await tk.register('literal_args', { args: [fixture, '--name=$(id) `id` ; id'] });
    const { body } = await tk.http.post('/api/v1/custom-tools/literal_args/validate').expect(200);
    expect(body.differences.join()).toContain('$(id) `id` ; id');
  });

  it('that are links stay what they were at registration', async () => {
    const script = (name: string, answer: string): string => {
      const path = join(folder, name);
      const reply = `{\\"jsonrpc\\":\\"2.0\\",\\"id\\":\\"$id\\",\\"result\\":{\\"name\\":\\"${answer}\\",\\"inputSchema\\":{}}}`;
      writeFileSync(
        path,
        `#!/bin/bash\nwhile read -r l; do id=\${l#*id\\":\\"}; id=\${id%%\\"*}; echo "${reply}"; done\n`,
      );
      chmodSync(path, 0o755);
      return path;
    };
    const link = join(folder, 'current');
    symlinkSync(script('good.sh', 'good'), link);
    const { body } = await post({ name: 'linked', command: link, description: 'd' }).expect(201);
    expect(body.pinnedCommand).toBe(join(folder, 'good.sh'));
    unlinkSync(link);
    symlinkSync(script('evil.sh', 'evil'), link);
    expect((await tk.call('linked')).body.result.name).toBe('good');
    const valid = await tk.http.post('/api/v1/custom-tools/linked/validate').expect(200);
    expect(valid.body.errors).toEqual([
      expect.stringMatching(/leads to .*evil\.sh now, but led to .*good\.sh/),
    ]);
    await patch('linked', { description: 'other' }).expect(400, /leads to/);
    const second = await startApp({ DATABASE_URL: tk.db.url });
    try {
      await second.call('linked').expect(503, /leads to/);
    } finally {
      await second.close();
    }
    await patch('linked', { command: link }).expect(200, /evil\.sh/);
    expect((await tk.call('linked')).body.result.name).toBe('evil');
  });

  it('and scripts must lie below the allowed roots, where there are some', async () => {
    const root = join(folder, 'root');
    mkdirSync(root);
    copyFileSync(fixture, join(root, 'tool.mjs'));
    symlinkSync(fixture, join(root, 'out.mjs'));
    symlinkSync('/bin', join(root, 'bin'));
    const app = await startApp({ CUSTOM_TOOLS_ALLOWED_ROOTS: `/no/such/folder, ${root}` });
    const outside = /CUSTOM_TOOLS_ALLOWED_ROOTS/;
    try {
      await refused({ command: '/bin/cat', args: [] }, '/command', outside, app);
      await refused({ command: 'cat', args: [] }, '/command', outside, app);
      await refused({ command: join(root, 'bin', 'cat') }, '/command', outside, app);
      await refused({ command: 'node', args: [fixture] }, '/args/0', outside, app);
      await refused({ command: 'node', args: ['out.mjs'], workingDir: root }, '/args/0', outside, app);
      await refused(
        { command: 'node', args: ['tool.mjs'], workingDir: fixtures },
        '/workingDir',
        outside,
        app,
      );
      await refused({ command: 'python3', args: ['-m', 'http.server'] }, '/args/0', outside, app);
      const loading = { command: 'node', args: ['--import', fixture, 'tool.mjs'], workingDir: root };
      await refused(loading, '/args/0', outside, app);
      const variable = { command: 'node', args: ['tool.mjs'], workingDir: root, env: { NODE_OPTIONS: '' } };
      await refused(variable, '/env/NODE_OPTIONS', outside, app);
      const bin = join(folder, 'bin');
      mkdirSync(bin);
      const ran = join(folder, 'ran');
      writeFileSync(join(bin, 'python3'), `#!/bin/sh\n: >${ran}\n`, { mode: 0o755 });
      await refused({ command: join(bin, 'python3'), args: ['t.py'] }, '/command', outside, app);
      const env = { PATH: bin };
      await refused({ command: 'python3', args: ['t.py'], env }, '/env/PATH', outside, app);
      expect(existsSync(ran)).toBe(false);
      await post({ command: 'node', args: ['tool.mjs'], workingDir: root }, app).expect(201);
    } finally {
      await app.close();
    }
  });
});
