import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import assert from 'node:assert/strict';
import { createSecretKey, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { URL } from 'node:url';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { startProvider } from './provider.mjs';
import { tokensOf } from './sign-in.mjs';

// real: oidc-provider, the built server, HTTP; mock: nothing

const own = 'urn:toolkeeper:jwt';
const opaque = 'urn:toolkeeper:opaque';
const foreign = 'urn:other';
const formats = { [opaque]: 'opaque' };
const rules = [
  { claim: 'client_id', value: 'agent', role: 'agent' },
  { claim: 'roles', value: 'agents', role: 'agent' },
];
const seconds = (from) => Math.floor(Date.now() / 1_000) + from;

async function newKeys() {
  const pair = await generateKeyPair('RS256', { extractable: true });
  const kid = randomUUID();
  return { ...pair, kid, jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), kid, use: 'sig' }] } };
}

describe('access tokens of oidc-provider', () => {
  let keys;
  let provider;
  let otherRealm;
  let rotated;
  let server;
  let signed;
  before(async () => {
    const old = await startProvider({ formats });
    rotated = await old.tokenFor(own);
    old.stop();
    keys = await newKeys();
    const port = Number(new URL(old.issuer).port);
    provider = await startProvider({ formats, port, jwks: keys.jwks });
    otherRealm = await startProvider({ formats });
    signed = await tokensOf(provider, own, 'openid offline_access tools:call');
    const { issuer } = provider;
    const introspection = { clientId: 'toolkeeper', clientSecret: 'secret-of-toolkeeper' };
    server = await startPlatformServer({
      OIDC_ISSUERS: JSON.stringify([{ issuer, audiences: [own, opaque], introspection, rules }]),
    });
  });
  after(async () => {
    await server.stop();
    provider.stop();
    otherRealm.stop();
  });

  const ask = (token, path = 'api/v1/tools') =>
    fetch(`${server.url}/${path}`, { headers: { authorization: `Bearer ${token}` } });
  const challenge = (rest) =>
    `Bearer resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp", ${rest}`;

  const claims = (more = {}) => ({
    ...{ iss: provider.issuer, aud: own, sub: 'agent', client_id: 'agent', scope: 'tools:call' },
    ...{ iat: seconds(0), exp: seconds(600), jti: randomUUID() },
    ...more,
  });
  const sign = (payload, { header = {}, key = keys.privateKey } = {}) =>
    new SignJWT(payload)
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: keys.kid, ...header })
      .sign(key);

  it('of a client and of a person, a JWT and an opaque one: 200', async () => {
    const good = [await provider.tokenFor(own), await provider.tokenFor(opaque), signed.access_token];
    for (const token of [...good, await sign(claims())]) assert.equal((await ask(token)).status, 200);
  });

  const bad = {
    'for another audience': () => provider.tokenFor(foreign),
    'of another issuer': () => sign(claims({ iss: 'https://evil.example' })),
    'that has expired': () => sign(claims({ exp: seconds(-10) })),
    'that is not valid yet': () => sign(claims({ nbf: seconds(60) })),
    'without a signature': () => new UnsecuredJWT(claims()).encode(),
    'signed by HMAC with the public key': async () =>
      sign(claims(), {
        header: { alg: 'HS256' },
        key: createSecretKey(await exportSPKI(keys.publicKey), 'utf8'),
      }),
    'signed by an unknown key': async () => sign(claims(), { key: (await newKeys()).privateKey }),
    'that is an ID token': () => signed.id_token,
    'of another realm': () => otherRealm.tokenFor(own),
    'without expiry': () => sign(claims({ exp: undefined })),
    'that was cut': async () => (await provider.tokenFor(own)).slice(0, -5),
    'signed by a key that was rotated away': () => rotated,
    'that is a refresh token': () => signed.refresh_token,
    'for another resource': () => sign(claims({ aud: ['https://other.example/mcp'] })),
    'that nobody knows': () => 'neither-key-nor-token',
  };
  for (const [what, make] of Object.entries(bad))
    it(`one ${what}: 401 with the challenge`, async () => {
      const answer = await ask(await make());
      assert.equal(answer.status, 401);
      const expected = challenge('error="invalid_token", scope="tools:call"');
      assert.equal(answer.headers.get('www-authenticate'), expected);
    });

  it('a token of other scopes has no rights, and is sent back for those that it needs', async () => {
    const narrow = await provider.tokenFor(own, 'metrics:read');
    const { scopes } = await server.ask('access-rules/test', { method: 'POST', body: { token: narrow } });
    assert.deepEqual(scopes, []);
    const answer = await ask(narrow);
    assert.equal(answer.status, 403);
    const why =
      'error="insufficient_scope", scope="tools:call", error_description="This needs the scope tools:call."';
    assert.equal(answer.headers.get('www-authenticate'), challenge(why));
  });

  it('a role that is taken away opens nothing from the next token on', async () => {
    assert.equal((await ask(signed.access_token)).status, 200);
    provider.setRoles([]);
    const next = await tokensOf(provider, own, 'openid offline_access tools:call');
    assert.equal((await ask(next.access_token)).status, 403);
  });

  it('while the issuer is away, its keys that are known go on, and it is not needed for a key of the server', async () => {
    const token = await provider.tokenFor(own);
    provider.goAway();
    assert.equal((await ask(token)).status, 200);
    assert.equal((await ask(await sign(claims()))).status, 200);
    assert.equal((await ask(server.key.authorization.split(' ')[1])).status, 200);
    await provider.comeBack();
  });
});
