import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { startFleet } from '../support/fleet.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { mapLimit } from '../support/map-limit.js';
import { OAuthMcpServer } from '../support/oauth-mcp-server.js';
import { nodeProcessesWith } from '../support/processes.js';
import { SmallBrowser } from '../support/small-browser.js';
import { until } from '../support/wait.js';

// real: the whole server, MCP servers as processes, an authorization server, HTTP; mock: the browser is one of ours

const fixture = join(fixtures, 'token-server.mjs');
const people = ['alice', 'bob', 'carol'] as const;
type Person = (typeof people)[number];
let tk: TestApp;
let upstream: OAuthMcpServer;
const callers = new Map<Person, TestApp['http']>();

const keyFor = async (http: TestApp['http'], owner: string): Promise<object> => {
  const key = await http.post('/api/v1/keys').send({ name: owner, owner, scopes: ['tools:call'] });
  return { authorization: `Bearer ${key.body.key}` };
};

beforeAll(async () => {
  const few = { CUSTOM_TOOLS_MAX_PROCESSES: '6' };
  [tk, upstream] = await Promise.all([
    startApp(few, { customTools: { idleTimeoutMs: 1_500 } }),
    OAuthMcpServer.start(),
  ]);
  for (const who of people) callers.set(who, supertest.agent(tk.url).set(await keyFor(tk.http, who)));
});
afterAll(async () => {
  await tk.close();
  await upstream.stop();
});

const settingsOf = (name: string, settings: object = {}) => ({
  name,
  protocol: 'mcp',
  command: 'node',
  args: [fixture, `--mark=${name}`, '--needs-token'],
  isolation: 'user',
  credentials: 'user',
  env: { GIT_TOKEN: '${OAUTH_TOKEN}', OAUTH_RESOURCE: { value: upstream.url, secret: false } },
  ...settings,
});
const register = (name: string, settings: object = {}) =>
  tk.http.post('/api/v1/custom-tools').send(settingsOf(name, settings));
const call = (who: Person, tool: string, input: object = {}) =>
  callers.get(who)!.post(`/api/v1/tools/${tool}/execute`).send({ input });
const toldBy = async (who: Person, tool: string, input: object = {}): Promise<Json> => {
  const { body } = await call(who, tool, input);
  if (!body.result) throw new Error(JSON.stringify(body));
  return body.result.structuredContent;
};
const accountAt = async (who: Person, server: string): Promise<Json> => {
  const { body } = await callers.get(who)!.get('/api/v1/accounts').expect(200);
  return body.data.find((each: Json) => each.server === server);
};
const signIn = async (who: Person, server: string): Promise<void> => {
  upstream.person = who;
  const answer = await new SmallBrowser().signIn((await accountAt(who, server)).signInUrl);
  expect([answer.status, await answer.text()]).toEqual([200, expect.not.stringContaining('could not')]);
};
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
/** The person whose token a process has. */
const personOf = ({ hash }: Json): string | undefined =>
  [...upstream.holders].find(([token]) => hashOf(token) === hash)?.[1];
const processesOf = (server: string): number[] => nodeProcessesWith(`--mark=${server}`);
const ended = (server: string, left: number): Promise<unknown> =>
  until(() => processesOf(server).length === left, { what: `${left} processes of ${server}` });

it('asks a caller for an account, and lists the tools of its server with the first one', async () => {
  await register('git').expect(201);
  const { body: before } = await tk.http.get('/api/v1/custom-tools/git/tools').expect(200);
  expect([before.data, processesOf('git')]).toEqual([[], []]);
  await signIn('alice', 'git');
  const { body: after } = await tk.http.get('/api/v1/custom-tools/git/tools').expect(200);
  expect(after.data.map(({ tool, state }: Json) => `${tool} ${state}`)).toContain('whoami callable');
  const { body } = await call('bob', 'git__whoami').expect(409);
  expect(body).toMatchObject({ code: 'authorization_required', signInUrl: expect.any(String) });
  await signIn('bob', 'git');
  expect(await accountAt('bob', 'git')).toMatchObject({ status: 'active' });
});

it('serves each caller by a process with the own token, in mixed calls', async () => {
  const instances = new Map<Person, Set<string>>();
  const wrong: unknown[] = [];
  await mapLimit(Array.from({ length: 300 }).keys(), 12, async (n) => {
    const who = people[(n % 7) % 2]!;
    const told = await toldBy(who, 'git__whoami', { ms: n % 5 });
    if (personOf(told) !== who) wrong.push({ who, told });
    instances.set(who, (instances.get(who) ?? new Set()).add(told.instance));
  });
  expect(wrong).toEqual([]);
  expect([...instances.values()].map(({ size }) => size)).toEqual([1, 1]);
  expect(processesOf('git')).toHaveLength(2);
});

