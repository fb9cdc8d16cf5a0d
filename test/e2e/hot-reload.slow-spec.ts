import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: servers, their database, files, the tools' processes; mock: nothing

const fixture = join(fixtures, 'fixture-tool.mjs');
const day = 86_400_000;
const every = (reloadIntervalMs: number) => ({ customTools: { reloadIntervalMs } });

const folders: string[] = [];
const makeFolder = (): string => {
  folders.push(makeTestFolder());
  return folders.at(-1) as string;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A tool in one file that answers `word`, whatever it is asked. */
const saying = (word: string): string => `
import { createInterface } from 'node:readline';
const answers = { initialize: { name: 'sayer', description: 'Says a word', version: '1.0.0', inputSchema: {} } };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = answers[method] ?? ${JSON.stringify(word)};
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});
`;

/** Put before a program: it waits for a file before it answers anything, and may leave one that tells so. */
const startsWhen = (file: string, started?: string): string => `
import { existsSync, writeFileSync } from 'node:fs';
${started === undefined ? '' : `writeFileSync(${JSON.stringify(started)}, '');`}
while (!existsSync(${JSON.stringify(file)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
`;

/** Starts in milliseconds and answers its variable N. */
const quick = `
while IFS= read -r line; do
  id=\${line#*'"id":"'}
  id=\${id%%'"'*}
  case $line in
    *'"method":"initialize"'*) result='{"name":"quick","description":"Says N","version":"1.0.0","inputSchema":{}}' ;;
    *) result="{\\"N\\":\\"$N\\"}" ;;
  esac
  printf '{"jsonrpc":"2.0","id":"%s","result":%s}\\n' "$id" "$result"
done
`;

const result = async (tk: TestApp, name: string): Promise<unknown> => (await tk.call(name)).body.result;
const get = async (tk: TestApp, name: string): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}`)).body;
const sources = async (tk: TestApp, name: string): Promise<string[]> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}/revisions`).expect(200)).body.data.map(
    ({ source }: Json) => source,
  );

describe('a change of a tool in use', () => {
  let tk: TestApp;
  beforeAll(async () => (tk = await startApp()));
  afterAll(() => tk.close());

  // A change is many steps one after the other (files looked at, a test start, two transactions, the sandbox's files),
  // and the callers here never pause: each step waits its turn in an event loop that is always busy. With two cores at a
  // load average of 12 to 18 a change took 0.9 s (median), and 0.4 s without the callers.
  it.each([
    [20, 'warm processes', { keepAlive: true, poolSize: 2 }],
    [10, 'a process for each call', { keepAlive: false, poolSize: 2 }],
  ])('%i times under constant load fails no call (%s)', async (times, _what, settings) => {
    const name = `loaded_${times}`;
    const script = join(makeFolder(), 'quick.sh');
    writeFileSync(script, quick);
    await tk.register(name, { ...settings, command: 'bash', args: [script], env: { N: '0' } });
    let patched = 0;
    let done = false;
    const bodies: Json[] = [];
    const stale: unknown[] = [];
    const caller = async (): Promise<void> => {
      while (!done) {
        const atLeast = patched;
        const { body } = await tk.call(name);
        bodies.push(body);
        if (Number(body.result?.N) < atLeast) stale.push([atLeast, body.result.N]);
      }
    };
    const callers = [1, 2, 3, 4].map(caller);
    for (let n = 1; n <= times; n++) {
      const seen = bodies.length;
      await tk.http
        .patch(`/api/v1/custom-tools/${name}`)
        .send({ env: { N: String(n) } })
        .expect(200);
      patched = n;
      await until(() => bodies.length >= seen + 4, { what: 'calls to end on the new revision' });
    }
    done = true;
    await Promise.all(callers);
    expect(bodies.filter(({ status }) => status !== 'success')).toEqual([]);
    expect(stale).toEqual([]);
    expect(new Set(bodies.map((body) => body.result.N)).size).toBeGreaterThanOrEqual(times);
    expect(bodies.length).toBeGreaterThan(4 * times);
  });

  it('lets a call in flight end on the old revision while new ones run the new', async () => {
    const gate = new Gate();
    try {
      await tk.register('overtaken', { keepAlive: true, env: { N: 'old' }, ...gate.access });
      const inFlight = tk.call('overtaken', gate.input('x')).then(({ body }) => body);
      await gate.running('x');
      await tk.http
        .patch('/api/v1/custom-tools/overtaken')
        .send({ env: { N: 'new' } })
        .expect(200);
      expect((await tk.call('overtaken', { action: 'env' })).body.result.N).toBe('new');
      await gate.open('x');
      const old = await inFlight;
      expect(old).toMatchObject({ status: 'success', result: { key: 'x' } });
      const metric = await until(
        async () => {
          const found = await tk.http.get(`/api/v1/tool-metrics/executions/${old.executionId}`);
          return found.status === 200 ? found.body : undefined;
        },
        { what: 'the execution to be recorded' },
      );
      expect(metric.metadata.revision).toBe(1);
    } finally {
      gate.close();
    }
  });

  it('lets a call in flight end when its tool is removed, and keeps its metrics', async () => {
    const gate = new Gate();
    try {
      await tk.register('removed', { keepAlive: true, ...gate.access });
      const inFlight = tk.call('removed', gate.input('last')).then(({ body }) => body);
      await gate.running('last');
      await tk.http.delete('/api/v1/custom-tools/removed').expect(204);
      await tk.call('removed').expect(404);
      await gate.open('last');
      const last = await inFlight;
      expect(last).toMatchObject({ status: 'success', result: { key: 'last' } });
      const recorded = async () =>
        (await tk.http.get(`/api/v1/tool-metrics/executions/${last.executionId}`)).status === 200;
      await until(recorded, { what: 'the execution to be recorded' });
      expect((await tk.http.get('/api/v1/tool-metrics/stats/removed').expect(200)).body.totalCalls).toBe(1);
    } finally {
      gate.close();
    }
  });
});

