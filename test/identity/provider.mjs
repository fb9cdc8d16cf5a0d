import Provider from 'oidc-provider';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { URL, URLSearchParams } from 'node:url';

export const clientMetadataUrl = 'https://client.example/agent.json';
export const redirectUri = 'http://127.0.0.1:3999/callback';
const codeClient = {
  client_name: 'Agent',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};
const machine = (id, more) => ({
  client_id: id,
  client_secret: `secret-of-${id}`,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  ...more,
});

/**
 * An oidc-provider with one person, alice, who signs in and consents to all that she is asked.
 * @param formats each resource with the format of its tokens: `jwt` or `opaque`
 * @param extend adds to the provider before it is used
 */
export async function startProvider({
  formats = {},
  clients = [],
  features = {},
  port = 0,
  extend,
  ...more
} = {}) {
  const listener = createServer();
  await once(listener.listen(port, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${listener.address().port}`;
  const consents = [];
  let roles = ['agents'];
  const provider = new Provider(issuer, {
    clients: [
      machine('agent'),
      machine('toolkeeper'),
      { ...codeClient, client_id: 'registered' },
      ...clients,
    ],
    scopes: ['openid', 'offline_access', 'tools:call', 'metrics:read'],
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: () => ({ roles }),
    // The document of the client, which would stand at its address.
    fetch: async (url, options) => {
      if (String(url) !== clientMetadataUrl) return fetch(url, options);
      return new globalThis.Response(JSON.stringify({ ...codeClient, client_id: clientMetadataUrl }), {
        headers: { 'content-type': 'application/json' },
      });
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          audience,
          scope: 'tools:call metrics:read',
          accessTokenFormat: formats[audience] ?? 'jwt',
        }),
      },
      ...features,
    },
    ...more,
  });
  extend?.(provider);
  const answer = provider.callback();
  listener.on('request', (request, response) => {
    if (request.url.startsWith('/interaction/')) void interact(request, response);
    else void answer(request, response);
  });

  async function interact(request, response) {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: 'alice' } });
    const grant =
      (grantId && (await provider.Grant.find(grantId))) ??
      new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
    if (missingOIDCScope.length > 0) grant.addOIDCScope(missingOIDCScope.join(' '));
    for (const [resource, scopes] of Object.entries(missingResourceScopes))
      grant.addResourceScope(resource, scopes.join(' '));
    consents.push(params.scope);
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  /** A token of the client `agent`, which acts for itself. */
  async function tokenFor(resource, scope = 'tools:call') {
    const authorization = `Basic ${Buffer.from('agent:secret-of-agent').toString('base64')}`;
    const answered = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
    });
    const body = await answered.json();
    assert.equal(answered.status, 200, JSON.stringify(body));
    return body.access_token;
  }

  return {
    issuer,
    consents,
    tokenFor,
    setRoles: (given) => (roles = given),
    /** Ends all connections, and refuses new ones until `comeBack`. */
    goAway: () => {
      listener.close();
      listener.closeAllConnections();
    },
    comeBack: () => once(listener.listen(Number(new URL(issuer).port), '127.0.0.1'), 'listening'),
    stop: () => {
      listener.closeAllConnections();
      listener.close();
    },
  };
}
