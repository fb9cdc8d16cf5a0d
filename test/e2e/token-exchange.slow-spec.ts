import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { OAuthMcpServer } from '../support/oauth-mcp-server.js';
import { startIssuer, type TestIssuer } from '../support/oidc-issuer.js';
import { DataSource } from 'typeorm';
import { until } from '../support/wait.js';

// real: the whole server, its database, an issuer with real signatures, an MCP server with its authorization server; mock: nothing

let tk: TestApp;
let issuer: TestIssuer;
let upstream: OAuthMcpServer;

beforeAll(async () => {
  upstream = await OAuthMcpServer.start();
  issuer = await startIssuer({}, () => `${new URL(upstream.url).origin}/token`);
  const rules = [{ claim: 'client_id', value: '*', role: 'admin' }];
  const entry = { issuer: issuer.issuer, audiences: ['toolkeeper'], rules };
  tk = await startApp({ OIDC_ISSUERS: JSON.stringify([entry]) });
});
afterAll(async () => {
  await tk.close();
  await Promise.all([upstream.stop(), issuer.close()]);
});

const env = () => ({
  OAUTH_CLIENT_ID: 'gateway',
  OAUTH_CLIENT_SECRET: 'its-secret',
  OAUTH_ISSUER: new URL(upstream.url).origin,
  OAUTH_EXCHANGE_URL: `${issuer.issuer}/token`,
});
const register = (name: string, settings: object, token?: string) => {
  const http = token === undefined ? tk.http : tk.anonymous;
  const body = { name, protocol: 'mcp', url: upstream.url, credentials: 'user', env: env(), ...settings };
  return http
    .post('/api/v1/custom-tools')
    .set(token === undefined ? {} : bearer(token))
    .send(body);
};
const tokenOf = (sub: string, more: object = {}): Promise<string> =>
  issuer.token({ claims: { sub, ...more } });
const call = (token: string, tool: string, headers: object = {}) =>
  tk.anonymous
    .post(`/api/v1/tools/${tool}/execute`)
    .set({ ...bearer(token), ...headers })
    .send({ input: {} });
const said = ({ body }: Json): string => body.result?.content[0].text ?? JSON.stringify(body);

it.each([
  [
    'without a client',
    { env: { OAUTH_EXCHANGE_URL: 'https://a.example/token' } },
    'must hold OAUTH_CLIENT_ID',
  ],
  ['for all callers', { credentials: 'shared' }, 'only with url and credentials "user"'],
  [
    'for a program',
    { url: undefined, command: 'node', args: [], isolation: 'user' },
    'only with url and credentials "user"',
  ],
])('is refused %s', async (_what, settings, detail) => {
  const { body } = await register('mine', settings).expect(400);
  expect(body.detail).toContain(detail);
});

it('lists the tools of a server for the caller who registers it', async () => {
  const { body } = await register('mine', {}, await tokenOf('alice')).expect(201);
  expect(body.warnings).toBeUndefined();
  const { body: listed } = await tk.http.get('/api/v1/custom-tools/mine/tools').expect(200);
  expect(listed.data.map((each: Json) => `${each.tool} ${each.state}`).sort()).toEqual([
    'admin callable',
    'echo_token callable',
    'whoami callable',
  ]);
});

