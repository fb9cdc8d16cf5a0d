import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { Accounts } from '../../src/runtime/custom-tools/accounts/accounts.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, PostgreSQL, an issuer with real signatures; mock: nothing

const operator = 'operator-of-the-sign-in-tests';
let server: Server;
let issuer: string;
let sign: (claims: JWTPayload, typ?: string) => Promise<string>;
let tk: TestApp;
/** The claims of ID tokens by their codes. This careless issuer takes a code twice. */
const codes = new Map<string, JWTPayload>();
/** The claims of people as they are now, by their refresh tokens, which are taken once. */
const refreshes = new Map<string, JWTPayload>();
/** Refresh tokens that were shown, in order. */
const shown: string[] = [];
let isAway = false;
/** Runs while a code is exchanged, after its ID token was made. */
let meanwhile: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  const token = async (claims: JWTPayload = {}): Promise<object> => {
    const answer = { access_token: 'x', token_type: 'Bearer', id_token: await sign(claims), expires_in: 60 };
    await meanwhile?.();
    if (claims['refresh'] !== true) return answer;
    const refresh = randomUUID();
    refreshes.set(refresh, claims);
    return { ...answer, refresh_token: refresh };
  };
  const refreshed = (refresh: string): Promise<object> | undefined => {
    const claims = refreshes.get(refresh);
    shown.push(refresh);
    refreshes.delete(refresh);
    return claims && token(claims);
  };
  const issuerAnswer = async (request: IncomingMessage): Promise<object | undefined> => {
    if (request.url === '/jwks') return { keys: [jwk] };
    const form = new URLSearchParams(await text(request));
    const refresh = form.get('refresh_token');
    if (request.url === '/token')
      return refresh === null ? token(codes.get(form.get('code') ?? '')) : refreshed(refresh);
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    return { issuer, jwks_uri: `${issuer}/jwks`, ...endpoints };
  };
  server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    void issuerAnswer(request).then((body) => {
      if (isAway) response.statusCode = 503;
      else if (!body) response.statusCode = 400;
      response.end(JSON.stringify(body ?? { error: 'invalid_grant' }));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sign = (claims, typ = 'JWT') => {
    const now = Math.floor(Date.now() / 1_000);
    const all = { iss: issuer, aud: 'console', sub: 'alice', iat: now, exp: now + 600, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: 'k', typ }).sign(privateKey);
  };
  const rules = [{ claim: 'groups', value: 'ops', role: 'viewer' }];
  const entry = { issuer, audiences: ['tools'], rules, console: { clientId: 'console', clientSecret: 's' } };
  const away = { ...entry, issuer: 'http://127.0.0.1:1' };
  tk = await startApp({
    // Nobody reads without a session.
    ADMIN_API_KEY: operator,
    OIDC_ISSUERS: JSON.stringify([entry, away]),
    PUBLIC_URL: 'https://tools.example',
  });
});
beforeEach(() => {
  meanwhile = undefined;
  isAway = false;
  refreshes.clear();
  shown.length = 0;
});
afterAll(async () => {
  await tk.close();
  server.closeAllConnections();
  server.close();
});

interface Begun {
  readonly cookie: string;
  readonly state: string;
  readonly nonce: string;
}
const cookieOf = (set: unknown, name: string): string =>
  new RegExp(`${name}=[^;,]+`).exec(String(set))?.[0] ?? '';

async function begin(to?: string): Promise<Begun> {
  const { body, headers } = await tk.anonymous
    .post('/api/v1/session/providers')
    .send({ issuer, to })
    .expect(200);
  const query = new URL(body.url).searchParams;
  const cookie = cookieOf(headers['set-cookie'], 'toolkeeper_sign_in');
  return { cookie, state: query.get('state') ?? '', nonce: query.get('nonce') ?? '' };
}
/** What the issuer sends the browser back with. */
function answerTo(
  { state, nonce }: Begun,
  claims: JWTPayload = {},
  more: Record<string, string> = {},
): string {
  const code = randomUUID();
  codes.set(code, { nonce, groups: ['ops'], ...claims });
  return new URLSearchParams({ code, state, ...more }).toString();
}
const finish = (answer: string, cookie: string) =>
  tk.anonymous.post('/api/v1/session').set({ cookie }).send({ answer });
