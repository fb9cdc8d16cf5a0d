import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { messageOf } from '../../../base/common/message-of.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import type { outboundFetch } from './outbound-fetch.js';

export interface OAuthServer {
  /** The resource for which tokens are issued. */
  readonly url: URL;
  /** Authorization server of tokens without a resource; absent: the one that the resource names. */
  readonly issuer?: string | undefined;
  /** The decrypted environment, of which the variables `OAUTH_…` are read. */
  readonly env: PlainEnv;
  readonly fetch: ReturnType<typeof outboundFetch>;
}

/** Tokens of an account, with the client and the endpoints to refresh them. */
export interface Grant {
  readonly accessToken: string;
  /** Time from which the token is refreshed before its use, shortly before it expires; milliseconds since the epoch. */
  readonly renewAt?: number;
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
  readonly flow: Pick<Flow, 'client' | 'discovery'>;
}

/** State of a sign-in between its redirect and its callback, as JSON. */
export interface Flow {
  state: string;
  verifier?: string;
  client?: StoredOAuthClientInformation | undefined;
  discovery?: OAuthDiscoveryState;
}

/** The authorization server has refused a token for good. */
export class GrantEnded extends Error {
  override readonly name = 'GrantEnded';
}

/** MCP's client SDK, which is loaded at the first sign-in. */
const library = () => import('@modelcontextprotocol/client');
/** Time before the expiry of a token at which it is refreshed; a tenth of its lifetime if that is less. */
const maxEarlyMs = 30_000;

/** The grant of a token answer. @param before supplies a refresh token and scope that the answer omits */
export function grantOf(tokens: StoredOAuthTokens, flow: Grant['flow'], before?: Grant): Grant {
  const { access_token: accessToken, refresh_token, expires_in: seconds, scope = before?.scope } = tokens;
  const { client, discovery } = flow;
  return {
    accessToken,
    ...(seconds !== undefined && {
      renewAt: Date.now() + 1_000 * seconds - Math.min(maxEarlyMs, 100 * seconds),
    }),
    // Some servers do not rotate refresh tokens.
    refreshToken: refresh_token ?? before?.refreshToken,
    scope,
    flow: { client, ...(discovery && { discovery }) },
  };
}

/** Keeps only the members that the callback and refreshes need, so that the state fits into a cookie. */
function trimDiscovery({
  authorizationServerMetadata: all,
  resourceMetadata,
  ...others
}: OAuthDiscoveryState): OAuthDiscoveryState {
  const neededMembers = (
    'issuer authorization_endpoint token_endpoint response_types_supported token_endpoint_auth_methods_supported ' +
    'code_challenge_methods_supported authorization_response_iss_parameter_supported'
  ).split(' ');
  const members = Object.entries(all ?? {}).filter(([name]) => neededMembers.includes(name));
  return {
    ...others,
    ...(all && { authorizationServerMetadata: Object.fromEntries(members) as typeof all }),
    ...(resourceMetadata && { resourceMetadata: { resource: resourceMetadata.resource } }),
  };
}

/** A sign-in as the library needs it. It stores all results in the flow. */
class Provider implements OAuthClientProvider {
  location: URL | undefined;
  discoveryState?: () => OAuthDiscoveryState;

  /** @param clientMetadataUrl URL of the client's metadata document; absent if this server has no https address */
  constructor(
    private readonly env: PlainEnv,
    readonly redirectUrl: string,
    private readonly flow: Flow,
    readonly clientMetadataUrl?: string,
  ) {}

  get clientMetadata() {
    return clientMetadata(this.redirectUrl);
  }
  state = (): string => this.flow.state;
  clientInformation = (): StoredOAuthClientInformation | undefined => this.flow.client ?? clientIn(this.env);
  saveClientInformation = (client: StoredOAuthClientInformation): void => void (this.flow.client = client);
  tokens = (): undefined => undefined;
  saveTokens = (): void => undefined;
  redirectToAuthorization = (to: URL): void => void (this.location = to);
  saveCodeVerifier = (verifier: string): void => void (this.flow.verifier = verifier);
  codeVerifier = (): string => '';
  saveDiscoveryState = (state: OAuthDiscoveryState): void => void (this.flow.discovery = state);
}

