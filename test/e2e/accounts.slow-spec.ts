import { DataSource } from 'typeorm';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { OAuthMcpServer } from '../support/oauth-mcp-server.js';
import { SmallBrowser } from '../support/small-browser.js';

// real: the whole server, an MCP server with its authorization server, HTTP; mock: the browser is one of ours

let tk: TestApp;
let upstream: OAuthMcpServer;
const key: Record<string, { authorization: string }> = {};
beforeAll(async () => {
  [tk, upstream] = await Promise.all([startApp(), OAuthMcpServer.start()]);
  for (const owner of ['alice', 'bob']) {
    const { body } = await tk.http
      .post('/api/v1/keys')
      .send({ name: owner, owner, scopes: ['tools:call'] })
      .expect(201);
    key[owner] = { authorization: `Bearer ${body.key}` };
  }
  await register('mine', { credentials: 'user' }).expect(201);
});
afterAll(async () => {
  await tk.close();
  await upstream.stop();
});

const register = (name: string, settings: object) =>
  tk.http.post('/api/v1/custom-tools').send({ name, protocol: 'mcp', url: upstream.url, ...settings });
const call = (who: string, tool: string) =>
  tk.anonymous
    .post(`/api/v1/tools/${tool}/execute`)
    .set(key[who] ?? {})
    .send({ input: {} });
const accountsOf = async (who: string): Promise<Json> =>
  (
    await tk.anonymous
      .get('/api/v1/accounts')
      .set(key[who] ?? {})
      .expect(200)
  ).body.data;
const linkOf = async (who: string): Promise<string> => (await accountsOf(who))[0].signInUrl;

async function signIn(who: string, browser = new SmallBrowser()): Promise<Response> {
  upstream.person = who;
  return browser.signIn(await linkOf(who).then(async (link) => link || (await refusedLink(who))));
}
const refusedLink = async (who: string, tool = 'mine__whoami'): Promise<string> =>
  (await call(who, tool).expect(409)).body.signInUrl;
const said = ({ body }: Json): string => body.result.content[0].text;

// The first sign-in lists the tools, on which all others stand.
it('lists the tools of a server with the first account', async () => {
  const { body: before } = await tk.http.get('/api/v1/custom-tools/mine/tools').expect(200);
  expect(before.data).toEqual([]);
  // A key of all tools sees the server before there is any tool.
  const [account] = await accountsOf('alice');
  expect(account).toMatchObject({ server: 'mine', status: null });
  upstream.person = 'alice';
  const answer = await new SmallBrowser().signIn(account.signInUrl);
  expect([answer.status, await answer.text()]).toEqual([
    200,
    expect.stringContaining('alice has an account at mine'),
  ]);
  const { body: after } = await tk.http.get('/api/v1/custom-tools/mine/tools').expect(200);
  expect(after.data.map((each: Json) => `${each.tool} ${each.state}`).sort()).toEqual([
    'admin callable',
    'echo_token callable',
    'whoami callable',
  ]);
});

it('calls as the caller, and records which credential it used', async () => {
  const refused = await call('bob', 'mine__whoami').expect(409);
  expect(refused.body).toMatchObject({
    code: 'authorization_required',
    signInUrl: expect.stringContaining('/accounts/sign-in?link='),
  });
  expect((await signIn('bob')).status).toBe(200);
  expect([said(await call('alice', 'mine__whoami')), said(await call('bob', 'mine__whoami'))]).toEqual([
    'alice',
    'bob',
  ]);
  const { body } = await call('alice', 'mine__whoami').expect(200);
  const { body: record } = await tk.http
    .get(`/api/v1/tool-metrics/executions/${body.executionId}`)
    .expect(200);
  expect(record.metadata).toMatchObject({ credential: 'user' });
});

it('takes the token out of what a server says', async () => {
  expect(said(await call('alice', 'mine__echo_token').expect(200))).toBe('I saw [access token]');
});

it('refreshes a refused token once, and asks when the account was ended there', async () => {
  const before = upstream.refreshes;
  upstream.expire();
  expect(said(await call('alice', 'mine__whoami').expect(200))).toBe('alice');
  expect(upstream.refreshes).toBe(before + 1);
  upstream.revoke();
  const link = await refusedLink('alice');
  expect((await accountsOf('alice'))[0]).toMatchObject({ status: 'needs_sign_in' });
  // Its tools stay listed.
  await tk.anonymous
    .get('/api/v1/tools/mine__whoami')
    .set(key['alice'] ?? {})
    .expect(200);
  upstream.person = 'alice';
  expect((await new SmallBrowser().signIn(link)).status).toBe(200);
  expect(said(await call('alice', 'mine__whoami').expect(200))).toBe('alice');
  await signIn('bob');
});