it('calls as the person of the token, exchanged once, and says so', async () => {
  const [alice, bob] = await Promise.all([tokenOf('alice', { jti: '1' }), tokenOf('bob')]);
  const before = upstream.exchanged.length;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call([alice, bob][n % 2]!, 'mine__whoami')),
  );
  expect(answers.map(said)).toEqual(Array.from({ length: 20 }, (_, n) => ['alice', 'bob'][n % 2]));
  const asked = upstream.exchanged.slice(before);
  expect(asked.map(({ subject_token: subject }) => subject).sort()).toEqual([alice, bob].sort());
  expect(asked[0]).toMatchObject({ resource: upstream.url, client: 'gateway:its-secret' });
  const { executionId } = (await call(alice, 'mine__whoami').expect(200)).body;
  const { body } = await tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`).expect(200);
  expect(body.metadata).toMatchObject({ credential: 'exchange' });
  expect(upstream.exchanged).toHaveLength(before + 2);
});

it('exchanges again when the server refuses the token', async () => {
  const alice = await tokenOf('alice', { jti: '2' });
  expect(said(await call(alice, 'mine__whoami'))).toBe('alice');
  const before = upstream.exchanged.length;
  upstream.expire();
  expect(said(await call(alice, 'mine__whoami'))).toBe('alice');
  expect(upstream.exchanged).toHaveLength(before + 1);
});

it('asks for the audience that the registration names', async () => {
  const names = { env: { ...env(), OAUTH_AUDIENCE: 'tickets', OAUTH_SCOPE: 'read admin' } };
  const token = await tokenOf('alice', { jti: '3' });
  await register('named', names, token).expect(201);
  expect(said(await call(token, 'named__admin').expect(200))).toBe('alice');
  expect(upstream.exchanged.at(-1)).toMatchObject({ audience: 'tickets', scope: 'read admin' });
  expect(upstream.exchanged.at(-1)).not.toHaveProperty('resource');
});

describe('a call that gets no token', () => {
  it.each([
    ['is refused with what the authorization server says', 'invalid_target', 'invalid_target: no'],
    ['never sends the own token of its caller', 'same', 'the same token was returned'],
  ])('%s', async (_what, mode, detail) => {
    upstream.exchangeMode = mode;
    const token = await tokenOf('carol', { jti: mode });
    const { body } = await call(token, 'mine__whoami').expect(409);
    expect(body).toMatchObject({ code: 'authorization_required', detail: expect.stringContaining(detail) });
    expect(body).not.toHaveProperty('signInUrl');
    expect(upstream.seen.join('\n')).not.toContain(token);
    upstream.exchangeMode = undefined;
    expect(said(await call(token, 'mine__whoami').expect(200))).toBe('carol');
  });

  it('that would send its token elsewhere than to its issuer is refused', async () => {
    const before = upstream.exchanged.length;
    const OAUTH_EXCHANGE_URL = `${new URL(upstream.url).origin}/token`;
    const { body } = await register(
      'thief',
      { env: { ...env(), OAUTH_EXCHANGE_URL } },
      await tokenOf('alice', { jti: '5' }),
    ).expect(201);
    expect(String(body.warnings)).toContain(`Access tokens of ${issuer.issuer} are exchanged at no other`);
    expect(upstream.exchanged).toHaveLength(before);
  });

  it('is refused while the authorization server fails, and not for good', async () => {
    upstream.exchangeMode = 'server_error';
    const token = await tokenOf('carol', { jti: 'error' });
    const { body } = await call(token, 'mine__whoami').expect(503);
    expect(body).toMatchObject({
      code: 'tool_unavailable',
      detail: 'mine: The access token of this call was not exchanged: no [access token]',
    });
    upstream.exchangeMode = undefined;
    expect(said(await call(token, 'mine__whoami').expect(200))).toBe('carol');
  });

  it('with a key is asked to sign in', async () => {
    const { body } = await tk.http.post('/api/v1/tools/mine__whoami/execute').send({ input: {} }).expect(409);
    expect(body).toMatchObject({
      code: 'authorization_required',
      detail: expect.stringContaining('call it with one, or open'),
      signInUrl: expect.stringContaining('/accounts/sign-in?link='),
    });
  });

  it('that runs later is refused: its token is not stored', async () => {
    const token = await tokenOf('alice', { jti: '4' });
    const { body: queued } = await call(token, 'mine__whoami', { prefer: 'respond-async' }).expect(202);
    const ended = await until(
      async () => {
        const { body } = await tk.anonymous.get(`/api/v1/executions/${queued.id}`).set(bearer(token));
        return body.endedAt ? body : undefined;
      },
      { what: 'the end of the call' },
    );
    expect(JSON.stringify(ended)).toContain('asynchronous calls do not store theirs');
  });
});

it('an agent of a person does not use what another agent of the same person was given', async () => {
  const before = upstream.exchanged.length;
  const tokens = [await tokenOf('dave', { client_id: 'a' }), await tokenOf('dave', { client_id: 'b' })];
  for (const token of tokens)
    expect(said(await call(token, 'mine__echo_token'))).toBe('I saw [access token]');
  expect(upstream.exchanged.slice(before).map(({ subject_token: subject }) => subject)).toEqual(tokens);
});

it('keeps tokens out of all tables', async () => {
  const database = tk.app.get(DataSource);
  const tables: { name: string }[] = await database.query(
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => database.query(`SELECT t::text AS row FROM ${name} t`)),
  );
  const stored = JSON.stringify(rows);
  const tokens = [
    ...upstream.exchanged.map(({ subject_token: subject = '' }) => subject),
    ...upstream.issued,
  ];
  expect(stored.includes('mine__whoami')).toBe(true);
  expect(tokens.length).toBeGreaterThan(10);
  expect(tokens.filter((token) => stored.includes(token))).toEqual([]);
  expect(
    upstream.seen.filter((request) => tokens.some((token) => token.includes('.') && request.includes(token))),
  ).toEqual([]);
});