/** The client that the tool's variables name. */
function clientIn({ OAUTH_CLIENT_ID: id, OAUTH_CLIENT_SECRET: secret, OAUTH_ISSUER: issuer }: PlainEnv) {
  if (id === undefined) return undefined;
  return {
    client_id: id,
    ...(secret !== undefined && { client_secret: secret }),
    ...(issuer !== undefined && { issuer }),
  };
}

/** The metadata document of this server as an OAuth client. */
export const clientMetadata = (redirectUrl: string) => ({
  client_name: 'Toolkeeper',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/**
 * Begins a sign-in: finds the authorization server, registers a client if needed, and fills the flow.
 * @param scope scopes in addition to those that the server asks for
 * @returns the URL to which the browser is redirected
 */
export async function beginFlow(
  { url, issuer, env, fetch }: OAuthServer,
  redirectUrl: string,
  flow: Flow,
  { scope, documentUrl }: { readonly scope?: string | undefined; readonly documentUrl?: string | undefined },
): Promise<URL> {
  const { auth, computeScopeUnion, extractWWWAuthenticateParams } = await library();
  const challenge = issuer ? {} : extractWWWAuthenticateParams(await requestWithoutToken(url, fetch));
  const provider = new Provider(env, redirectUrl, flow, documentUrl);
  if (issuer) provider.discoveryState = () => ({ authorizationServerUrl: issuer });
  const wanted = scope ? computeScopeUnion(scope, challenge.scope) : (env['OAUTH_SCOPE'] ?? challenge.scope);
  const { resourceMetadataUrl } = challenge;
  await auth(provider, {
    serverUrl: url,
    fetchFn: fetch,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
    ...(wanted !== undefined && { scope: wanted }),
  });
  const metadata = flow.discovery?.authorizationServerMetadata;
  if (!metadata?.code_challenge_methods_supported?.includes('S256'))
    throw new Error('its authorization server does not support PKCE (S256)');
  if (!provider.location) throw new Error('its authorization server has no address to sign in at');
  if (flow.discovery) flow.discovery = trimDiscovery(flow.discovery);
  // The library does not save a client that the variables name.
  flow.client ??= clientIn(env);
  return provider.location;
}

/**
 * Sends a request without a token. The server refuses it with its scopes and the address of its metadata. `tools/list`,
 * because some servers accept `initialize` and `server/discover` without a token.
 */
const requestWithoutToken = (url: URL, fetch: OAuthServer['fetch']): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

/** Finishes a sign-in: exchanges the code. @throws Error if `iss` in the callback names another authorization server */
export async function endFlow(
  { fetch }: OAuthServer,
  redirectUri: string,
  { client, discovery, verifier: codeVerifier = '' }: Flow,
  { code: authorizationCode, iss }: { readonly code: string; readonly iss?: string | undefined },
): Promise<Grant> {
  const { exchangeAuthorization } = await library();
  if (!client || !discovery) throw new Error('the sign-in was not begun');
  const tokens = await exchangeAuthorization(discovery.authorizationServerUrl, {
    ...requestOf(client, discovery, fetch),
    ...(iss !== undefined && { iss }),
    authorizationCode,
    codeVerifier,
    redirectUri,
  });
  return grantOf(tokens, { client, discovery });
}

/** Refreshes a grant. @throws GrantEnded; another error if the authorization server did not answer */
export async function refreshGrant({ fetch }: OAuthServer, grant: Grant): Promise<Grant> {
  const { OAuthError, refreshAuthorization } = await library();
  const { client, discovery } = grant.flow;
  const { refreshToken } = grant;
  if (!refreshToken || !client || !discovery) throw new GrantEnded('The account has no refresh token');
  try {
    const request = { ...requestOf(client, discovery, fetch), refreshToken };
    const tokens = await refreshAuthorization(discovery.authorizationServerUrl, request);
    return grantOf(tokens, grant.flow, grant);
  } catch (error) {
    const isOver = error instanceof OAuthError && ['invalid_grant', 'invalid_client'].includes(error.code);
    throw isOver ? new GrantEnded(`Its authorization server answered ${error.code}`) : error;
  }
}

/** Options of a request to the authorization server of a flow. */
const requestOf = (
  clientInformation: StoredOAuthClientInformation,
  { authorizationServerMetadata: metadata, resourceMetadata }: OAuthDiscoveryState,
  fetchFn: OAuthServer['fetch'],
) => ({
  clientInformation,
  fetchFn,
  ...(metadata && { metadata }),
  ...(resourceMetadata && { resource: resourceMetadata.resource }),
});

/** A token of the server itself, by client credentials. */
export async function clientToken({ url, env, fetch }: OAuthServer): Promise<Grant> {
  const { auth, ClientCredentialsProvider, extractWWWAuthenticateParams } = await library();
  const challenge = extractWWWAuthenticateParams(await requestWithoutToken(url, fetch));
  const { resourceMetadataUrl } = challenge;
  const { OAUTH_CLIENT_ID: clientId = '', OAUTH_CLIENT_SECRET: clientSecret = '' } = env;
  const { OAUTH_ISSUER: expectedIssuer, OAUTH_SCOPE: scope = challenge.scope } = env;
  const provider = new ClientCredentialsProvider({
    clientId,
    clientSecret,
    ...(expectedIssuer !== undefined && { expectedIssuer }),
    ...(scope !== undefined && { scope }),
  });
  await auth(provider, {
    serverUrl: url,
    fetchFn: fetch,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  });
  const tokens = provider.tokens();
  if (!tokens) throw new Error('Its authorization server issued no token');
  return grantOf(tokens, {});
}

/* Names of RFC 8693. */
const exchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
/** Faults of the authorization server, which say nothing about the token. */
const serverFaults = ['server_error', 'temporarily_unavailable', 'too_many_requests'];

/**
 * Exchanges a caller's access token for a token of the server (RFC 8693).
 * @throws GrantEnded if it is refused; another error if the authorization server did not answer
 */
export async function exchangeToken({ url, env, fetch }: OAuthServer, subject: string): Promise<Grant> {
  const { fetchToken, OAuthError } = await library();
  const { OAUTH_EXCHANGE_URL: endpoint = '', OAUTH_ISSUER: issuer = endpoint } = env;
  const { OAUTH_AUDIENCE: audience, OAUTH_SCOPE: scope } = env;
  const form = {
    grant_type: exchangeGrantType,
    subject_token: subject,
    subject_token_type: accessTokenType,
    ...(audience === undefined ? { resource: url.href } : { audience }),
    ...(scope !== undefined && { scope }),
  };
  const prepareTokenRequest = () => new URLSearchParams(form);
  const provider = Object.assign(new Provider(env, '', { state: '' }), { prepareTokenRequest });
  const metadata = {
    issuer,
    token_endpoint: endpoint,
    authorization_endpoint: endpoint,
    response_types_supported: [],
  };
  try {
    const tokens = await fetchToken(provider, issuer, { metadata, fetchFn: fetch });
    if (tokens.access_token === subject) throw new GrantEnded('the same token was returned');
    return grantOf(tokens, {});
  } catch (error) {
    const isRefused = error instanceof OAuthError && !serverFaults.includes(error.code);
    const message = isRefused ? `${error.code}: ${messageOf(error)}` : messageOf(error);
    const why = message.replaceAll(subject, '[access token]');
    const ErrorClass = isRefused || error instanceof GrantEnded ? GrantEnded : Error;
    throw new ErrorClass(`The access token of this call was not exchanged: ${why}`);
  }
}