it('asks for a scope that a tool needs, and not again once it is granted', async () => {
  const link = await refusedLink('alice', 'mine__admin');
  upstream.person = 'alice';
  expect((await new SmallBrowser().signIn(link)).status).toBe(200);
  expect(said(await call('alice', 'mine__admin').expect(200))).toBe('alice');
  expect((await accountsOf('alice'))[0].scope).toBe('read admin');
});

describe('a client of MCP', () => {
  const mcp = (body: object, headers: object = {}) =>
    tk.anonymous
      .post('/mcp')
      .set({ ...key['bob'], accept: 'application/json, text/event-stream', ...headers })
      .send({ jsonrpc: '2.0', id: 1, ...body });
  const legacy = (capabilities: object) =>
    mcp({
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'x', version: '1' } },
    });
  beforeAll(() =>
    tk.anonymous
      .delete('/api/v1/accounts/mine')
      .set(key['bob'] ?? {})
      .expect(204),
  );
  afterAll(() => signIn('bob'));

  it.each([
    ['of 2025-11-25 that opens URLs gets -32042', { elicitation: { url: {} } }, -32042],
    ['of 2025-11-25 without elicitation gets a result', {}, undefined],
  ])('%s', async (_what, capabilities, code) => {
    const { headers } = await legacy(capabilities).expect(200);
    const session = { 'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': '2025-11-25' };
    const answer = await mcp(
      { method: 'tools/call', params: { name: 'mine__whoami', arguments: {} } },
      session,
    );
    const { error, result } = JSON.parse(/\{.*\}/s.exec(answer.text)?.[0] ?? '{}');
    expect(error?.code).toBe(code);
    if (code === undefined) expect(result).toMatchObject({ isError: true });
    else
      expect(error.data.elicitations[0]).toMatchObject({
        mode: 'url',
        url: expect.stringContaining('/accounts/sign-in?link='),
      });
  });

  it.each([
    ['is asked', { elicitation: { url: {} } }, undefined, 'input_required'],
    ['that declines gets the refusal', { elicitation: { url: {} } }, { action: 'decline' }, 'complete'],
    ['without URL mode gets the refusal', { elicitation: {} }, undefined, 'complete'],
  ])('of 2026-07-28 %s', async (_what, capabilities, given, resultType) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const params = {
      name: 'mine__whoami',
      arguments: {},
      ...(given && { inputResponses: { sign_in: given } }),
      _meta,
    };
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'mine__whoami',
    };
    const answer = await mcp({ method: 'tools/call', params }, headers);
    const { result } = JSON.parse(/\{.*\}/s.exec(answer.text)?.[0] ?? '{}');
    expect(result.resultType).toBe(resultType);
    if (given === undefined && resultType === 'input_required')
      expect(result.inputRequests.sign_in.params).toMatchObject({ mode: 'url', url: expect.any(String) });
    else expect(result.isError).toBe(true);
  });
});

