import { randomUUID } from 'node:crypto';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { startIssuer, type TestIssuer, type TokenParts } from '../support/oidc-issuer.js';
import { sendBytes, statusesIn } from '../support/raw-http.js';

// real: the whole server, HTTP, PostgreSQL, issuers with real signatures that answer what an attacker would; mock: nothing

const metadataPath = '/.well-known/openid-configuration';
const megabytes = (count: number): string => 'x'.repeat(count * 1_000_000);
const agents = { claim: 'groups', value: 'agents', role: 'agent' };
const deepPath = Array.from({ length: 120 }, () => 'a').join('.');
const introspection = { clientId: 'toolkeeper', clientSecret: 'secret' };

/** A server that no token may make this one ask. */
let victim: TestIssuer;
/** Paths that were asked for there; others may look for a server that had its port before. */
const ledAstray = (): string[] => victim.asked.filter((path) => /jwks|well-known|getMember/.test(path));
let issuer: TestIssuer;
let tk: TestApp;

type Prepare = (issuer: TestIssuer) => void;
const metadataWith =
  (changes: object): Prepare =>
  ({ issuer: own, answers }) =>
    void answers.set(metadataPath, { body: JSON.stringify({ issuer: own, ...changes }) });
const answering =
  (path: string, body: () => string): Prepare =>
  ({ answers }) =>
    void answers.set(path, { body: body() });
const redirecting =
  (path: string): Prepare =>
  ({ answers }) =>
    void answers.set(path, { status: 302, headers: { location: `${victim.issuer}${path}` } });
const keysAt = (address: string): Prepare => metadataWith({ jwks_uri: address });

/** Issuers by the trick that they play. */
const tricks: Readonly<Record<string, Prepare>> = {
  'keys at a link-local address': keysAt('http://169.254.169.254/latest/meta-data'),
  'keys at a link-local address of IPv6': keysAt('http://[::ffff:169.254.169.254]/keys'),
  'keys at a link-local address as one number': keysAt('http://2852039166/keys'),
  'keys at a name of this machine': keysAt('http://localhost:1/keys'),
  'keys at a private address': keysAt('http://10.0.0.1/keys'),
  'keys in a file': keysAt('file:///etc/passwd'),
  'keys in the address': keysAt('data:application/json,{"keys":[]}'),
  'keys at no address': metadataWith({ jwks_uri: { href: '/jwks' } }),
  'keys at another server of this machine': (own) => keysAt(`${victim.issuer}/jwks`)(own),
  'metadata that leads elsewhere': redirecting(metadataPath),
  'keys that lead elsewhere': redirecting('/jwks'),
  'metadata of another issuer': (own) =>
    metadataWith({ issuer: victim.issuer, jwks_uri: `${own.issuer}/jwks` })(own),
  'metadata of 10 MB': answering(metadataPath, () => JSON.stringify({ more: megabytes(10) })),
  'keys of 10 MB': answering('/jwks', () => JSON.stringify({ keys: [], more: megabytes(10) })),
  '10,000 keys': answering('/jwks', () => {
    const key = (): object => ({ kty: 'RSA', kid: randomUUID(), n: 'A'.repeat(342), e: 'AQAB' });
    return JSON.stringify({ keys: Array.from({ length: 10_000 }, key) });
  }),
  'keys that are no JSON': answering('/jwks', () => '<html>'),
  'keys that are no list': answering('/jwks', () => JSON.stringify({ keys: 'all' })),
  'keys nested 100,000 deep': answering('/jwks', () => '['.repeat(100_000)),
};
const misleading = new Map<string, TestIssuer>();

beforeAll(async () => {
  victim = await startIssuer();
  issuer = await startIssuer();
  for (const [trick, prepare] of Object.entries(tricks)) {
    const own = await startIssuer();
    prepare(own);
    misleading.set(trick, own);
  }
  const others = [...misleading.values()].map((own) => ({ issuer: own.issuer, audiences: ['toolkeeper'] }));
  const own = { issuer: issuer.issuer, audiences: ['toolkeeper'], introspection, rules: [agents] };
  tk = await startApp({ OIDC_ISSUERS: JSON.stringify([own, ...others]) });
});

afterAll(async () => {
  await tk.close();
  for (const each of [victim, issuer, ...misleading.values()]) await each.close();
});

beforeEach(() =>
  tk.http
    .put('/api/v1/access-rules')
    .send({ rules: [agents] })
    .expect(200),
);

const list = (token: string) => tk.anonymous.get('/api/v1/tools').set(bearer(token));
const groups = (claims: object = {}): TokenParts => ({ claims: { groups: ['agents'], ...claims } });
const tested = async (token: string) =>
  (await tk.http.post('/api/v1/access-rules/test').send({ token }).expect(200)).body;

