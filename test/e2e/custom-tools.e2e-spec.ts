import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

const examples = join(__dirname, '..', '..', 'tools', 'installed');
const fixture = join(fixtures, 'fixture-tool.mjs');

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});

afterAll(() => tk.close());

const post = (body: object) => tk.http.post('/api/v1/custom-tools').send(body);
const stored = async (): Promise<string[]> =>
  (await tk.http.get('/api/v1/custom-tools')).body.data.map((tool: { name: string }) => tool.name);

describe('registration', () => {
  it('makes an executable a tool by one call, filling what it omits from the handshake', async () => {
    const { body } = await post({ name: 'minimal', command: 'node', args: [fixture] }).expect(201);
    expect(body).toMatchObject({
      name: 'minimal',
      description: 'Does what its input says',
      version: '1.2.3',
      inputSchema: { type: 'object', properties: { action: { type: 'string' } } },
      status: 'active',
      healthStatus: 'healthy',
      keepAlive: false,
      timeoutMs: 30_000,
      annotations: { readOnly: false, idempotent: false, destructive: true, openWorld: true },
    });
    await tk.call('minimal', { a: 1 }).expect(200, /"result":\{"a":1\}/);
  });

  it.each([
    ['Python', 'python3', 'echo.py'],
    ['bash', 'bash', 'echo.sh'],
    ['Node', 'node', 'fixture-tool.mjs'],
  ])('runs a %s tool', async (language, command, file) => {
    const name = `in_${language}`;
    await post({ name, command, args: [join(fixtures, file)], keepAlive: true }).expect(201);
    const { body } = await tk.call(name, { text: 'grüße "quoted"\n' }).expect(200);
    expect(body).toMatchObject({ status: 'success', result: { text: 'grüße "quoted"\n' } });
  });

  it.each([
    ['/name', { name: 'has space' }],
    ['/name', { name: undefined }],
    ['/command', { command: 7 }],
    ['/command', { command: 'no-such-interpreter' }],
    ['/command', { command: '/etc/passwd' }],
    ['/command', { command: 'nul\0byte' }],
    ['/args', { args: 'tool.py' }],
    ['/args/0', { args: [1] }],
    ['/workingDir', { workingDir: '/no/such/folder' }],
    ['/env', { env: { 'BAD NAME': 'x' } }],
    ['/inputSchema', { inputSchema: { type: 'strnig' } }],
    ['/inputSchema', { inputSchema: { $ref: 'https://example.com/x' } }],
    ['/timeoutMs', { timeoutMs: '5' }],
    ['/poolSize', { poolSize: 11 }],
    ['/minProcesses', { minProcesses: 1 }],
    ['/sandbox/maxMemoryMB', { sandbox: { maxMemoryMB: 1 } }],
    ['/permissions/canFly', { permissions: { canFly: true } }],
    ['/colour', { colour: 'red' }],
    ['/args', { args: null }],
    ['/timeoutMs', { timeoutMs: null }],
    ['/metadata/note', { metadata: { note: 'nul\0' } }],
    ['/inputSchema/title', { inputSchema: { type: 'object', title: '\ud800' } }],
  ])('refuses a wrong %s and stores nothing', async (pointer, change) => {
    const before = await stored();
    const { body } = await post({ name: 'wrong', command: 'node', args: [fixture], ...change }).expect(400);
    expect(body.code).toBe('invalid_request');
    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    expect(await stored()).toEqual(before);
  });

  it.each([
    ['exits', '--start=exit', 'ModuleNotFoundError: no module named requests'],
    ['answers an error', '--start=error', 'Method not found'],
  ])('refuses an executable that %s, with the reason', async (_what, option, reason) => {
    const { body } = await post({ name: 'broken', command: 'node', args: [fixture, option] }).expect(400);
    expect(body.errors).toEqual([{ pointer: '/command', detail: expect.stringContaining(reason) }]);
    expect(await stored()).not.toContain('broken');
  });

  it('refuses a schema of the executable that is nested without end', async () => {
    const { body } = await post({ name: 'deep', command: 'node', args: [fixture, '--start=deep'] }).expect(
      400,
    );
    expect(body.errors).toEqual([
      { pointer: '/command', detail: expect.stringContaining('its answer is nested deeper than 128 levels') },
    ]);
    expect(await stored()).not.toContain('deep');
  });

  it('refuses an executable that never answers, or no JSON, with the reason', async () => {
    const app = await startApp({ CUSTOM_TOOLS_START_TIMEOUT: '500' });
    try {
      for (const option of ['--start=hang', '--start=garbage']) {
        const broken = { name: 'broken', command: 'node', args: [fixture, option] };
        const { body } = await app.http.post('/api/v1/custom-tools').send(broken).expect(400);
        expect(body.errors).toEqual([
          { pointer: '/command', detail: expect.stringMatching(/initialize.* 500 ms/) },
        ]);
      }
      expect((await app.http.get('/api/v1/custom-tools')).body.data).toEqual([]);
    } finally {
      await app.close();
    }
  });

  it('refuses a name that is taken: by a custom tool, a built-in one, or one of many at once', async () => {
    await post({ name: 'minimal', command: 'node', args: [fixture] }).expect(409, /"code":"conflict"/);
    await post({ name: 'get_playbooks', command: 'node', args: [fixture] }).expect(409);
    const race = await Promise.all(
      Array.from({ length: 5 }, () => post({ name: 'raced', command: 'node', args: [fixture] })),
    );
    expect(race.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it('keeps a schema to the letter, also members named like those of Object', async () => {
    const inputSchema = {
      type: 'object',
      properties: { valueOf: { type: 'string' }, toString: { type: 'string' } },
      required: ['valueOf'],
      additionalProperties: false,
    };
    await post({ name: 'literal', command: 'node', args: [fixture], inputSchema }).expect(201);
    const { body } = await tk.http.get('/api/v1/custom-tools/literal').expect(200);
    expect(body.inputSchema).toEqual(inputSchema);
    await tk.call('literal', { valueOf: 'x' }).expect(200, /"status":"success"/);
    await tk.call('literal', {}).expect(422, /"pointer":"\/input\/valueOf"/);
  });

  it('never shows the values of environment variables', async () => {
    const { body } = await post({
      name: 'secretive',
      command: 'node',
      args: [fixture],
      env: { TOKEN: 's3cret' },
    });
    expect(body.env).toEqual({ TOKEN: '***' });
    const { text } = await tk.http.get('/api/v1/custom-tools/secretive').expect(200);
    expect(text).not.toContain('s3cret');
  });
});

describe('a registered tool', () => {
  it('is listed by status, paged', async () => {
    const { body } = await tk.http.get('/api/v1/custom-tools?status=active&limit=2').expect(200);
    expect(body.data).toHaveLength(2);
    expect(body.nextCursor).toEqual(expect.any(String));
    await tk.http.get('/api/v1/custom-tools?status=lazy').expect(400, /"pointer":"\/status"/);
  });

  it('is changed: new calls run the new configuration, wrong changes change nothing', async () => {
    await post({ name: 'changing', command: 'node', args: [fixture], keepAlive: true }).expect(201);
    await tk.http
      .patch('/api/v1/custom-tools/changing')
      .send({ description: 'New words', env: { MODE: 'new' }, timeoutMs: 45_000 })
      .expect(200, /"description":"New words"/);
    const { body } = await tk.call('changing', { action: 'env' }).expect(200);
    expect(body.result.MODE).toBe('new');
    const kept = await tk.http.patch('/api/v1/custom-tools/changing').send({ name: 'other' }).expect(200);
    expect(kept.body.name).toBe('changing');
    await tk.http.patch('/api/v1/custom-tools/changing').send({ command: 'nope' }).expect(400);
    await tk.http
      .patch('/api/v1/custom-tools/changing')
      .send({ tags: null })
      .expect(400, /"pointer":"\/tags"/);
    await tk.http
      .patch('/api/v1/custom-tools/changing')
      .send({ inputSchema: { type: 'x' } })
      .expect(400);
    const { body: unchanged } = await tk.http.get('/api/v1/custom-tools/changing').expect(200);
    expect(unchanged).toMatchObject({
      command: 'node',
      description: 'New words',
      timeoutMs: 45_000,
      status: 'active',
    });
    await tk.http.patch('/api/v1/custom-tools/nope').send({}).expect(404);
  });

  it('is disabled and enabled; while disabled only a test call runs it', async () => {
    await post({ name: 'switched', command: 'node', args: [fixture] }).expect(201);
    await tk.http.post('/api/v1/custom-tools/switched/disable').expect(200, /"status":"inactive"/);
    await tk.call('switched').expect(404, /"code":"tool_not_found"/);
    await tk.http
      .post('/api/v1/custom-tools/switched/test')
      .send({ input: { a: 1 } })
      .expect(200, /"result":\{"a":1\}/);
    await tk.http.post('/api/v1/custom-tools/switched/enable').expect(200, /"status":"active"/);
    await tk.call('switched').expect(200);
  });

  it('whose executable vanished at one replica says where, and is mended by a change', async () => {
    const dir = makeTestFolder();
    copyFileSync(fixture, join(dir, 'tool.mjs'));
    await post({ name: 'vanishing', command: 'node', args: ['tool.mjs'], workingDir: dir }).expect(201);
    rmSync(dir, { recursive: true });
    const second = await startApp({ DATABASE_URL: tk.db.url });
    try {
      const { body } = await second.http.get('/api/v1/custom-tools/vanishing').expect(200);
      expect(body).toMatchObject({
        status: 'active',
        healthStatus: 'degraded',
        errorMessage: expect.stringMatching(/^1 of 2 replicas work; .*is not a directory/),
        replicas: { total: 2, working: 1 },
      });
      // The other replica goes on with the process that it has, and says so when it has seen the change.
      expect(body.replicas.troubles).toContainEqual(
        expect.objectContaining({ status: 'error', replica: expect.any(String) }),
      );
      const refused = await second.call('vanishing').expect(503, /"code":"tool_unavailable"/);
      expect(refused.body.retryElsewhere).toBe(true);
      expect(refused.headers['retry-after']).toBe('0');
      await second.http
        .patch('/api/v1/custom-tools/vanishing')
        .send({ workingDir: fixtures, args: ['fixture-tool.mjs'] })
        .expect(200, /"status":"active"/);
      await second.call('vanishing', { a: 1 }).expect(200, /"status":"success"/);
    } finally {
      await second.close();
    }
  });

  it('is removed', async () => {
    await post({ name: 'doomed', command: 'node', args: [fixture] }).expect(201);
    await tk.http.delete('/api/v1/custom-tools/doomed').expect(204);
    await tk.call('doomed').expect(404);
    await tk.http.get('/api/v1/custom-tools/doomed').expect(404, /"code":"not_found"/);
    await tk.http.delete('/api/v1/custom-tools/doomed').expect(404);
  });

  it('is validated: every mismatch with its executable is reported', async () => {
    const good = join(examples, 'log_summary', 'tool.py');
    await post({ name: 'log_summary', command: 'python3', args: [good] }).expect(201);
    await tk.http
      .post('/api/v1/custom-tools/log_summary/validate')
      .expect(200, { valid: true, errors: [], differences: [] });
    await post({
      name: 'mismatched',
      version: '9.9.9',
      inputSchema: { type: 'object' },
      command: 'node',
      args: [fixture],
    }).expect(201);
    const { body } = await tk.http.post('/api/v1/custom-tools/mismatched/validate').expect(200);
    expect(body).toMatchObject({ valid: true, errors: [] });
    for (const field of ['name', 'version', 'inputSchema']) {
      expect(body.differences).toContainEqual(expect.stringMatching(`^${field}: `));
    }
    await tk.http.post('/api/v1/custom-tools/nope/validate').expect(404);
  });

  it('shows its health, asked of an idle process', async () => {
    await post({
      name: 'ailing',
      command: 'node',
      args: [fixture, '--health=unhealthy'],
      keepAlive: true,
    }).expect(201);
    const health = async () => (await tk.http.get('/api/v1/custom-tools/ailing/health').expect(200)).body;
    const before = await health();
    expect(before).toMatchObject({ healthStatus: 'unhealthy', status: 'active', processes: { idle: 0 } });
    await tk.call('ailing').expect(200);
    const asked = await health();
    expect(asked).toMatchObject({ healthStatus: 'unhealthy', processes: { idle: 1, busy: 0 } });
    expect(asked.lastHealthCheck > before.lastHealthCheck).toBe(true);
    await tk.http.get('/api/v1/custom-tools/nope/health').expect(404);
  });
});

describe('installed tools', () => {
  it('are imported once; what the API did to them stays until the file changes', async () => {
    const dir = makeTestFolder();
    const write = (folder: string, tool: object): void => {
      mkdirSync(join(dir, folder), { recursive: true });
      writeFileSync(join(dir, folder, 'tool.json'), JSON.stringify(tool));
    };
    const lib = { name: 'from_file', command: 'bash', args: ['echo.sh'] };
    write('good', lib);
    copyFileSync(join(fixtures, 'echo.sh'), join(dir, 'good', 'echo.sh'));
    chmodSync(join(dir, 'good', 'echo.sh'), 0o755);
    write('lacking', {
      name: 'lacking',
      description: 'Its interpreter is missing',
      command: 'no-such-interpreter',
      inputSchema: { type: 'object' },
    });
    write('bad', { name: 'bad', comand: 'typo' });
    const restart = async (work: (app: TestApp) => Promise<void>): Promise<void> => {
      const app = await startApp({ DATABASE_URL: tk.db.url, CUSTOM_TOOLS_DIR: dir });
      await work(app).finally(() => app.close());
    };
    try {
      await restart(async (app) => {
        await app.call('from_file', { a: 1 }).expect(200, /"status":"success"/);
        // It is lacking at both replicas on this database.
        const body = await until(
          async () => {
            const lacking = (await app.http.get('/api/v1/custom-tools/lacking').expect(200)).body;
            return lacking.status === 'error' && lacking;
          },
          { what: 'both replicas to say so' },
        );
        expect(body.errorMessage).toContain('no-such-interpreter');
        await app.call('lacking').expect(503, /"code":"tool_unavailable"/);
        await app.http.get('/readyz').expect(200);
        await app.http.get('/api/v1/custom-tools/bad').expect(404);
        await app.http.delete('/api/v1/custom-tools/from_file').expect(204);
      });
      await restart(async (app) => void (await app.http.get('/api/v1/custom-tools/from_file').expect(404)));
      write('good', { ...lib, description: 'Changed' });
      await restart(async (app) => {
        await app.http.get('/api/v1/custom-tools/from_file').expect(200, /"description":"Changed"/);
      });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('are left alone, and the routes closed, with CUSTOM_TOOLS_ENABLED=false', async () => {
    const app = await startApp({ CUSTOM_TOOLS_ENABLED: 'false', CUSTOM_TOOLS_DIR: examples });
    try {
      await app.http.get('/api/v1/custom-tools').expect(404, /"code":"not_found"/);
      const { body } = await app.http.get('/api/v1/tools?kind=builtin,custom,mcp,ui');
      const kinds = body.data.map(({ kind }: { kind: string }) => kind);
      expect(new Set(kinds)).toEqual(new Set(['builtin', 'ui']));
    } finally {
      await app.close();
    }
  });
});