async function signIn(claims: JWTPayload = {}, carried = '') {
  const begun = await begin();
  const { headers } = await finish(answerTo(begun, claims), `${begun.cookie}; ${carried}`).expect(201);
  return cookieOf(headers['set-cookie'], 'toolkeeper_session');
}
const statusOf = async (cookie: string): Promise<number> =>
  (await tk.anonymous.get('/api/v1/session').set({ cookie })).status;

it('a person signs in, and the cookie of the sign-in is taken out', async () => {
  const begun = await begin('/console/tools?x=1');
  const { body, headers } = await finish(answerTo(begun), begun.cookie).expect(201);
  expect(body).toMatchObject({ userId: expect.stringMatching(/^alice@/), to: '/console/tools?x=1' });
  expect(headers['set-cookie']).toEqual([
    expect.stringMatching(/^toolkeeper_sign_in=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/),
    expect.stringMatching(/^toolkeeper_session=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/),
  ]);
  expect(await statusOf(cookieOf(headers['set-cookie'], 'toolkeeper_session'))).toBe(200);
});

it.each<
  [
    what: string,
    status: number,
    attempt: (begun: Begun) => [answer: string, cookie?: string] | Promise<[string, string]>,
  ]
>([
  ['another state', 401, (begun) => [answerTo({ ...begun, state: 'other' })]],
  ['another nonce', 401, (begun) => [answerTo(begun, { nonce: 'other' })]],
  ['no nonce', 401, (begun) => [answerTo({ ...begun, nonce: '' }, { nonce: undefined })]],
  ['an ID token for another client', 401, (begun) => [answerTo(begun, { aud: 'other' })]],
  ['an ID token of another issuer', 401, (begun) => [answerTo(begun, { iss: 'https://evil.example' })]],
  ['an ID token that has expired', 401, (begun) => [answerTo(begun, { exp: 1 })]],
  ['iss of another issuer', 401, (begun) => [answerTo(begun, {}, { iss: 'https://evil.example' })]],
  [
    'an error of the provider',
    401,
    ({ state }) => [new URLSearchParams({ error: 'access_denied', state }).toString()],
  ],
  ['no cookie', 401, (begun) => [answerTo(begun), '']],
  ['a forged cookie', 401, (begun) => [answerTo(begun), 'toolkeeper_sign_in=e30']],
  ['the cookie of another browser', 401, async (begun) => [answerTo(begun), (await begin()).cookie]],
  ['no rights', 403, (begun) => [answerTo(begun, { groups: ['others'] })]],
])('an answer with %s opens nothing', async (_what, status, attempt) => {
  const begun = await begin();
  const [answer, cookie = begun.cookie] = await attempt(begun);
  const { headers } = await finish(answer, cookie).expect(status);
  expect(headers['set-cookie']).toBeUndefined();
});

it('a sign-in is taken once, even of a provider that takes its code twice', async () => {
  const begun = await begin();
  const answer = answerTo(begun);
  await finish(answer, begun.cookie).expect(201);
  await finish(answer, begun.cookie).expect(401, /completed before/);
  await finish(answerTo(begun), begun.cookie).expect(401, /completed before/);
});

it.each([
  'https://evil.example/console/',
  '//evil.example/console/',
  String.raw`\\evil.example/console/`,
  'javascript:alert(1)',
  '/console/../api/v1/keys',
  '/elsewhere',
  'https://tools.example@evil.example/console/',
])('a sign-in does not lead to %s', async (to) => {
  const begun = await begin(to);
  const { body } = await finish(answerTo(begun), begun.cookie).expect(201);
  expect(body.to).toBeUndefined();
});

it('a sign-in gives a new session, and ends the one that the browser had', async () => {
  const before = await signIn();
  const after = await signIn({}, before);
  expect(after).not.toBe(before);
  expect([await statusOf(before), await statusOf(after)]).toEqual([401, 200]);
  const planted = 'toolkeeper_session=planted';
  expect(await signIn({}, planted)).not.toBe(planted);
  expect(await statusOf(planted)).toBe(401);
});

it.each<[path: string, body: object]>([
  ['/api/v1/session', { answer: 'code=x&state=y' }],
  ['/api/v1/session/providers', { issuer: 'x' }],
])('another site posts nothing to %s', async (path, body) => {
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    await tk.anonymous.post(path).set(headers).send(body).expect(403);
  // The types that a form of another site can send.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    expect((await tk.anonymous.post(path).type(type).send(JSON.stringify(body))).status).toBe(415);
});