describe('a sign-in that another one tries to take', () => {
  const hostile: [string, (link: string) => Promise<Response>, number][] = [
    [
      'a link that was used',
      async (link) => (await new SmallBrowser().signIn(link), new SmallBrowser().open(link)),
      404,
    ],
    ['an altered link', (link) => new SmallBrowser().open(`${link.slice(0, -3)}AAA`), 404],
    [
      'a page of another site that goes on',
      async (link) => {
        const browser = new SmallBrowser();
        await browser.open(link);
        return browser.open(link.replace('?', '/go?state=known&'), 'none');
      },
      403,
    ],
    [
      'a redirect in another browser',
      async (link) => new SmallBrowser().open(await new SmallBrowser().consent(link)),
      403,
    ],
    [
      'a redirect with another state',
      async (link) => {
        const browser = new SmallBrowser();
        const back = new URL(await browser.consent(link));
        back.searchParams.set('state', 'of-somebody-else');
        return browser.open(back.href);
      },
      403,
    ],
    [
      'a redirect with an invented code',
      async (link) => {
        const browser = new SmallBrowser();
        const back = new URL(await browser.consent(link));
        back.searchParams.set('code', 'stolen');
        return browser.open(back.href);
      },
      409,
    ],
    [
      'a redirect of another issuer',
      async (link) => {
        upstream.wrongIss = 'https://evil.example';
        return new SmallBrowser().signIn(link).finally(() => (upstream.wrongIss = undefined));
      },
      409,
    ],
    [
      'an authorization server without PKCE',
      async (link) => {
        upstream.metadata = { code_challenge_methods_supported: undefined };
        return new SmallBrowser().go(link).finally(() => (upstream.metadata = {}));
      },
      409,
    ],
    ...['http://10.1.2.3/register', 'http://127.0.0.1:9/register'].map(
      (registration_endpoint): (typeof hostile)[number] => [
        `an authorization server that leads to ${registration_endpoint}`,
        async (link) => {
          upstream.metadata = { registration_endpoint };
          const answer = await new SmallBrowser().go(link).finally(() => (upstream.metadata = {}));
          expect(await answer.clone().text()).toMatch(/(private|loopback) address/);
          return answer;
        },
        409,
      ],
    ),
  ];
  it.each(hostile)('%s is refused', async (_what, attempt, status) => {
    upstream.person = 'alice';
    expect((await attempt(await linkOf('alice'))).status).toBe(status);
    expect(said(await call('bob', 'mine__whoami').expect(200))).toBe('bob');
  });

  it('a redirect to a server whose address has changed is refused', async () => {
    const browser = new SmallBrowser();
    const back = await browser.consent(await linkOf('alice'));
    const move = (url: string) => tk.http.patch('/api/v1/custom-tools/mine').send({ url }).expect(200);
    await move(`${upstream.url}?moved`);
    const { length } = upstream.seen;
    expect((await browser.open(back)).status).toBe(409);
    expect(upstream.seen.slice(length)).toEqual([]);
    await move(upstream.url);
  });

  it('refuses a browser in which another caller is signed in', async () => {
    const session = await tk.http.post('/api/v1/session').send({ key: tk.key.authorization.slice(7) });
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? '';
    const answer = await fetch(await linkOf('alice'), { headers: { cookie } });
    expect(answer.status).toBe(403);
  });
});

it('ends an account', async () => {
  await tk.anonymous
    .delete('/api/v1/accounts/mine')
    .set(key['alice'] ?? {})
    .expect(204);
  await tk.anonymous
    .delete('/api/v1/accounts/mine')
    .set(key['alice'] ?? {})
    .expect(404);
  await call('alice', 'mine__whoami').expect(409);
  expect(said(await call('bob', 'mine__whoami').expect(200))).toBe('bob');
});

it('sends no token to another address', async () => {
  const elsewhere = await OAuthMcpServer.start();
  // Its token is in memory now.
  await call('bob', 'mine__whoami').expect(200);
  await tk.http.patch('/api/v1/custom-tools/mine').send({ url: elsewhere.url }).expect(200);
  await call('bob', 'mine__whoami').expect(409);
  expect(elsewhere.seen).toEqual([]);
  await tk.http.patch('/api/v1/custom-tools/mine').send({ url: upstream.url }).expect(200);
  await elsewhere.stop();
});

const client = () => ({
  OAUTH_CLIENT_ID: 'gateway',
  OAUTH_CLIENT_SECRET: 'a secret of the gateway',
  OAUTH_ISSUER: new URL(upstream.url).origin,
});

it('signs callers in with the client that the registration names, and refreshes with it', async () => {
  const { length } = upstream.seen;
  await register('known', { credentials: 'user', env: client() }).expect(201);
  upstream.person = 'alice';
  const [account] = (await accountsOf('alice')).filter(({ server }: Json) => server === 'known');
  expect((await new SmallBrowser().signIn(account.signInUrl)).status).toBe(200);
  upstream.expire();
  expect(said(await call('alice', 'known__whoami').expect(200))).toBe('alice');
  expect(upstream.seen.slice(length).filter((each) => each.includes('/register'))).toEqual([]);
});

