import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { URL, URLSearchParams } from 'node:url';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { agentAt, browser } from './agent.mjs';
import { freePort } from './free-port.mjs';
import { redirectUri, startProvider } from './provider.mjs';

// real: oidc-provider that refuses `resource` and registration, the official MCP client, the built server; mock: nothing

const challenge = 'a'.repeat(43);
const clickContinue = (page) => [
  /href="([^"]+)"/.exec(page)[1].replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)),
];

describe('the facade before an issuer that takes neither resource nor registrations', () => {
  let provider;
  let server;
  let base;
  before(async () => {
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    const callback = `${base}/oauth/callback`;
    const fixed = {
      client_id: 'fixed',
      client_secret: 'secret-of-fixed',
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
    };
    provider = await startProvider({
      clients: [fixed],
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      features: {
        registration: { enabled: false },
        clientIdMetadataDocument: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: (_context, _client, asked) => {
            if (asked?.length > 0) throw new Error('AADSTS9010010: resource is not taken');
            return 'urn:toolkeeper:jwt';
          },
          useGrantedResource: () => true,
          getResourceServerInfo: (_context, audience) => {
            assert.equal(audience, 'urn:toolkeeper:jwt');
            return { audience, scope: 'tools:call', accessTokenFormat: 'jwt' };
          },
        },
      },
    });
    server = await startPlatformServer({
      PORT: String(port),
      ADMIN_API_KEY: 'a-key-of-the-operator-for-this-test',
      OIDC_ISSUERS: JSON.stringify([
        {
          issuer: provider.issuer,
          audiences: ['urn:toolkeeper:jwt'],
          facade: {
            clientId: 'fixed',
            clientSecret: 'secret-of-fixed',
            redirects: ['https://agent.example/callback'],
          },
          rules: [{ claim: 'roles', value: 'agents', role: 'agent' }],
        },
      ]),
    });
  });
  after(async () => {
    await server.stop();
    provider.stop();
  });

  it('the official MCP client, given the URL alone, signs in and calls', async () => {
    const agent = agentAt(`${base}/mcp`, { submit: clickContinue });
    const { name } = (await agent.listTools()).find(({ inputSchema }) => inputSchema.properties?.text);
    const { isError } = await agent.callTool(name, { text: 'ERROR disk full' });
    assert.ok(!isError);
    assert.equal(agent.kept.client.client_id, 'fixed');
    assert.equal(agent.kept.tokens.id_token, undefined);
    const leading = agent.visited.find((url) => url.startsWith(`${provider.issuer}/auth?`));
    assert.equal(new URL(leading).searchParams.get('resource'), null);
    assert.ok(agent.visited.every((url) => !url.includes('access_token') && !url.includes('secret-of')));
    await agent.close();
  });

  const sound = () => ({
    client_id: 'fixed',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid tools:call',
    state: 'of-the-agent',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const authorize = (changes) =>
    fetch(`${base}/oauth/authorize?${new URLSearchParams({ ...sound(), ...changes })}`, {
      redirect: 'manual',
    });

  it('the page names the host to which it leads, is no frame, and runs no script', async () => {
    const answer = await authorize({ redirect_uri: 'https://agent.example/callback' });
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /<strong>agent\.example<\/strong>/);
    assert.match(answer.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/);
    assert.match(answer.headers.get('set-cookie'), /HttpOnly; SameSite=Lax/);
  });

  for (const address of [
    'https://evil.example/callback',
    'https://agent.example/callback/../evil',
    'https://agent.example/callback?more',
    'https://agent.example.evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://localhost:80@evil.example/',
    'http://localhost:99999/',
    'https://127.0.0.1/callback',
    'javascript:alert(1)',
    'http://127.0.0.1\\@evil.example/',
    '//evil.example',
  ])
    it(`nothing leads to ${address}`, async () => {
      const answer = await authorize({ redirect_uri: address });
      assert.equal(answer.status, 400);
      assert.equal(answer.headers.get('location'), null);
      const registered = await fetch(`${base}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [address] }),
      });
      assert.equal(registered.status, 400);
      assert.equal((await registered.json()).error, 'invalid_redirect_uri');
    });

  for (const [what, changes] of Object.entries({
    'no PKCE': { code_challenge: '' },
    'PKCE of the method plain': { code_challenge_method: 'plain' },
    'a challenge that is too short': { code_challenge: 'abc' },
    'a token in the URL': { response_type: 'token' },
    'a state of 3,000 characters': { state: 's'.repeat(3_000) },
  }))
    it(`${what} is refused at the agent's own address`, async () => {
      const { searchParams } = new URL((await authorize(changes)).headers.get('location'));
      assert.equal(searchParams.get('error'), 'invalid_request');
      assert.equal(searchParams.get('iss'), base);
      assert.equal(searchParams.get('code'), null);
    });

  it('a client id of somebody else is refused', async () => {
    assert.equal((await authorize({ client_id: 'registered' })).status, 400);
  });

  it('a sign-in goes on in the browser alone in which it began, step by step, unaltered', async () => {
    const page = await authorize({});
    const [cookie] = page.headers.get('set-cookie').split(';');
    const [next] = clickContinue(await page.text());
    const status = async (path, headers = {}) =>
      (await fetch(`${base}${path}`, { headers, redirect: 'manual' })).status;
    assert.equal(await status(next), 400);
    assert.equal(
      await status(next, { cookie: `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}` }),
      400,
    );
    assert.equal(await status(next.slice(0, -2), { cookie }), 400);
    const sealed = next.split('sign_in=')[1];
    assert.equal(await status(`/oauth/callback?code=c&state=${sealed}`, { cookie }), 400);
    assert.equal(await status(next, { cookie }), 303);
  });

  /** Signs a person in, up to the code that the agent gets. */
  async function codeFor(changes = {}) {
    const { visit } = browser(clickContinue);
    return visit(`${base}/oauth/authorize?${new URLSearchParams({ ...sound(), ...changes })}`);
  }
  const redeem = (form) =>
    fetch(`${base}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'fixed',
        redirect_uri: redirectUri,
        code_verifier: 'v'.repeat(43),
        ...form,
      }),
    });

  it('a code that was stolen or put in opens nothing', async () => {
    const callback = await codeFor();
    assert.equal(callback.get('state'), 'of-the-agent');
    assert.equal(callback.get('iss'), base);
    const code = callback.get('code');
    const answers = [
      await redeem({ code }),
      await redeem({ code: code.slice(0, -3) }),
      await redeem({ code, redirect_uri: 'http://localhost:3999/callback' }),
      await redeem({ code, client_id: 'registered' }),
      await redeem({ code, code_verifier: '' }),
      await redeem({ code: 'code-of-the-issuer' }),
      await redeem({ grant_type: 'client_credentials' }),
      await redeem({ grant_type: 'password', username: 'alice', password: 'x' }),
      await redeem({ grant_type: 'refresh_token', refresh_token: 'unknown' }),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 400);
      assert.deepEqual(await answer.json(), { error: 'invalid_grant' });
    }
  });

  it('an answer of another issuer is refused', async () => {
    const page = await authorize({});
    const [cookie] = page.headers.get('set-cookie').split(';');
    const [next] = clickContinue(await page.text());
    const leading = await fetch(`${base}${next}`, { headers: { cookie }, redirect: 'manual' });
    const state = new URL(leading.headers.get('location')).searchParams.get('state');
    for (const iss of ['', '&iss=https%3A%2F%2Fevil.example']) {
      const url = `${base}/oauth/callback?code=c&state=${state}${iss}`;
      const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
      assert.equal(answer.status, 400);
    }
  });

  it('an agent whose token has ended gets the next one without its person', async () => {
    const agent = agentAt(`${base}/mcp`, { submit: clickContinue });
    await agent.listTools();
    const first = agent.kept.tokens;
    await agent.close();
    const later = agentAt(`${base}/mcp`, {});
    Object.assign(later.kept, agent.kept, { tokens: { ...first, access_token: 'has-ended' } });
    assert.ok((await later.listTools()).length > 0);
    assert.deepEqual(later.asked, []);
    assert.notEqual(later.kept.tokens.refresh_token, first.refresh_token);
    assert.equal(later.kept.tokens.id_token, undefined);
    await later.close();
    // The issuer ends all tokens of a sign-in whose refresh token comes a second time.
    for (const { refresh_token } of [first, later.kept.tokens]) {
      const answer = await redeem({ grant_type: 'refresh_token', refresh_token });
      assert.equal(answer.status, 400);
    }
  });

  describe('to an agent in a page', () => {
    const origin = { origin: 'https://inspector.example' };
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const routes = [
      ['.well-known/oauth-protected-resource/mcp', {}, 200],
      ['.well-known/oauth-authorization-server', {}, 200],
      ['.well-known/openid-configuration', {}, 200],
      ['oauth/register', { ...json, body: JSON.stringify({ redirect_uris: [redirectUri] }) }, 201],
      ['oauth/register', { ...json, body: '{}' }, 400],
      ['oauth/token', { ...form, body: 'grant_type=refresh_token&client_id=fixed&refresh_token=x' }, 400],
    ];
    for (const [path, init, expected] of routes)
      it(`${path} answers ${expected}, for any page and without cookies`, async () => {
        const asked = await fetch(`${base}/${path}`, {
          method: 'OPTIONS',
          headers: {
            ...origin,
            'access-control-request-method': init.method ?? 'GET',
            'access-control-request-headers': 'content-type,mcp-protocol-version',
          },
        });
        assert.equal(asked.status, 204);
        assert.equal(asked.headers.get('access-control-allow-headers'), '*');
        assert.match(asked.headers.get('access-control-allow-methods'), /POST/);
        const headers = { ...init.headers, ...origin, 'sec-fetch-site': 'cross-site' };
        const answer = await fetch(`${base}/${path}`, { ...init, headers });
        assert.equal(answer.status, expected);
        for (const { headers: sent } of [asked, answer]) {
          assert.equal(sent.get('access-control-allow-origin'), '*');
          assert.equal(sent.get('access-control-allow-credentials'), null);
        }
      });

    it('no page reads the steps that a person takes', async () => {
      for (const path of ['authorize', 'continue', 'callback']) {
        const answer = await fetch(`${base}/oauth/${path}`, { headers: origin });
        assert.equal(answer.headers.get('access-control-allow-origin'), null);
      }
    });
  });

  it('the conformance suite of MCP finds an authorization server', async () => {
    const port = await freePort();
    const suite = join(import.meta.dirname, 'node_modules/.bin/conformance');
    const options = ['--url', base, '--client-id', 'fixed', '--resource', `${base}/mcp`, '--port', `${port}`];
    const run = spawn(process.execPath, [suite, 'authorization', ...options]);
    const ended = once(run, 'exit');
    const output = text(run.stdout.setEncoding('utf8'));
    const { visit, visited } = browser(clickContinue, `http://127.0.0.1:${port}/callback`);
    run.stdout.on('data', async (chunk) => {
      const [address] = /^http\S+\/oauth\/authorize\S+$/m.exec(chunk) ?? [];
      if (!address) return;
      await visit(address);
      await fetch(visited.at(-1));
    });
    const [code] = await ended;
    const report = await output;
    console.log(report.slice(report.indexOf('=== ')));
    assert.equal(code, 0, report);
  });
});
