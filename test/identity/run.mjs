/**
 * `npm run test:identity`: oidc-provider issues access tokens, as JWT and opaque ones, and a server that it starts takes them.
 * Its package is installed here, beside the project's own.
 */
import '../support/typescript.mjs';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { URLSearchParams } from 'node:url';
import { startPlatformServer, stopAll } from '../platforms/platform-server.mjs';

process.chdir(import.meta.dirname);
const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], { stdio: 'inherit' });
process.chdir(new URL('../..', import.meta.url).pathname);
const { default: Provider } = await import('oidc-provider');

const resources = { 'urn:toolkeeper:jwt': 'jwt', 'urn:toolkeeper:opaque': 'opaque', 'urn:other': 'jwt' };
const client = (id) => ({
  client_id: id,
  client_secret: `secret-of-${id}`,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
});
const listener = createServer();
await once(listener.listen(0, '127.0.0.1'), 'listening');
const issuer = `http://127.0.0.1:${listener.address().port}`;
const provider = new Provider(issuer, {
  clients: [client('agent'), client('toolkeeper')],
  scopes: ['tools:call', 'metrics:read'],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, audience) => ({
        audience,
        scope: 'tools:call metrics:read',
        accessTokenFormat: resources[audience],
      }),
    },
  },
});
listener.on('request', provider.callback());

async function tokenFor(resource, scope) {
  const form = { grant_type: 'client_credentials', resource, scope };
  const authorization = `Basic ${Buffer.from('agent:secret-of-agent').toString('base64')}`;
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams(form),
  });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body.access_token;
}

const server = await startPlatformServer({
  OIDC_ISSUERS: JSON.stringify([
    {
      issuer,
      audiences: ['urn:toolkeeper:jwt', 'urn:toolkeeper:opaque'],
      introspection: { clientId: 'toolkeeper', clientSecret: 'secret-of-toolkeeper' },
      rules: [{ claim: 'client_id', value: 'agent', role: 'agent' }],
    },
  ]),
});
const statusOf = async (token) => {
  const answer = await fetch(`${server.url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } });
  return [answer.status, answer.headers.get('www-authenticate')];
};
const says = (what, expected, found) => {
  assert.deepEqual(found, expected, what);
  console.log(`ok ${what}`);
};

try {
  const challenge = (rest) =>
    `Bearer resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp", ${rest}`;
  const refused = [401, challenge('error="invalid_token", scope="tools:call"')];
  says('a JWT', [200, null], await statusOf(await tokenFor('urn:toolkeeper:jwt', 'tools:call')));
  const opaque = await tokenFor('urn:toolkeeper:opaque', 'tools:call');
  says('an opaque token', [200, null], await statusOf(opaque));
  says('a JWT for another resource', refused, await statusOf(await tokenFor('urn:other', 'tools:call')));
  says('an unknown text', refused, await statusOf('neither-key-nor-token'));
  const tooFew = challenge(
    'error="insufficient_scope", scope="tools:call", error_description="This needs the scope tools:call."',
  );
  const narrow = await tokenFor('urn:toolkeeper:jwt', 'metrics:read');
  const { scopes } = await server.ask('access-rules/test', { method: 'POST', body: { token: narrow } });
  says('a token of other scopes has no rights', [], scopes);
  says('and is sent back', [403, tooFew], await statusOf(narrow));
} finally {
  await stopAll();
  listener.closeAllConnections();
  listener.close();
}