it('sends the secret of its client to the issuer of the registration alone', async () => {
  const { length } = upstream.seen;
  const env = { ...client(), OAUTH_ISSUER: 'https://issuer.example' };
  await register('elsewhere', { credentials: 'shared', env }).expect(400);
  const seen = upstream.seen.slice(length);
  expect(seen).toContainEqual(expect.stringContaining('/.well-known/'));
  expect(seen.filter((each) => each.includes('/token'))).toEqual([]);
});

it('uses client credentials of its own for all callers', async () => {
  await register('ours', { credentials: 'shared', env: client() }).expect(201);
  expect(said(await call('alice', 'ours__whoami').expect(200))).toBe('the gateway');
  upstream.expire();
  expect(said(await call('bob', 'ours__whoami').expect(200))).toBe('the gateway');
});

it('keeps tokens and links out of all rows', async () => {
  const query = (sql: string): Promise<Json[]> => tk.db.dataSource.query(sql);
  const tables = await query(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const all = await Promise.all(tables.map(({ name }) => query(`SELECT t::text AS row FROM ${name} t`)));
  const rows = all.flat().map(({ row }) => row as string);
  expect(rows).toContainEqual(expect.stringContaining('mine__whoami'));
  expect(rows.filter((row) => /sign-in\?link/.test(row))).toEqual([]);
  expect(upstream.issued.length).toBeGreaterThan(10);
  expect(rows.filter((row) => upstream.issued.some((token) => row.includes(token)))).toEqual([]);
});

it.each([
  ['user without url', { credentials: 'user', url: undefined, command: 'node' }, '/credentials'],
  ['shared without a client', { credentials: 'shared' }, '/env'],
  ...['shared', 'user'].map((credentials): [string, object, string] => [
    `${credentials} with a secret for any issuer`,
    { credentials, env: { OAUTH_CLIENT_ID: 'gateway', OAUTH_CLIENT_SECRET: 'secret' } },
    '/env',
  ]),
  [
    'user with cached results',
    { credentials: 'user', cacheTtlMs: 1000, annotations: { readOnly: true } },
    '/cacheTtlMs',
  ],
  [
    'user with a header',
    { credentials: 'user', headers: { Authorization: '${T}' }, env: { T: 'x' } },
    '/headers/Authorization',
  ],
])('refuses %s', async (_what, settings, pointer) => {
  const { body } = await register('wrong', settings).expect(400);
  expect(body.errors[0].pointer).toBe(pointer);
});

it('offers a second sign-in to an account whose scopes do not list the tools', async () => {
  upstream.listScope = 'list';
  await register('scoped', { credentials: 'user' }).expect(201);
  upstream.person = 'alice';
  const [account] = (await accountsOf('alice')).filter(({ server }: Json) => server === 'scoped');
  const first = await (await new SmallBrowser().signIn(account.signInUrl)).text();
  expect(first).toContain('Its tools could not be listed');
  expect(first).toContain('with read list.');
  const [, again = ''] = /href="([^"]*)"/.exec(first) ?? [];
  const second = await (await new SmallBrowser().signIn(again.replaceAll('&#38;', '&'))).text();
  expect(second).not.toContain('href');
  expect(said(await call('alice', 'scoped__whoami').expect(200))).toBe('alice');
  upstream.listScope = undefined;
});

it.each(['shared', 'user'])(
  'finds the metadata of a %s server where its challenge says',
  async (credentials) => {
    upstream.metadataPath = `/of-its-own/${credentials}`;
    const name = `moved-${credentials}`;
    await register(name, { credentials, env: client() }).expect(201);
    if (credentials === 'user') {
      const [account] = (await accountsOf('alice')).filter(({ server }: Json) => server === name);
      expect((await new SmallBrowser().signIn(account.signInUrl)).status).toBe(200);
    }
    expect(said(await call('alice', `${name}__whoami`).expect(200))).toBe(
      credentials === 'user' ? 'alice' : 'the gateway',
    );
  },
);

it('deletes the accounts of a key that is revoked', async () => {
  await signIn('bob');
  const id = /^Bearer tk_([0-9a-f]+)_/.exec(key['bob']?.authorization ?? '')?.[1];
  const stored = () => tk.app.get(DataSource).query('SELECT user_id FROM accounts WHERE user_id = $1', [id]);
  expect((await stored()).length).toBeGreaterThan(0);
  await tk.http.delete(`/api/v1/keys/${id}`).expect(204);
  expect(await stored()).toEqual([]);
});