it('gives a process the token in the variable of the registration, and nothing else of the sign-in', async () => {
  const { names } = await toldBy('alice', 'git__whoami');
  expect(names).toContain('GIT_TOKEN');
  expect(names.filter((name: string) => name.startsWith('OAUTH'))).toEqual([]);
  await toldBy('bob', 'git__whoami');
  const { seen, hash } = await toldBy('alice', 'git__seen');
  expect(seen).toEqual([hash]);
});

it('records the credential with the execution', async () => {
  const { body } = await call('alice', 'git__whoami').expect(200);
  const { body: record } = await tk.http.get(`/api/v1/tool-metrics/executions/${body.executionId}`);
  expect(record.metadata).toMatchObject({ credential: 'user' });
});

describe('a process before', () => {
  const changes: [string, () => Promise<unknown>][] = [
    [
      'that of a renewed token',
      async () => {
        upstream.lifetimeS = 3_600;
        const { refreshes } = upstream;
        // A call finds it due a tenth of its life before its end.
        const renewed = async () => (await toldBy('alice', 'git__whoami')) && upstream.refreshes > refreshes;
        await until(renewed, { what: 'the refresh' });
      },
    ],
    ['that of another sign-in', async () => signIn('alice', 'git')],
  ];
  it.each(changes)(
    '%s gives way to one with the new token, and ends after its calls',
    async (_what, change) => {
      upstream.lifetimeS = 2;
      await signIn('alice', 'git');
      const before = await toldBy('alice', 'git__whoami');
      const long = toldBy('alice', 'git__whoami', { ms: 3_000 });
      await until(async () => (await toldBy('alice', 'git__whoami')).calls > before.calls + 1, {
        what: 'the long call',
      });
      upstream.lifetimeS = 3_600;
      await change();
      const after = await toldBy('alice', 'git__whoami');
      expect([personOf(after), after.hash === before.hash]).toEqual(['alice', false]);
      expect(after.instance).not.toBe(before.instance);
      expect(await long).toMatchObject({ instance: before.instance, hash: before.hash });
      const isAlone = async () => (await toldBy('alice', 'git__whoami')) && processesOf('git').length === 1;
      await until(isAlone, { what: 'the end of the process before' });
    },
  );
});

it('asks again for an account whose token its server does not take any more', async () => {
  const before = await toldBy('alice', 'git__whoami');
  // That may be for another reason: the token is renewed once.
  const { refreshes } = upstream;
  for (let n = 0; n < 3; n++)
    expect((await call('alice', 'git__refused')).body.error.type).toBe('tool_error');
  expect(upstream.refreshes).toBe(refreshes + 1);
  expect((await toldBy('alice', 'git__whoami')).hash).not.toBe(before.hash);
  await signIn('alice', 'git');
  await toldBy('alice', 'git__whoami');
  upstream.revoke();
  const { body } = await call('alice', 'git__refused');
  expect(body).toMatchObject({ code: 'authorization_required', signInUrl: expect.any(String) });
  expect(await accountAt('alice', 'git')).toMatchObject({ status: 'needs_sign_in' });
  await call('alice', 'git__whoami').expect(409);
  // Its tools stay listed.
  await callers.get('alice')!.get('/api/v1/tools/git__whoami').expect(200);
  for (const who of ['alice', 'bob'] as const) await signIn(who, 'git');
  expect(personOf(await toldBy('alice', 'git__whoami'))).toBe('alice');
});

it('ends the processes of callers when they are idle', async () => {
  for (const who of ['alice', 'bob'] as const) await toldBy(who, 'git__whoami');
  await ended('git', 0);
  expect((await toldBy('alice', 'git__whoami')).calls).toBe(1);
});

it('refuses callers beyond CUSTOM_TOOLS_MAX_PROCESSES as queue_full while all are busy, and ends an idle one of another', async () => {
  await register('full', { credentials: 'none', env: {}, args: [fixture, '--mark=full'] }).expect(201);
  const many = await Promise.all(
    Array.from({ length: 7 }, async (_, n) =>
      supertest.agent(tk.url).set(await keyFor(tk.http, `caller ${n}`)),
    ),
  );
  const by = (n: number, ms: number) =>
    many[n]!.post('/api/v1/tools/full__whoami/execute').send({ input: { ms } });
  const held = many.slice(0, 6).map((_, n) => by(n, 8_000).then(({ body }) => body.status));
  await until(() => processesOf('full').length === 6, { what: 'six processes' });
  const { body } = await by(6, 0).expect(429);
  expect(body).toMatchObject({ code: 'queue_full' });
  expect(body.detail).toContain('6 projects or users use the tool already (CUSTOM_TOOLS_MAX_PROCESSES)');
  expect(await Promise.all(held)).toEqual(Array(6).fill('success'));
  await by(6, 0).expect(200, /"status":"success"/);
  expect(processesOf('full').length).toBeLessThanOrEqual(6);
  await tk.http.delete('/api/v1/custom-tools/full').expect(204);
});