it('a provider that is away is named, and a sign-in with a key goes on', async () => {
  const { body } = await tk.anonymous
    .post('/api/v1/session/providers')
    .send({ issuer: 'http://127.0.0.1:1' })
    .expect(503);
  expect(body).toMatchObject({ code: 'tool_unavailable', detail: expect.stringContaining('127.0.0.1:1') });
  await tk.anonymous.post('/api/v1/session').send({ key: operator }).expect(201);
});

const event = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const logOut = async (claims: JWTPayload, typ?: string) =>
  tk.anonymous
    .post('/api/v1/session/providers/logout')
    .type('form')
    .send({ logout_token: await sign({ jti: randomUUID(), events: event, ...claims }, typ) });

describe('a logout token', () => {
  it('ends the sessions that it names, and is taken once', async () => {
    const [mine, other] = [await signIn({ sid: 'one' }), await signIn({ sid: 'two' })];
    const token = { sid: 'one', jti: 'once' };
    expect((await logOut(token, 'logout+jwt')).status).toBe(200);
    expect([await statusOf(mine), await statusOf(other)]).toEqual([401, 200]);
    expect((await logOut(token)).status).toBe(400);
    expect((await logOut({ sub: 'alice' })).status).toBe(200);
    expect(await statusOf(other)).toBe(401);
  });

  it.each<[what: string, claims: JWTPayload, typ?: string]>([
    ['with a nonce', { nonce: 'n' }],
    ['without an event', { events: undefined }],
    ['with another event', { events: { other: {} } }],
    ['for another client', { aud: 'other' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['that has expired', { exp: 1 }],
    ['that is old', { iat: 1 }],
    ['without an id', { jti: undefined }],
    ['that names nobody', { sub: undefined }],
    ['that is an access token', {}, 'at+jwt'],
  ])('%s ends nothing', async (_what, claims, typ = 'JWT') => {
    const session = await signIn({ sub: 'bob' });
    expect((await logOut({ sub: 'bob', ...claims }, typ)).status).toBe(400);
    expect(await statusOf(session)).toBe(200);
  });

  it.each([{ sid: 'racing' }, { sub: 'carol' }])(
    'with %j that comes during a sign-in ends it',
    async (named) => {
      meanwhile = () => logOut({ sub: undefined, ...named });
      const begun = await begin();
      const answer = answerTo(begun, { sub: 'carol', sid: 'racing' });
      await finish(answer, begun.cookie).expect(401, /signed you out/);
    },
  );
});

it('the audit names who signed in, signed out and was logged out by the provider, without a token', async () => {
  const person = { sub: 'kim', name: 'Kim Example' };
  const cookie = await signIn(person);
  await tk.anonymous.delete('/api/v1/session').set({ cookie }).expect(204);
  await signIn(person);
  expect((await logOut({ sub: 'kim' })).status).toBe(200);
  const { body } = await tk.http
    .get('/api/v1/audit')
    .query({ keyId: `${issuer}#kim` })
    .expect(200);
  const by = { keyName: 'Kim Example', userId: expect.stringMatching(/^kim@/), target: 'session' };
  expect(body.data).toEqual(
    ['endProviderSessions', 'signIn', 'signOut', 'signIn'].map((action) =>
      expect.objectContaining({ ...by, action, address: '127.0.0.1' }),
    ),
  );
  expect(JSON.stringify(body)).not.toContain('eyJ');
});

describe('a session whose claims are old', () => {
  const age = () =>
    tk.db.dataSource.query("UPDATE console_sessions SET renew_at = now() - interval '1 second'");
  /** The status of the first answer after the provider was asked. */
  const renewed = async (cookie: string): Promise<number> => {
    const before = shown.length;
    await age();
    return until(
      async () => {
        const status = await statusOf(cookie);
        return shown.length > before ? status : undefined;
      },
      { what: 'the renewal' },
    );
  };
  const change = (claims: JWTPayload): void => {
    for (const [refresh, before] of refreshes) refreshes.set(refresh, { ...before, ...claims });
  };
  const acts = async (keyId: string, action: string): Promise<object[]> =>
    (await tk.http.get('/api/v1/audit').query({ keyId, action }).expect(200)).body.data;

  it('takes those of now, and is not renewed before they are old', async () => {
    const cookie = await signIn({ sub: 'dora', refresh: true });
    for (const _ of [1, 2, 3]) expect(await statusOf(cookie)).toBe(200);
    expect(shown).toEqual([]);
    expect(await renewed(cookie)).toBe(200);
    for (const _ of [1, 2, 3]) expect(await statusOf(cookie)).toBe(200);
    expect(await renewed(cookie)).toBe(200);
    // The second one was the answer to the first.
    expect(new Set(shown).size).toBe(2);
  });

  it('opens nothing after the role was taken away, and opens again when it is given back', async () => {
    const cookie = await signIn({ sub: 'emil', refresh: true });
    change({ groups: [] });
    expect(await statusOf(cookie)).toBe(200);
    expect(await renewed(cookie)).toBe(403);
    const { body } = await tk.anonymous.get('/api/v1/tool-metrics').set({ cookie }).expect(403);
    expect(body.detail).toContain('No access rule matches');
    change({ groups: ['ops'] });
    expect(await renewed(cookie)).toBe(200);
  });

  it('ends if the provider has ended its own, which the audit tells', async () => {
    const cookie = await signIn({ sub: 'fred', name: 'Fred Example', refresh: true });
    refreshes.clear();
    expect(await renewed(cookie)).toBe(401);
    expect(await acts(`${issuer}#fred`, 'endProviderSessions')).toEqual([
      expect.objectContaining({
        keyName: 'Fred Example',
        target: 'session',
        reason: 'The provider has ended the sign-in: it refused the refresh token',
      }),
    ]);
  });

  it('ends if the provider tells of another person', async () => {
    const cookie = await signIn({ sub: 'gina', refresh: true });
    change({ sub: 'mallory' });
    expect(await renewed(cookie)).toBe(401);
  });

  it('goes on as it is while the provider is away, which is not asked at each request', async () => {
    const cookie = await signIn({ sub: 'hans', refresh: true });
    const before = new Map(refreshes);
    isAway = true;
    expect(await renewed(cookie)).toBe(200);
    for (const _ of [1, 2, 3]) expect(await statusOf(cookie)).toBe(200);
    expect(shown).toHaveLength(1);
    isAway = false;
    for (const [refresh, claims] of before) refreshes.set(refresh, { ...claims, groups: [] });
    expect(await renewed(cookie)).toBe(403);
  });

  it('asks once for many requests', async () => {
    const cookie = await signIn({ sub: 'ines', refresh: true });
    await renewed(cookie);
    const asked = shown.length;
    await age();
    const all = until(async () => shown.length > asked, { what: 'the renewal' });
    const statuses = await Promise.all(Array.from({ length: 200 }, async () => statusOf(cookie)));
    await Promise.all([statusOf(cookie), all]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(shown).toHaveLength(asked + 1);
  });

  it('without a refresh token keeps the claims of the sign-in', async () => {
    const cookie = await signIn({ sub: 'jan' });
    const rows = await tk.db.dataSource.query("SELECT renew_at FROM console_sessions WHERE subject = 'jan'");
    expect(rows).toEqual([{ renew_at: null }]);
    expect(await statusOf(cookie)).toBe(200);
  });
});

describe('a link by which a person signs in to an MCP server', () => {
  let link: string;
  beforeAll(async () => {
    const settings = { protocol: 'mcp', url: 'http://127.0.0.1:1/mcp', credentials: 'user' };
    await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'tickets', ...settings })
      .expect(201);
    const [row] = await tk.app.get(DataSource).query(`SELECT id FROM custom_tools WHERE name = 'tickets'`);
    // The provider has signed alice out, perhaps within this second.
    const of = { server: row.id, user: `${issuer}#kate`, userName: 'kate' };
    link = tk.app.get(Accounts, { strict: false }).linkFor(of).replace('https://tools.example', '');
  });
  const open = (path: string, cookie = '') => tk.anonymous.get(path).set({ cookie });

  it('leads to the console and back if this browser has no session', async () => {
    const { headers } = await open(link).expect(302);
    const to = new URL(headers['location'] ?? '');
    expect(to.origin + to.pathname).toBe('https://tools.example/console/settings/accounts');
    expect(`/accounts/sign-in?link=${to.searchParams.get('link')}`).toBe(link);
    await open(link.replace('?', '/go?state=x&')).expect(403);
  });

  it('is for this person alone', async () => {
    await open(link, await signIn({ sub: 'bob' })).expect(403);
    const { text: page } = await open(link, await signIn({ sub: 'kate' })).expect(200);
    expect(page).toContain('Go on only if you are kate');
  });
});
