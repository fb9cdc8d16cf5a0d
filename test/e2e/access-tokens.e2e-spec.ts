import { credentials, loadPackageDefinition, Metadata, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { UnsecuredJWT } from 'jose';
import { join } from 'node:path';
import { GrpcServer } from '../../src/edge/grpc/grpc.module.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { startIssuer, type TestIssuer, type TokenParts } from '../support/oidc-issuer.js';
import { until } from '../support/wait.js';

// real: the whole server, HTTP, gRPC, PostgreSQL, an issuer with real signatures; mock: nothing

let issuer: TestIssuer;
let tk: TestApp;
let rotated: string;

const agents = { claim: 'realm_access.roles', value: 'agents', role: 'agent', projects: ['payments'] };
const viewers = { claim: 'groups', value: 'view*', role: 'viewer' };
const operators = { claim: 'groups', value: 'ops', role: 'operator' };
const first = [{ ...agents, tools: ['echo*'] }, viewers, operators];
const roles = (...given: string[]): TokenParts => ({ claims: { realm_access: { roles: given } } });
const groups = (...given: string[]): TokenParts => ({ claims: { groups: given } });
const seconds = (from: number): number => Math.floor(Date.now() / 1_000) + from;

beforeAll(async () => {
  issuer = await startIssuer();
  rotated = await issuer.token(roles('agents'));
  await issuer.rotate();
  const introspection = { clientId: 'toolkeeper', clientSecret: 'secret' };
  const entry = { issuer: issuer.issuer, audiences: ['toolkeeper'], rules: first, introspection };
  tk = await startApp({ OIDC_ISSUERS: JSON.stringify([entry]), GRPC_PORT: '0' });
  await tk.register('echo');
});

beforeEach(() => tk.http.put('/api/v1/access-rules').send({ rules: first }).expect(200));

afterAll(async () => {
  await tk.close();
  await issuer.close();
});

const call = (token: string, name = 'echo') =>
  tk.anonymous.post(`/api/v1/tools/${name}/execute`).set(bearer(token)).send({ input: {} });

const listOverMcp = (token: string) =>
  tk.anonymous
    .post('/mcp')
    .set({ ...bearer(token), accept: 'application/json, text/event-stream' })
    .send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

/** The status code of gRPC. */
function overGrpc(token: string): Promise<number> {
  const proto = loadPackageDefinition(loadSync(join(__dirname, '..', '..', 'docs', 'tool-health.proto')));
  const { v1 } = proto['toolkeeper'] as unknown as { v1: { ToolHealth: ServiceClientConstructor } };
  const { port } = tk.app.get(GrpcServer, { strict: false });
  const client = new v1.ToolHealth(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return new Promise((resolve) => {
    client['CheckAllToolsHealth']?.({}, metadata, (error: { code: number } | null) => {
      client.close();
      resolve(error?.code ?? 0);
    });
  });
}

const metadataUrl = (): string => `${tk.url}/.well-known/oauth-protected-resource/mcp`;

it('a token calls a tool with the rights that a rule gives, and the execution names its person and client', async () => {
  const { body } = await call(await issuer.token(roles('agents')))
    .set('x-user-id', 'somebody-else')
    .expect(200);
  const { body: row } = await tk.http
    .get(`/api/v1/tool-metrics/executions/${body.executionId}`)
    .query({ project: 'payments' })
    .expect(200);
  const metadata = { keyId: `${issuer.issuer}#alice`, clientId: 'agent-1', projectId: 'payments' };
  expect(row).toMatchObject({ userId: 'alice', metadata });
});

it('a span names the client whose token it came with', async () => {
  const time = String(Date.now() * 1_000_000);
  const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'run' };
  const spans = [{ ...span, startTimeUnixNano: time, endTimeUnixNano: time }];
  await tk.anonymous
    .post('/v1/traces')
    .set(bearer(await issuer.token(roles('agents'))))
    .send({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
    .expect(200);
  const found = await until(
    async () => {
      const { body } = await tk.http.get('/api/v1/spans').query({ project: 'payments' });
      return body.data?.find(({ trace_id: id }: { trace_id: string }) => id === span.traceId);
    },
    { what: 'the span' },
  );
  expect(found).toMatchObject({ key_id: `${issuer.issuer}#alice`, client_id: 'agent-1' });
});

it('a token is taken by MCP and gRPC, too', async () => {
  const { body } = await listOverMcp(await issuer.token(roles('agents'))).expect(200);
  expect(body.result.tools.map(({ name }: { name: string }) => name)).toContain('echo');
  expect(await overGrpc(await issuer.token(groups('viewers')))).toBe(0);
  expect(await overGrpc(await issuer.token(roles('agents')))).toBe(7);
});

it('a queued call of a token runs with its rights', async () => {
  const { body } = await call(await issuer.token(roles('agents')))
    .set('prefer', 'respond-async')
    .expect(202);
  const token = await issuer.token(roles('agents'));
  const ended = await until(
    async () => {
      const { body: view } = await tk.anonymous.get(`/api/v1/executions/${body.id}`).set(bearer(token));
      return view.endedAt && view;
    },
    { what: 'the call to end' },
  );
  expect(ended.outcome?.status).toBe('success');
});

describe('bad tokens', () => {
  const bad: readonly (readonly [what: string, token: () => string | Promise<string>])[] = [
    ['for another audience', () => issuer.token({ claims: { aud: 'account' } })],
    ['for another resource', () => issuer.token({ claims: { aud: ['https://other.example/mcp'] } })],
    ['of another issuer', () => issuer.token({ claims: { iss: 'https://evil.example' } })],
    ['of another realm', () => issuer.token({ claims: { iss: `${issuer.issuer}/realms/other` } })],
    ['that has expired', () => issuer.token({ claims: { exp: seconds(-10) } })],
    ['that is not valid yet', () => issuer.token({ claims: { nbf: seconds(60) } })],
    ['without expiry', () => issuer.token({ without: ['exp'] })],
    ['without a signature', () => new UnsecuredJWT(issuer.claimsOf({})).encode()],
    ['signed by HMAC with the public key', () => issuer.hmacToken()],
    ['signed by an unknown key', () => issuer.token({ foreignKey: true })],
    ['signed by a key that was rotated away', () => rotated],
    ['that is an ID token', () => issuer.token({ header: { typ: 'JWT' }, claims: { nonce: 'n' } })],
    [
      'that is an ID token of Keycloak',
      () => issuer.token({ header: { typ: 'JWT' }, claims: { typ: 'ID' } }),
    ],
    ['that is a refresh token', () => issuer.token({ header: { typ: 'JWT' }, claims: { typ: 'Refresh' } })],
    ['that is a logout token', () => issuer.token({ header: { typ: 'logout+jwt' } })],
    ['that was cut', async () => (await issuer.token(roles('agents'))).slice(0, -5)],
    ['without a subject', () => issuer.token({ without: ['sub'] })],
    ['bound to a key of its client', () => issuer.token({ claims: { cnf: { jkt: 'x' } } })],
    ['that its issuer does not know', () => 'opaque-and-unknown'],
    ['that is a key which was revoked', () => `tk_${'0'.repeat(20)}_revoked`],
  ];

  it.each(bad)('one %s: 401 with the challenge', async (_what, token) => {
    const text = await token();
    const challenge = `Bearer resource_metadata="${metadataUrl()}", error="invalid_token", scope="tools:call"`;
    const { headers, body } = await call(text).expect(401);
    expect(headers['www-authenticate']).toBe(challenge);
    expect(body.detail).not.toContain(text);
    expect((await listOverMcp(text).expect(401)).headers['www-authenticate']).toBe(challenge);
    expect(await overGrpc(text)).toBe(16);
  });

  it('neither a key that was revoked nor a JWT leaves this server', async () => {
    await call(`tk_${'0'.repeat(20)}_revoked`).expect(401);
    await call(await issuer.token({ claims: { iss: 'https://evil.example' } })).expect(401);
    const before = issuer.asked.length;
    await tk.anonymous.get('/api/v1/tools').set('x-api-key', 'no-key-of-this-server').expect(401);
    await tk.http.get('/api/v1/tools').expect(200);
    expect(issuer.asked.length).toBe(before);
  });

  it('the clocks may differ by five seconds', async () => {
    const claims = { realm_access: { roles: ['agents'] } };
    await call(await issuer.token({ claims: { ...claims, exp: seconds(-2) } })).expect(200);
    await call(await issuer.token({ claims: { ...claims, nbf: seconds(3) } })).expect(200);
  });
});

it('a token that is no JWT is asked about once, then remembered', async () => {
  const token = issuer.opaqueToken(roles('agents'));
  const asked = (): number => issuer.asked.filter((path) => path === '/introspect').length;
  const before = asked();
  await call(token).expect(200);
  await call(token).expect(200);
  expect(asked()).toBe(before + 1);
  await call(issuer.opaqueToken({ claims: { aud: 'other' } })).expect(401);
});

it('known keys and tokens go on while the issuer is away', async () => {
  const token = await issuer.token(roles('agents'));
  await call(token).expect(200);
  issuer.setAway(true);
  try {
    await tk.http.get('/api/v1/tools').expect(200);
    await call(token).expect(200);
    // The keys of the issuer stay.
    await call(await issuer.token(roles('agents', 'other'))).expect(200);
    await call(issuer.opaqueToken(roles('agents'))).expect(401);
  } finally {
    issuer.setAway(false);
  }
});

describe('rules', () => {
  it('without a match: 403 that names the claims by path, not their values', async () => {
    const { body, headers } = await call(await issuer.token(roles('cooks'))).expect(403);
    expect(body.detail).toContain('realm_access.roles, groups');
    expect(body.detail).not.toContain('cooks');
    expect(headers['www-authenticate']).toBeUndefined();
    // Also where any key would do.
    await tk.anonymous
      .get('/api/v1/projects')
      .set(bearer(await issuer.token(roles('cooks'))))
      .expect(403);
  });

  it('hold for tools and projects', async () => {
    const token = await issuer.token(roles('agents'));
    await tk.register('other');
    await call(token, 'other').expect(403);
    await call(token).set('x-project-id', 'orders').expect(403);
  });

  it('of a narrower first match are not widened by a later one', async () => {
    const narrow = { ...operators, claim: 'groups', value: 'lead', role: 'agent', projects: ['orders'] };
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [narrow, { ...viewers, projects: ['payments'] }] });
    const token = await issuer.token(groups('lead', 'viewers'));
    const { body } = await tk.anonymous.get('/api/v1/session').set(bearer(token)).expect(200);
    expect(body).toMatchObject({ scopes: ['tools:call', 'traces:write'], projects: ['orders'] });
  });

  it('that are changed hold for a token that was used before', async () => {
    const token = await issuer.token(roles('agents'));
    await call(token).expect(200);
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [viewers] })
      .expect(200);
    await call(token).expect(403);
  });

  it('that changed meanwhile are not replaced', async () => {
    const { body } = await tk.http.get('/api/v1/access-rules').expect(200);
    const changed = { rules: [viewers], revision: body.revision };
    const { body: now } = await tk.http.put('/api/v1/access-rules').send(changed).expect(200);
    expect(now.rules).toEqual([viewers]);
    await tk.http.put('/api/v1/access-rules').send({ rules: first, revision: body.revision }).expect(409);
    expect((await tk.http.get('/api/v1/access-rules')).body).toEqual(now);
  });

  it.each([
    ['client', { sub: 'bob' }, { sub: 'bob', client_id: 'agent-2' }, 'The client agent-1 may make 1 calls'],
    ['subject', { client_id: 'agent-2' }, { sub: 'bob' }, 'This person may make 1 calls'],
  ] as const)('a rate counts by %s', async (by, same, other, detail) => {
    const limited = { ...agents, rate: { calls: 1, per: 'minute', by } };
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [limited] })
      .expect(200);
    const of = (claims: object) =>
      issuer.token({ claims: { realm_access: { roles: ['agents'] }, ...claims } });
    await call(await of({})).expect(200);
    const { body } = await call(await of(same)).expect(429);
    expect(body.detail).toContain(detail);
    await call(await of(other)).expect(200);
  });

  it.each([
    ['client', { sub: 'bob' }, { client_id: 'agent-2' }, 'the client greedy', 'client '],
    ['subject', { client_id: 'agent-2' }, { sub: 'bob' }, 'this person', ''],
  ] as const)('a budget is that of a %s', async (by, same, other, who, prefix) => {
    const rules = [{ ...agents, budget: by }];
    await tk.http.put('/api/v1/access-rules').send({ rules }).expect(200);
    await tk.register('budgeted', { callsPerInvestigation: 2 });
    const run = async (claims: object, investigationId?: string) => {
      const all = { realm_access: { roles: ['agents'] }, sub: 'greedy', client_id: 'greedy', ...claims };
      return call(await issuer.token({ claims: all }), 'budgeted').send({
        input: {},
        context: { investigationId },
      });
    };
    const id = `caller ${prefix}${issuer.issuer}#greedy`;
    expect([(await run({})).status, (await run(same, 'inc-1')).status]).toEqual([200, 200]);
    const { status, body } = await run({}, 'inc-2');
    expect(status).toBe(429);
    expect(body).toMatchObject({
      code: 'investigation_budget_spent',
      detail: `Max 2 budgeted calls of ${who} exceeded. An operator can raise the limit of the investigation "${id}".`,
    });
    expect((await run(other)).status).toBe(200);
    const budget = `/api/v1/investigations/${encodeURIComponent(id)}`;
    const raised = await tk.http
      .patch(budget)
      .query({ project: 'payments' })
      .send({ tools: { budgeted: 3 } })
      .expect(200);
    expect(raised.body.tools).toEqual([{ tool: 'budgeted', limit: 3, used: 2, remaining: 1 }]);
    expect((await run(same)).status).toBe(200);
    // A caller that is counted by its investigations cannot spend the budget of another one.
    await tk.http
      .put('/api/v1/access-rules')
      .send({ rules: [agents] })
      .expect(200);
    expect((await run(other, id)).status).toBe(200);
    await tk.http.delete('/api/v1/custom-tools/budgeted').expect(204);
  });

  it('whose limits would not hold are refused', async () => {
    const rules = [{ ...operators, projects: ['payments'] }];
    await tk.http.put('/api/v1/access-rules').send({ rules }).expect(400);
  });

  it('a token with scopes of its own is narrowed, and sent back for all that the operation needs', async () => {
    const claims = { groups: ['ops'], scope: 'openid metrics:read' };
    const token = await issuer.token({ claims });
    await tk.anonymous.get('/api/v1/custom-tools').set(bearer(token)).expect(200);
    const { headers } = await call(token).expect(403);
    expect(headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${metadataUrl()}", error="insufficient_scope", scope="tools:call", error_description="This needs the scope tools:call."`,
    );
    await call(await issuer.token({ claims: { ...claims, scope: 'tools:call metrics:read' } })).expect(200);
  });

  it('what an administrator did with a token names the person', async () => {
    const token = await issuer.token({ claims: { groups: ['ops'], name: 'Alice Example' } });
    await tk.anonymous.delete('/api/v1/custom-tools/nothing').set(bearer(token)).expect(404);
    const { body } = await tk.http
      .get('/api/v1/audit')
      .query({ keyId: `${issuer.issuer}#alice` })
      .expect(200);
    expect(body.data[0]).toMatchObject({
      userId: 'alice',
      keyName: 'Alice Example',
      clientId: 'agent-1',
      action: 'removeCustomTool',
    });
  });

  it('a test of a token shows each check and each rule', async () => {
    const asked = async (parts: TokenParts) =>
      (
        await tk.http
          .post('/api/v1/access-rules/test')
          .send({ token: await issuer.token(parts) })
          .expect(200)
      ).body;
    const good = await asked(roles('agents'));
    expect(good).toMatchObject({ keyId: `${issuer.issuer}#alice`, scopes: ['tools:call', 'traces:write'] });
    expect(good.checks.map(({ check }: { check: string }) => check)).toEqual([
      'issuer',
      'signature',
      'type',
      'audience',
      'expiry',
      'start',
      'subject',
    ]);
    expect(good.rules.map(({ matched, why }: { matched: boolean; why: string }) => [matched, why])).toEqual([
      [true, 'the claim realm_access.roles has the value'],
      [false, 'the token has no claim groups'],
      [false, 'the token has no claim groups'],
    ]);
    const late = await asked({ claims: { exp: seconds(-10) } });
    expect(late).toMatchObject({ keyId: null, scopes: [], rules: [] });
    expect(late.checks.at(-1)).toEqual({ check: 'expiry', passed: false, detail: 'it has expired' });
  });
});

