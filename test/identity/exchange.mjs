import { createRemoteJWKSet, jwtVerify } from 'jose';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { URL } from 'node:url';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { startProvider } from './provider.mjs';
import { tokensOf } from './sign-in.mjs';
import { startTokenServer } from './token-mcp-server.mjs';

// real: oidc-provider, the built server, HTTP; mock: the provider's exchange of tokens, which it does not have built in

const own = 'urn:toolkeeper';
const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const gateway = {
  client_id: 'gateway',
  client_secret: 'secret-of-gateway',
  grant_types: [grantType],
  redirect_uris: [],
  response_types: [],
};

/** Lets the client `gateway` exchange tokens that are for `own`. */
function withExchange(provider) {
  const refuse = (name, detail) => Object.assign(new Error(name), { error: name, error_description: detail });
  provider.registerGrantType(
    grantType,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
      const { payload } = await jwtVerify(params.subject_token, keys, { audience: own }).catch(() => {
        ctx.throw(400, refuse('invalid_grant', 'the subject token is not for this client'), { expose: true });
      });
      if (new URL(params.resource).hostname !== '127.0.0.1')
        ctx.throw(400, refuse('invalid_target', 'unknown resource'), { expose: true });
      const token = new provider.AccessToken({ accountId: payload.sub, client, scope: 'tools:call' });
      token.resourceServer = new provider.ResourceServer(params.resource, {
        audience: params.resource,
        scope: 'tools:call',
        accessTokenFormat: 'jwt',
      });
      ctx.body = {
        access_token: await token.save(),
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: token.tokenType,
        expires_in: token.expiration,
      };
    },
    ['subject_token', 'subject_token_type', 'resource', 'audience', 'scope'],
  );
}

describe('oidc-provider exchanges tokens of callers', () => {
  let provider;
  let upstream;
  let server;
  before(async () => {
    provider = await startProvider({ clients: [gateway], extend: withExchange });
    upstream = await startTokenServer(`${provider.issuer}/jwks`);
    const rules = [
      { claim: 'roles', value: 'agents', role: 'agent' },
      { claim: 'client_id', value: 'agent', role: 'admin' },
    ];
    server = await startPlatformServer({
      OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audiences: [own], rules }]),
    });
    const answer = await post('custom-tools', await provider.tokenFor(own, ''), settings(upstream.url));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.warnings, undefined);
  });
  after(async () => {
    await server?.stop();
    upstream?.stop();
    provider.stop();
  });

  const settings = (url, more) => ({
    ...{ name: 'tickets', protocol: 'mcp', url, credentials: 'user' },
    env: {
      ...{ OAUTH_CLIENT_ID: gateway.client_id, OAUTH_CLIENT_SECRET: gateway.client_secret },
      ...{ OAUTH_ISSUER: provider.issuer, OAUTH_EXCHANGE_URL: `${provider.issuer}/token` },
    },
    ...more,
  });
  async function post(path, token, body) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }
  const whoami = (token) => post('tools/tickets__whoami/execute', token, { input: {} });

  it('a person is served as itself, by a token for the server that this one was issued', async () => {
    const { access_token: token } = await tokensOf(provider, own, 'openid tools:call');
    const { status, body } = await whoami(token);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.result.content[0].text, 'alice through gateway');
    assert.equal(upstream.shown.includes(token), false);
    assert.equal(server.log().includes(token), false);
  });

  it('what the provider refuses is said', async () => {
    const admin = await provider.tokenFor(own, '');
    const elsewhere = settings(upstream.url.replace('127.0.0.1', 'localhost'), { name: 'elsewhere' });
    const { status, body } = await post('custom-tools', admin, elsewhere);
    assert.equal(status, 201);
    assert.match(body.warnings.join(), /invalid_target: unknown resource/);
  });

  it('a key is asked to sign in', async () => {
    const { status, body } = await whoami(server.key.authorization.slice('Bearer '.length));
    assert.equal(status, 409);
    assert.equal(body.code, 'authorization_required');
  });
});