describe.each([
  ['the system says so', day],
  ['it is looked at', 200],
])('a file changed in CUSTOM_TOOLS_DIR, noticed because %s', (_how, interval) => {
  let tk: TestApp;
  let dir: string;
  const write = (folder: string, file: string, content: string | object): void => {
    mkdirSync(join(dir, folder), { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    // In one step, as editors and package managers do it.
    writeFileSync(join(dir, folder, `.${file}.new`), text);
    renameSync(join(dir, folder, `.${file}.new`), join(dir, folder, file));
  };
  const sayer = { name: 'sayer', command: 'node', args: ['tool.mjs'], keepAlive: true };
  /** Its script lies outside of its folder. */
  const elsewhere = { ...sayer, args: [fixture], sandbox: { allowedPaths: [fixtures] } };
  const says = (word: string) =>
    until(async () => (await result(tk, 'sayer')) === word, { what: `the tool to say ${word}` });

  beforeAll(async () => {
    dir = makeFolder();
    tk = await startApp({ CUSTOM_TOOLS_DIR: dir }, every(interval));
  });
  afterAll(() => tk.close());

  it('a new folder becomes a tool, whichever of its files comes first', async () => {
    write('sayer', 'tool.json', sayer);
    await until(async () => (await tk.http.get('/api/v1/custom-tools/sayer')).status === 404, {
      what: 'a tool without its program not to be there',
    });
    write('sayer', 'tool.mjs', saying('one'));
    await says('one');
    expect(await sources(tk, 'sayer')).toEqual(['import']);
  });

  it('a changed script is a new revision', async () => {
    write('sayer', 'tool.mjs', saying('two'));
    await says('two');
    expect(await sources(tk, 'sayer')).toEqual(['reload', 'import']);
  });

  it('a changed tool.json is a new revision', async () => {
    write('sayer', 'tool.json', { ...sayer, description: 'Other words' });
    // The row tells of it first; what the registry tells is what calls run.
    const callable = async () => (await tk.http.get('/api/v1/tools/sayer')).body;
    await until(async () => (await callable()).description === 'Other words', { what: 'the change' });
    expect(await sources(tk, 'sayer')).toEqual(['import', 'reload', 'import']);
  });

  it('half a tool.json and a script that is no tool change nothing until they are mended', async () => {
    // What keeps it going is the process that runs: there is no other copy of its script.
    await says('two');
    write('sayer', 'tool.json', JSON.stringify({ ...sayer, description: 'Half' }).slice(0, -10));
    write('sayer', 'tool.mjs', 'this is no program');
    // Imported after both: then they have been looked at.
    write('witness', 'tool.json', { ...elsewhere, name: `witness` });
    await until(async () => (await result(tk, 'witness')) !== undefined, { what: 'the witness' });
    expect(await get(tk, 'sayer')).toMatchObject({ description: 'Other words', status: 'active' });
    expect(await result(tk, 'sayer')).toBe('two');
    const why = /^Its changed files do not start, and what ran before goes on: .*SyntaxError/s;
    await until(async () => why.test((await get(tk, 'sayer')).errorMessage), { what: 'the reason' });
    // A health check in between changes nothing.
    await tk.http.get('/api/v1/custom-tools/sayer/health').expect(200);
    expect(await get(tk, 'sayer')).toMatchObject({ status: 'active', healthStatus: 'degraded' });
    const { body: log } = await tk.http.get('/api/v1/custom-tools/sayer/logs').expect(200);
    expect(log.data).toContainEqual(
      expect.objectContaining({ error: expect.stringContaining('SyntaxError') }),
    );
    const happened = async () => (await tk.http.get('/api/v1/events?tool=sayer').expect(200)).body.data;
    const told = (type: string) => async () => (await happened()).some((event: Json) => event.type === type);
    await until(told('tool.degraded'), { what: 'the event' });
    write('sayer', 'tool.mjs', saying('three'));
    await says('three');
    await until(async () => (await get(tk, 'sayer')).errorMessage === null, { what: 'that it is well' });
    await until(told('tool.recovered'), { what: 'the event of that' });
    write('sayer', 'tool.json', { ...sayer, description: 'Whole' });
    await until(async () => (await get(tk, 'sayer')).description === 'Whole', { what: 'the mended file' });
  });

  it('a touched file changes nothing; a removed folder leaves its tool registered', async () => {
    const before = await get(tk, 'sayer');
    const instance = async (): Promise<string> =>
      (await tk.call('witness', { action: 'count' }).expect(200)).body.result.instance;
    const warm = await instance();
    for (const file of ['sayer/tool.json', 'sayer/tool.mjs', 'witness/tool.json']) {
      utimesSync(join(dir, file), new Date(), new Date());
    }
    rmSync(join(dir, 'witness'), { recursive: true });
    // A change that comes after them is seen, so they have been.
    write('later', 'tool.json', { ...elsewhere, name: 'later' });
    await until(async () => (await result(tk, 'later')) !== undefined, { what: 'the later tool' });
    expect((await get(tk, 'sayer')).revision).toBe(before.revision);
    expect(warm).toEqual(expect.any(String));
    expect(await instance()).toBe(warm);
  });

  it('an import that a killed server did not come to the end of is taken up again', async () => {
    const go = join(dir, 'go');
    const tool = { ...sayer, name: 'unfinished', sandbox: { allowedPaths: [dir] } };
    const ofIt = `WHERE path LIKE '%unfinished/tool.json'`;
    const remembered = async (): Promise<unknown> => {
      const rows = await tk.db.dataSource.query<Json[]>(
        `SELECT content_hash FROM custom_tool_imports ${ofIt}`,
      );
      return rows[0]?.content_hash;
    };
    write('unfinished', 'tool.mjs', startsWhen(go) + saying('here'));
    write('unfinished', 'tool.json', tool);
    await until(async () => (await remembered()) === 'begun', { what: 'the import to begin' });
    writeFileSync(go, '');
    await until(async () => (await result(tk, 'unfinished')) === 'here', { what: 'the tool' });
    await until(async () => (await remembered()) !== 'begun', { what: 'the import to end' });
    await tk.db.dataSource.query(`UPDATE custom_tool_imports SET content_hash = 'begun' ${ofIt}`);
    write('unfinished', 'tool.json', { ...tool, description: 'Taken up' });
    const described = async () => (await get(tk, 'unfinished')).description === 'Taken up';
    await until(described, { what: 'the import to be taken up again' });
    await until(async () => (await remembered()) !== 'begun', { what: 'its end' });
  });
});

it('a changed script of a tool registered over REST is noticed', async () => {
  const tk = await startApp({}, every(100));
  try {
    const script = join(makeFolder(), 'tool.mjs');
    writeFileSync(script, saying('one'));
    await tk.register('remote', { args: [script], keepAlive: true });
    expect(await result(tk, 'remote')).toBe('one');
    writeFileSync(script, saying('two'));
    await until(async () => (await result(tk, 'remote')) === 'two', { what: 'the changed script' });
    expect(await sources(tk, 'remote')).toEqual(['reload', 'register']);
    const { body } = await tk.http.get('/api/v1/custom-tools/remote/revisions/2').expect(200);
    expect(body).toMatchObject({ source: 'reload', createdBy: 'toolkeeper' });
  } finally {
    await tk.close();
  }
});

it('a script changed while the server was down is a revision of its own when it starts', async () => {
  // It keeps the database, and notices nothing.
  const first = await startApp({}, every(day));
  const script = join(makeFolder(), 'tool.mjs');
  try {
    writeFileSync(script, saying('one'));
    await first.register('slept', { args: [script] });
    writeFileSync(script, saying('two'));
    const second = await startApp({ DATABASE_URL: first.db.url });
    try {
      expect(await result(second, 'slept')).toBe('two');
      expect(await sources(second, 'slept')).toEqual(['reload', 'register']);
    } finally {
      await second.close();
    }
  } finally {
    await first.close();
  }
});

describe('two servers on one database', () => {
  let a: TestApp;
  let b: TestApp;
  beforeAll(async () => {
    const variables = { SECRETS_KEY: randomBytes(32).toString('hex') };
    a = await startApp(variables, every(100));
    b = await startApp({ ...variables, DATABASE_URL: a.db.url }, every(100));
  });
  afterAll(async () => {
    await b.close();
    await a.close();
  });
  const onB = (what: string, seen: () => Promise<boolean>) =>
    until(seen, { what: `the other one to see ${what}` });
  const status = async (): Promise<number> => (await b.call('shared', { action: 'env' })).status;

  it('see what is registered, changed, disabled, enabled and removed at the other', async () => {
    const path = '/api/v1/custom-tools/shared';
    await a.register('shared', { env: { N: '1' }, keepAlive: true });
    await onB('the tool', async () => (await status()) === 200);
    await a.http
      .patch(path)
      .send({ env: { N: '2' } })
      .expect(200);
    await onB('the change', async () => (await b.call('shared', { action: 'env' })).body.result.N === '2');
    await a.http.post(`${path}/disable`).expect(200);
    await onB('that it is disabled', async () => (await status()) === 404);
    await a.http.post(`${path}/enable`).expect(200);
    await onB('that it is enabled', async () => (await status()) === 200);
    await a.http.delete(path).expect(204);
    await onB('that it is gone', async () => (await status()) === 404);
    await a.register('shared', { env: { N: 'again' } });
    await onB(
      'the new one',
      async () => (await b.call('shared', { action: 'env' })).body.result?.N === 'again',
    );
    expect(await sources(b, 'shared')).toEqual(['register']);
  });

  it('that change one tool at once: each change is a revision or a conflict', async () => {
    await a.register('contended');
    const path = '/api/v1/custom-tools/contended';
    const answers = await Promise.all(
      [a, b, a, b].map((app, n) => app.http.patch(path).send({ timeoutMs: 1_000 + n })),
    );
    const good = answers.filter((answer) => answer.status === 200);
    expect(good.length).toBeGreaterThan(0);
    for (const { status, body } of answers)
      expect([status, body.code]).toEqual(status === 200 ? [200, undefined] : [409, 'conflict']);
    expect((await sources(a, 'contended')).length).toBe(1 + good.length);
  });

  it('keep a tool disabled that one disables while the other still changes it, and what the other changed', async () => {
    const folder = makeFolder();
    const [go, started] = [join(folder, 'go'), join(folder, 'started')];
    writeFileSync(go, '');
    writeFileSync(join(folder, 'tool.mjs'), startsWhen(go, started) + saying('slow'));
    await a.register('slow', {
      args: [join(folder, 'tool.mjs')],
      sandbox: { allowedPaths: [folder] },
      permissions: { canWriteFiles: true },
    });
    const path = '/api/v1/custom-tools/slow';
    const before = (await get(a, 'slow')).revision;
    rmSync(go);
    rmSync(started);
    const change = a.http
      .patch(path)
      .send({ timeoutMs: 1_234 })
      .then((answer) => answer);
    await until(() => existsSync(started), { what: 'the change to look at the executable' });
    const enabled = a.http.post(`${path}/enable`).then((answer) => answer);
    await b.http.post(`${path}/disable`).expect(202, /"status":"inactive"/);
    writeFileSync(go, '');
    expect((await change).body).toMatchObject({ code: 'conflict', detail: 'slow was disabled meanwhile' });
    expect((await enabled).status).toBe(200);
    expect(await get(b, 'slow')).toMatchObject({ status: 'active', revision: before });
  });

  it('see one changed script as one revision', async () => {
    const script = join(makeFolder(), 'tool.mjs');
    writeFileSync(script, saying('one'));
    await a.register('twice', { args: [script] });
    await onB('the tool', async () => (await b.call('twice')).status === 200);
    writeFileSync(script, saying('two'));
    for (const app of [a, b]) {
      await until(async () => (await result(app, 'twice')) === 'two', { what: 'the changed script' });
    }
    await until(async () => (await get(a, 'twice')).revision === 2, { what: 'the revision' });
    expect(await sources(a, 'twice')).toEqual(['reload', 'register']);
  });
});