describe('metadata of the protected resource', () => {
  it.each(['', '/mcp'])('at …/oauth-protected-resource%s', async (path) => {
    const { body, headers } = await tk.anonymous
      .get(`/.well-known/oauth-protected-resource${path}`)
      .expect(200);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(body).toEqual({
      resource: `${tk.url}/mcp`,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['tools:call'],
      bearer_methods_supported: ['header'],
      resource_name: 'Toolkeeper',
    });
  });

  it('pages may ask for it', async () => {
    const { headers } = await tk.anonymous
      .options('/.well-known/oauth-protected-resource/mcp')
      .set({ origin: 'https://inspector.example', 'access-control-request-headers': 'mcp-protocol-version' })
      .expect(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
    });
  });

  it('names no host that nobody trusts', async () => {
    await tk.anonymous.get('/.well-known/oauth-protected-resource').set('host', 'evil.example').expect(404);
  });
});

it('without OIDC_ISSUERS answers are as before', async () => {
  const off = await startApp();
  try {
    await off.anonymous.get('/.well-known/oauth-protected-resource/mcp').expect(404);
    const { headers, body } = await off.anonymous
      .get('/api/v1/tools')
      .set(bearer(await issuer.token(roles('agents'))))
      .expect(401);
    expect(headers['www-authenticate']).toBe('Bearer realm="toolkeeper"');
    expect(body.detail).toBe('This key is not known, has expired or was revoked.');
  } finally {
    await off.close();
  }
});
