import { generateKeyPair, SignJWT } from 'jose';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { agentAt } from './agent.mjs';
import { freePort } from './free-port.mjs';
import { startKeycloak, until } from './keycloak-server.mjs';
import { redirectUri } from './provider.mjs';
import { audienceMapper, makeRealm, submitForm } from './realm.mjs';
import { startTokenServer } from './token-mcp-server.mjs';

// real: Keycloak, the official MCP client, the client's metadata document over https, the built server; mock: nothing

const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-keycloak-'));
const certificate = join(folder, 'localhost.pem');
const realm = 'acme';

/** The https address at which a client has its metadata document. */
async function startDocument() {
  const key = join(folder, 'localhost.key');
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', key, '-out', certificate];
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, ...names, ...files], { stdio: 'pipe' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const clientId = `https://localhost:${server.address().port}/agent.json`;
  const document = {
    client_id: clientId,
    client_name: 'Agent',
    client_uri: new URL('/', clientId).href,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  server.on('request', (_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document)),
  );
  return { clientId, stop: () => server.close() };
}

/** Lets clients register themselves, and those at `localhost` be known by their document. */
async function admitClients({ admin }) {
  const policies = await admin(`/${realm}/components?name=Trusted%20Hosts`);
  const trusted = policies.find(({ providerId }) => providerId === 'trusted-hosts');
  trusted.config['trusted-hosts'] = ['127.0.0.1'];
  await admin(`/${realm}/components/${trusted.id}`, 'PUT', trusted);
  const executor = 'client-id-metadata-document';
  await admin(`/${realm}/client-policies/profiles`, 'PUT', {
    profiles: [
      {
        name: 'documents',
        executors: [
          { executor, configuration: { 'cimd-allow-permitted-domains': ['localhost', '127.0.0.1'] } },
        ],
      },
    ],
  });
  const condition = {
    condition: 'client-id-uri',
    configuration: {
      'client-id-uri-scheme': ['https'],
      'client-id-uri-allow-permitted-domains': ['localhost'],
    },
  };
  await admin(`/${realm}/client-policies/policies`, 'PUT', {
    policies: [{ name: 'documents', enabled: true, profiles: ['documents'], conditions: [condition] }],
  });
}

