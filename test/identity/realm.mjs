import assert from 'node:assert/strict';
import { URLSearchParams } from 'node:url';

const password = 'password-of-alice';

/** A scope that a client asks for, whose tokens are for an audience. */
const scopeFor = (name, audience, mappers = []) => ({
  name,
  protocol: 'openid-connect',
  attributes: { 'include.in.token.scope': 'true' },
  protocolMappers: [audienceMapper(audience), ...mappers],
});

/** Puts a client into the audience of tokens. */
export const audienceMapper = (client) => ({
  name: `audience ${client}`,
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.custom.audience': client, 'access.token.claim': 'true' },
});

/** Clients that register themselves with a scope get the mappers of that scope alone. */
const rolesMapper = {
  name: 'realm roles',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-usermodel-realm-role-mapper',
  config: { 'claim.name': 'realm_access.roles', multivalued: 'true', 'access.token.claim': 'true' },
};

/** What a realm gives to those who ask its token endpoint. */
function tokensAt(issuer) {
  async function ask(form) {
    const answer = await fetch(`${issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const tokens = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(tokens));
    return tokens;
  }
  return {
    issuer,
    /** All tokens of alice at a client. */
    tokensOf: (scope = 'openid tools:call', client_id = 'registered') =>
      ask({ grant_type: 'password', client_id, username: 'alice', password, scope }),
    refreshed: (refresh_token) =>
      ask({ grant_type: 'refresh_token', client_id: 'registered', refresh_token }),
    /** A token of a client that acts for itself. */
    machineToken: async (scope) =>
      (
        await ask({
          grant_type: 'client_credentials',
          client_id: 'agent',
          client_secret: 'secret-of-agent',
          scope,
        })
      ).access_token,
  };
}

/**
 * A realm with one person, alice, who has the role `sre`, and the clients that tests need. Tokens of its scopes `tools:call`, which
 * takes the role, and `everybody` are for `audience`, those of `other` for another server.
 */
export async function makeRealm({ url, admin }, realm, audience) {
  const client = (clientId, more) => ({
    clientId,
    publicClient: true,
    standardFlowEnabled: true,
    directAccessGrantsEnabled: true,
    // Any port.
    redirectUris: ['http://127.0.0.1/*'],
    attributes: { 'pkce.code.challenge.method': 'S256' },
    ...more,
  });
  const machine = (clientId) => ({
    ...client(clientId, { publicClient: false, secret: `secret-of-${clientId}` }),
    serviceAccountsEnabled: true,
    standardFlowEnabled: false,
    attributes: {},
  });
  await admin('', 'POST', {
    realm,
    enabled: true,
    roles: { realm: [{ name: 'sre' }] },
    users: [
      {
        username: 'alice',
        enabled: true,
        email: 'alice@example.com',
        firstName: 'Alice',
        lastName: 'Example',
        credentials: [{ type: 'password', value: password }],
        realmRoles: ['sre', `default-roles-${realm}`],
      },
    ],
  });
  const scopes = [
    scopeFor('tools:call', audience, [rolesMapper]),
    scopeFor('everybody', audience, [audienceMapper('gateway')]),
    scopeFor('other', 'https://other.example/mcp'),
  ];
  for (const scope of scopes) {
    const id = await admin(`/${realm}/client-scopes`, 'POST', scope);
    await admin(`/${realm}/default-optional-client-scopes/${id}`, 'PUT');
    if (scope.name !== 'tools:call') continue;
    // Tokens of clients that register themselves name roles of their scopes alone.
    const role = await admin(`/${realm}/roles/sre`);
    await admin(`/${realm}/client-scopes/${id}/scope-mappings/realm`, 'POST', [role]);
  }
  const short = { attributes: { 'access.token.lifespan': '2' } };
  for (const made of [client('registered'), client('short', short), machine('agent'), machine('toolkeeper')])
    await admin(`/${realm}/clients`, 'POST', made);

  return tokensAt(`${url}/realms/${realm}`);
}

/** Fills in Keycloak's pages as alice does: she signs in, and agrees. */
export function submitForm(page) {
  const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
  assert.ok(action, page);
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const body = new URLSearchParams([
    ...hidden.map(([, name, value]) => [name, value]),
    ...(page.includes('name="password"')
      ? [
          ['username', 'alice'],
          ['password', password],
        ]
      : [['accept', 'Yes']]),
  ]);
  return [action.replaceAll('&amp;', '&'), { method: 'POST', body }];
}