describe('an issuer that misleads opens nothing, and makes this server ask nobody else:', () => {
  it.each(Object.keys(tricks))('%s', async (trick) => {
    const own = misleading.get(trick);
    if (!own) throw new Error(trick);
    const token = await own.token(groups());
    await list(token).expect(401);
    // It is not asked again at once.
    const before = own.asked.length;
    await list(token).expect(401);
    expect(own.asked.length).toBe(before);
    expect((await tested(token)).checks.at(-1)).toMatchObject({ check: 'signature', passed: false });
    expect(ledAstray()).toEqual([]);
    await list(await issuer.token(groups())).expect(200);
  });
});

describe('a token that is too much', () => {
  it('of 1 MB is refused by its header, and in a body', async () => {
    const token = await issuer.token(groups({ more: megabytes(1) }));
    const request = `GET /api/v1/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    expect(statusesIn(await sendBytes(tk.url, request))).toEqual([431]);
    await tk.http.post('/api/v1/access-rules/test').send({ token }).expect(400);
  });

  it('whose issuer answers claims of 1 MB is refused', async () => {
    await list(issuer.opaqueToken(groups({ more: megabytes(1) }))).expect(401);
    await list(issuer.opaqueToken(groups())).expect(200);
  });

  it('with claims of 8 KB, nested 1,300 deep, is read as any other', async () => {
    const nested = `${'{"a":'.repeat(1_300)}0${'}'.repeat(1_300)}`;
    await list(await issuer.token(groups({ more: JSON.parse(nested) as unknown }))).expect(200);
  });

  it('is not led by 100 others in one header', async () => {
    const good = await issuer.token(groups());
    const before = issuer.asked.length;
    for (const glue of [' ', ',', ', Bearer '])
      await list([good, ...Array.from({ length: 99 }, () => 'a.b.c')].join(glue)).expect(401);
    expect(issuer.asked.length).toBe(before);
    const lines = Array.from({ length: 99 }, () => 'Authorization: Bearer a.b.c\r\n').join('');
    const request = `GET /api/v1/tools HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
    expect(statusesIn(await sendBytes(tk.url, request))).toEqual([401]);
  });
});

describe('a token in another place than its header opens nothing:', () => {
  const keys = '/api/v1/keys';
  it.each([
    ['access_token in the query', (token: string) => tk.anonymous.get(keys).query({ access_token: token })],
    ['token in the query', (token: string) => tk.anonymous.get(keys).query({ token })],
    ['the body', (token: string) => tk.anonymous.post(keys).send({ access_token: token })],
    ['x-api-key', (token: string) => tk.anonymous.get(keys).set('x-api-key', token)],
    ['a cookie', (token: string) => tk.anonymous.get(keys).set('cookie', `access_token=${token}`)],
    ['another scheme', (token: string) => tk.anonymous.get(keys).set('authorization', `DPoP ${token}`)],
  ])('%s', async (_where, ask) => {
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [{ ...agents, role: 'admin' }] })
      .expect(200);
    const token = await issuer.token(groups());
    await tk.anonymous.get(keys).set(bearer(token)).expect(200);
    await ask(token).expect(401);
  });
});

describe('claims', () => {
  it('that were left out (over 200 groups at Entra) give no rights, and the test says why', async () => {
    const sources = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: `${victim.issuer}/users/alice/getMemberObjects` } },
    };
    const token = await issuer.token({ claims: sources });
    await list(token).expect(403);
    const { rules, scopes } = await tested(token);
    expect(scopes).toEqual([]);
    expect(rules[0]).toMatchObject({ matched: false, why: expect.stringContaining('_claim_names') });
    expect(ledAstray()).toEqual([]);
  });

  const nest = (depth: number, inner: unknown): unknown =>
    Array.from({ length: depth }).reduce<unknown>((value) => ({ a: value }), inner);
  it.each([
    ['120 deep', deepPath, { a: nest(119, 'agents') }, 200],
    ['one level too deep', deepPath, { a: nest(120, 'agents') }, 403],
    ['by a name with dots', 'https://x.example/groups', { 'https://x.example/groups': ['agents'] }, 200],
    ['below a name with dots', 'a.b.c', { 'a.b': { c: 'agents' } }, 200],
    ['of a prototype', 'constructor.name', {}, 403],
    ['of __proto__', '__proto__.role', JSON.parse('{"__proto__":{"role":"other"}}') as object, 403],
    ['of an object in place of text', 'role', { role: { agents: true } }, 403],
    ['of a list in a list', 'role', { role: [['agents']] }, 403],
    ['of null', 'role', { role: null }, 403],
    ['of 2,000 values', 'role', { role: [...Array.from({ length: 2_000 }, (_, at) => at), 'agents'] }, 200],
    ['of a value that begins alike', 'role', { role: 'agents-of-others' }, 403],
    ['in other letters', 'role', { role: 'Agents' }, 403],
  ])('%s', async (_what, claim, claims, status) => {
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [{ ...agents, claim }] })
      .expect(200);
    await list(await issuer.token({ claims: { ...claims } })).expect(status);
  });
});