describe('Keycloak', () => {
  let document;
  let keycloak;
  let acme;
  let otherRealm;
  let server;
  let url;
  before(async () => {
    document = await startDocument();
    keycloak = await startKeycloak(certificate);
    const port = await freePort();
    url = `http://127.0.0.1:${port}/mcp`;
    acme = await makeRealm(keycloak, realm, url);
    otherRealm = await makeRealm(keycloak, 'other', url);
    await admitClients(keycloak);
    const rules = [
      { claim: 'realm_access.roles', value: 'sre', role: 'operator' },
      { claim: 'realm_access.roles', value: 'sre', role: 'agent' },
      { claim: 'azp', value: 'agent', role: 'agent' },
    ];
    const introspection = { clientId: 'toolkeeper', clientSecret: 'secret-of-toolkeeper' };
    server = await startPlatformServer({
      PORT: String(port),
      ADMIN_API_KEY: 'a-key-of-the-operator-for-this-test',
      OIDC_ISSUERS: JSON.stringify([{ issuer: acme.issuer, audiences: [url], introspection, rules }]),
    });
  });
  after(async () => {
    await server?.stop();
    await keycloak?.stop();
    document.stop();
    rmSync(folder, { recursive: true });
  });

  const ask = (token) =>
    fetch(`${server.url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } });
  const status = async (token) => (await ask(token)).status;

  const ways = {
    'as a registered client': () => ({ client: { client_id: 'registered' } }),
    'by dynamic registration': () => ({}),
    'by its metadata document': () => ({ clientMetadataUrl: document.clientId }),
  };
  for (const [how, options] of Object.entries(ways))
    it(`signs in the official MCP client ${how}, and it calls`, async () => {
      const agent = agentAt(url, { ...options(), submit: submitForm });
      const { name } = (await agent.listTools()).find(({ inputSchema }) => inputSchema.properties?.text);
      const { content, isError } = await agent.callTool(name, { text: 'ERROR disk full' });
      assert.ok(!isError, JSON.stringify(content));
      assert.equal(agent.asked.length, 1);
      const client = agent.asked[0].searchParams.get('client_id');
      const { client: registered, clientMetadataUrl } = options();
      if (registered ?? clientMetadataUrl) assert.equal(client, registered?.client_id ?? clientMetadataUrl);
      const { data } = await server.ask('tool-metrics/executions?limit=1');
      assert.equal(data[0].metadata.clientId, client);
      await agent.close();
    });

  it('its tokens for persons and for clients are taken', async () => {
    const { access_token: token } = await acme.tokensOf();
    assert.equal(await status(token), 200);
    assert.equal(await status(await acme.machineToken('everybody')), 200);
  });

  const bad = {
    'for no audience': async () => (await acme.tokensOf('openid')).access_token,
    'for another resource': async () => (await acme.tokensOf('openid other')).access_token,
    'of another realm': async () => (await otherRealm.tokensOf()).access_token,
    'that is an ID token': async () => (await acme.tokensOf()).id_token,
    'that is a refresh token': async () => (await acme.tokensOf()).refresh_token,
    'that is an offline token': async () =>
      (await acme.tokensOf('openid offline_access tools:call')).refresh_token,
    'that was cut': async () => (await acme.tokensOf()).access_token.slice(0, -5),
    'that Keycloak does not know': () => 'neither-key-nor-token',
  };
  for (const [what, make] of Object.entries(bad))
    it(`one ${what}: 401 with the challenge`, async () => {
      const answer = await ask(await make());
      assert.equal(answer.status, 401);
      const expected = `Bearer resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp", error="invalid_token", scope="tools:call"`;
      assert.equal(answer.headers.get('www-authenticate'), expected);
    });

  it('one that has expired: 401', async () => {
    const { access_token: token } = await acme.tokensOf('openid tools:call', 'short');
    assert.equal(await status(token), 200);
    await until('the end of the token', async () => (await status(token)) === 401, 15);
  });

  it('its tokens are exchanged for those of an MCP server', async () => {
    const confidential = (clientId, more) => ({
      ...{ clientId, publicClient: false, secret: `secret-of-${clientId}`, standardFlowEnabled: false },
      ...more,
    });
    const attributes = { 'standard.token.exchange.enabled': 'true' };
    const protocolMappers = [
      {
        ...audienceMapper(),
        config: { 'included.client.audience': 'tickets', 'access.token.claim': 'true' },
      },
    ];
    await keycloak.admin(`/${realm}/clients`, 'POST', confidential('tickets'));
    await keycloak.admin(
      `/${realm}/clients`,
      'POST',
      confidential('gateway', { attributes, protocolMappers }),
    );
    const endpoints = `${acme.issuer}/protocol/openid-connect`;
    const upstream = await startTokenServer(`${endpoints}/certs`, () => 'tickets');
    try {
      const { access_token: token } = await acme.tokensOf('openid everybody');
      const post = async (path, body) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const request = { method: 'POST', headers, body: JSON.stringify(body) };
        const answer = await fetch(`${server.url}/api/v1/${path}`, request);
        return [answer.status, await answer.json()];
      };
      const env = {
        ...{
          OAUTH_CLIENT_ID: 'gateway',
          OAUTH_CLIENT_SECRET: 'secret-of-gateway',
          OAUTH_ISSUER: acme.issuer,
        },
        ...{ OAUTH_EXCHANGE_URL: `${endpoints}/token`, OAUTH_AUDIENCE: 'tickets' },
      };
      const settings = { name: 'tickets', protocol: 'mcp', url: upstream.url, credentials: 'user', env };
      const [registered, { warnings }] = await post('custom-tools', settings);
      assert.deepEqual([registered, warnings], [201, undefined]);
      const [called, { result }] = await post('tools/tickets__whoami/execute', { input: {} });
      assert.equal(called, 200);
      assert.match(result.content[0].text, /^[\w-]{36} through gateway$/);
      assert.equal(upstream.shown.includes(token), false);
    } finally {
      upstream.stop();
    }
  });

  it('answers when it is asked about a token', async () => {
    const { detail } = await (await ask('neither-key-nor-token')).json();
    assert.match(detail, /no issuer knows it, or it has ended/);
  });

  it('a role that is taken away opens nothing from the next token on', async () => {
    const [{ id: person }] = await keycloak.admin(`/${realm}/users?username=alice`);
    const role = await keycloak.admin(`/${realm}/roles/sre`);
    const roles = `/${realm}/users/${person}/role-mappings/realm`;
    const { access_token: earlier, refresh_token: refresh } = await acme.tokensOf('openid everybody');
    assert.equal(await status(earlier), 200);
    await keycloak.admin(roles, 'DELETE', [role]);
    try {
      assert.equal(await status((await acme.refreshed(refresh)).access_token), 403);
      assert.equal(await status((await acme.tokensOf('openid everybody')).access_token), 403);
      // Keycloak does not give a scope to a person without its role, and no audience with it.
      assert.equal(await status((await acme.tokensOf()).access_token), 401);
    } finally {
      await keycloak.admin(roles, 'POST', [role]);
    }
    assert.equal(await status((await acme.tokensOf()).access_token), 200);
  });

  it('while it is away, its known keys go on, unknown ones open nothing, and it is taken back', async () => {
    const { access_token: seen } = await acme.tokensOf();
    const { access_token: unseen } = await acme.tokensOf();
    assert.equal(await status(seen), 200);
    const { privateKey } = await generateKeyPair('RS256');
    const unknown = await new SignJWT({ iss: acme.issuer, aud: url, sub: 'alice', azp: 'agent' })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'unknown' })
      .setExpirationTime('5 minutes')
      .sign(privateKey);
    await keycloak.stop();
    assert.equal(await status(seen), 200);
    assert.equal(await status(unseen), 200);
    assert.equal(await status(unknown), 401);
    assert.equal(await status('neither-key-nor-token'), 401);
    assert.equal(await status(server.key.authorization.split(' ')[1]), 200);
    await keycloak.start();
    assert.equal(await status((await acme.tokensOf()).access_token), 200);
    assert.equal(await status(unknown), 401);
  });

  it('a key that was rotated away opens nothing, once the new one is in use', async () => {
    const { access_token: old } = await acme.tokensOf();
    const keys = await keycloak.admin(`/${realm}/components?type=org.keycloak.keys.KeyProvider`);
    const former = keys.find(({ providerId }) => providerId === 'rsa-generated');
    const fresh = { ...former, id: undefined, name: 'next', config: { priority: ['200'] } };
    await keycloak.admin(`/${realm}/components`, 'POST', fresh);
    await keycloak.admin(`/${realm}/components/${former.id}`, 'DELETE');
    const { access_token: token } = await acme.tokensOf();
    // The keys of an issuer are asked for once in 30 seconds at most.
    await until('the new key', async () => (await status(token)) === 200, 45);
    assert.equal(await status(old), 401);
  });
});