it('without credentials gives each caller with a key a process that remembers', async () => {
  await register('own', { credentials: 'none', env: {}, args: [fixture, '--mark=own'] }).expect(201);
  const [alice, bob] = [await toldBy('alice', 'own__whoami'), await toldBy('bob', 'own__whoami')];
  expect([alice.calls, bob.calls, (await toldBy('alice', 'own__whoami')).calls]).toEqual([1, 1, 2]);
  const { body } = await tk.anonymous
    .post('/api/v1/tools/own__whoami/execute')
    .send({ input: {} })
    .expect(409);
  expect(body).toMatchObject({
    code: 'authorization_required',
    detail: expect.stringContaining('send a key'),
  });
});

it('signs callers in at the authorization server that the registration names alone', async () => {
  upstream.asksForNoResource = true;
  const { length } = upstream.seen;
  const env = { GIT_TOKEN: 'Bearer ${OAUTH_TOKEN}', OAUTH_ISSUER: new URL(upstream.url).origin };
  await register('issuer', { env }).expect(201);
  await signIn('alice', 'issuer');
  upstream.asksForNoResource = false;
  const { hash } = await toldBy('alice', 'issuer__whoami');
  const shown = [...upstream.holders].find(([token]) => hashOf(`Bearer ${token}`) === hash);
  expect(shown?.[1]).toBe('alice');
  expect(upstream.seen.slice(length).filter((each) => each.includes('"method"'))).toEqual([]);
});

describe('a token', () => {
  const found = (texts: string[]): string[] =>
    texts.filter((text) => upstream.issued.some((token) => text.includes(token)));

  it('is taken out of what a process says, and of messages', async () => {
    expect(await toldBy('alice', 'git__echo_token')).toEqual({ said: 'I saw [secret OAUTH_TOKEN]' });
    const bodies = [];
    for (const tool of ['stray', 'refused', 'die'])
      bodies.push(JSON.stringify((await call('alice', `git__${tool}`)).body));
    expect(bodies.join()).toContain('401 Unauthorized: [secret OAUTH_TOKEN] is revoked');
    expect(found(bodies)).toEqual([]);
  });

  it('stands in no log of the tool, and in no command line', async () => {
    await toldBy('alice', 'git__whoami');
    const { text } = await tk.http.get('/api/v1/custom-tools/git/logs?limit=1000').expect(200);
    expect(text).toContain('it begins with the token [secret OAUTH_TOKEN]');
    expect(text).toContain('stray [secret OAUTH_TOKEN]');
    const lines = readdirSync('/proc').flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return [];
      }
    });
    expect(lines.some((line) => line.includes('--mark=git'))).toBe(true);
    expect(found([text, ...lines])).toEqual([]);
  });

  it('stands in no row', async () => {
    await tk.http.patch('/api/v1/custom-tools/git').send({ capture: 'all' }).expect(200);
    for (const tool of ['echo_token', 'refused', 'die']) await call('alice', `git__${tool}`);
    const query = (sql: string): Promise<Json[]> => tk.db.dataSource.query(sql);
    const tables = await query(
      `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const rowsNow = async (): Promise<string[]> => {
      const all = await Promise.all(tables.map(({ name }) => query(`SELECT t::text AS row FROM ${name} t`)));
      return all.flat().map(({ row }) => row as string);
    };
    await until(async () => (await rowsNow()).some((row) => row.includes('I saw [secret')), {
      what: 'a capture',
    });
    expect(found(await rowsNow())).toEqual([]);
  });

  it('stands in no log of the server', async () => {
    const fleet = await startFleet(1, { LOG_LEVEL: 'debug' });
    const [{ http, log }] = fleet.replicas as [(typeof fleet.replicas)[0]];
    await http.post('/api/v1/custom-tools').send(settingsOf('git')).expect(201);
    const { body } = await http.get('/api/v1/accounts').expect(200);
    expect((await new SmallBrowser().signIn(body.data[0].signInUrl)).status).toBe(200);
    for (const tool of ['echo_token', 'stray', 'refused', 'die'])
      await http.post(`/api/v1/tools/git__${tool}/execute`).send({ input: {} });
    await until(() => log().includes('git__die'), { what: 'the log' });
    expect(found([log()])).toEqual([]);
    await fleet.stop();
  });
});

it.each([
  ['credentials without isolation user', { isolation: 'project' }, '/credentials'],
  ['shared credentials', { credentials: 'shared' }, '/credentials'],
  ['credentials of a single tool', { protocol: 'jsonrpc' }, '/credentials'],
  ['cached results', { cacheTtlMs: 1000, annotations: { readOnly: true } }, '/cacheTtlMs'],
  ['no variable for the token', { env: { OAUTH_ISSUER: 'https://a.example' } }, '/env'],
  ['no authorization server', { env: { GIT_TOKEN: '${OAUTH_TOKEN}' } }, '/env'],
  [
    'an authorization server that is no URL',
    { env: { GIT_TOKEN: '${OAUTH_TOKEN}', OAUTH_ISSUER: 'x' } },
    '/env',
  ],
])('refuses %s', async (_what, settings, pointer) => {
  const { body } = await register('wrong', settings).expect(400);
  expect(body.errors[0].pointer).toBe(pointer);
});
