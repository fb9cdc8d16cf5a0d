import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { messageOf } from '../../../base/common/message-of.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import type { outboundFetch } from './outbound-fetch.js';

/** An MCP server, and the client by which it is signed in to. */
export interface OAuthServer {
  /** The resource for which tokens are issued. */
  readonly url: URL;
  /** Authorization server of tokens that are for no resource; absent: the one that the resource names. */
  readonly issuer?: string | undefined;
  /** Opened: its variables `OAUTH_…` are read. */
  readonly env: PlainEnv;
  readonly fetch: ReturnType<typeof outboundFetch>;
}

/** Tokens of an account, with all that is needed to refresh them. */
export interface Grant {
  readonly accessToken: string;
  /** Milliseconds since the epoch, shortly before it ends: from here on it is refreshed before it is used. */
  readonly renewAt?: number;
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
  readonly flow: Pick<Flow, 'client' | 'discovery'>;
}

/** State of a sign-in between its two halves, as JSON. */
export interface Flow {
  state: string;
  verifier?: string;
  client?: StoredOAuthClientInformation | undefined;
  discovery?: OAuthDiscoveryState;
}

/** The authorization server refuses the refresh token for good. */
export class GrantEnded extends Error {
  override readonly name = 'GrantEnded';
}

const library = () => import('@modelcontextprotocol/client');
const maxRenewMs = 30_000;

export function grantOf(tokens: StoredOAuthTokens, flow: Grant['flow'], before?: Grant): Grant {
  const { access_token: accessToken, refresh_token, expires_in: seconds, scope = before?.scope } = tokens;
  const { client, discovery } = flow;
  return {
    accessToken,
    ...(seconds !== undefined && {
      renewAt: Date.now() + 1_000 * seconds - Math.min(maxRenewMs, 100 * seconds),
    }),
    // Not each server rotates them.
    refreshToken: refresh_token ?? before?.refreshToken,
    scope,
    flow: { client, ...(discovery && { discovery }) },
  };
}

/** The parts of what was discovered that the second half and refreshes need: all of it may be too large for a cookie. */
function trimmed({
  authorizationServerMetadata: all,
  resourceMetadata,
  ...others
}: OAuthDiscoveryState): OAuthDiscoveryState {
  const kept = [
    ...['issuer', 'authorization_endpoint', 'token_endpoint', 'response_types_supported'],
    ...['token_endpoint_auth_methods_supported', 'code_challenge_methods_supported'],
    'authorization_response_iss_parameter_supported',
  ];
  const members = Object.entries(all ?? {}).filter(([name]) => kept.includes(name));
  return {
    ...others,
    ...(all && { authorizationServerMetadata: Object.fromEntries(members) as typeof all }),
    ...(resourceMetadata && { resourceMetadata: { resource: resourceMetadata.resource } }),
  };
}

class Provider implements OAuthClientProvider {
  location: URL | undefined;
  discoveryState?: () => OAuthDiscoveryState;

  /** @param documentUrl of the client's metadata document; absent: this server has no https address */
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
  clientInformation = (): StoredOAuthClientInformation | undefined =>
    this.flow.client ?? registered(this.env);
  saveClientInformation = (client: StoredOAuthClientInformation): void => void (this.flow.client = client);
  tokens = (): undefined => undefined;
  saveTokens = (): void => undefined;
  redirectToAuthorization = (to: URL): void => void (this.location = to);
  saveCodeVerifier = (verifier: string): void => void (this.flow.verifier = verifier);
  codeVerifier = (): string => '';
  saveDiscoveryState = (found: OAuthDiscoveryState): void => void (this.flow.discovery = found);
}

/** The client that the registration names. */
function registered({ OAUTH_CLIENT_ID: id, OAUTH_CLIENT_SECRET: secret, OAUTH_ISSUER: issuer }: PlainEnv) {
  if (id === undefined) return undefined;
  return {
    client_id: id,
    ...(secret !== undefined && { client_secret: secret }),
    ...(issuer !== undefined && { issuer }),
  };
}

export const clientMetadata = (redirectUrl: string) => ({
  client_name: 'Toolkeeper',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/**
 * First half of a sign-in: finds the authorization server and a client, and fills the flow.
 * @param scope wanted besides what the server asks for
 * @returns the address to which the browser goes
 */
export async function beginFlow(
  { url, issuer, env, fetch }: OAuthServer,
  redirectUrl: string,
  flow: Flow,
  { scope, documentUrl }: { readonly scope?: string | undefined; readonly documentUrl?: string | undefined },
): Promise<URL> {
  const { auth, computeScopeUnion, extractWWWAuthenticateParams } = await library();
  const challenge = issuer ? {} : extractWWWAuthenticateParams(await challenged(url, fetch));
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
  if (flow.discovery) flow.discovery = trimmed(flow.discovery);
  // The library saves no client that the registration names.
  flow.client ??= registered(env);
  return provider.location;
}

/**
 * A request without a token, which the server refuses with the scopes and the address of its metadata. Some servers refuse
 * neither `initialize` nor `server/discover`.
 */
const challenged = (url: URL, fetch: OAuthServer['fetch']): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

/** Second half: exchanges the code. @param iss of the redirect @throws Error if it came from another server */
export async function endFlow(
  { fetch }: OAuthServer,
  redirectUri: string,
  { client, discovery, verifier: codeVerifier = '' }: Flow,
  { code: authorizationCode, iss }: { readonly code: string; readonly iss?: string | undefined },
): Promise<Grant> {
  const { exchangeAuthorization } = await library();
  if (!client || !discovery) throw new Error('it was not begun');
  const tokens = await exchangeAuthorization(discovery.authorizationServerUrl, {
    ...requestOf(client, discovery, fetch),
    ...(iss !== undefined && { iss }),
    authorizationCode,
    codeVerifier,
    redirectUri,
  });
  return grantOf(tokens, { client, discovery });
}

/** @throws GrantEnded; another error if the authorization server did not answer */
export async function refreshed({ fetch }: OAuthServer, grant: Grant): Promise<Grant> {
  const { OAuthError, refreshAuthorization } = await library();
  const { client, discovery } = grant.flow;
  const { refreshToken } = grant;
  if (!refreshToken || !client || !discovery) throw new GrantEnded('The account has no refresh token');
  try {
    const asked = { ...requestOf(client, discovery, fetch), refreshToken };
    return grantOf(await refreshAuthorization(discovery.authorizationServerUrl, asked), grant.flow, grant);
  } catch (error) {
    const isOver = error instanceof OAuthError && ['invalid_grant', 'invalid_client'].includes(error.code);
    throw isOver ? new GrantEnded(`Its authorization server says ${error.code}`) : error;
  }
}

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
  const { resourceMetadataUrl, scope: asked } = extractWWWAuthenticateParams(await challenged(url, fetch));
  const { OAUTH_CLIENT_ID: clientId = '', OAUTH_CLIENT_SECRET: clientSecret = '' } = env;
  const { OAUTH_ISSUER: expectedIssuer, OAUTH_SCOPE: scope = asked } = env;
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

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
/** Faults of the authorization server, which say nothing about the token. */
const serverFaults = ['server_error', 'temporarily_unavailable', 'too_many_requests'];

/**
 * A token for the server in exchange for that of its caller (RFC 8693).
 * @throws GrantEnded if it is refused; another error if the authorization server did not answer
 */
export async function exchanged({ url, env, fetch }: OAuthServer, subject: string): Promise<Grant> {
  const { fetchToken, OAuthError } = await library();
  const { OAUTH_EXCHANGE_URL: endpoint = '', OAUTH_ISSUER: issuer = endpoint } = env;
  const { OAUTH_AUDIENCE: audience, OAUTH_SCOPE: scope } = env;
  const form = {
    grant_type: exchangeGrant,
    subject_token: subject,
    subject_token_type: accessToken,
    ...(audience === undefined ? { resource: url.href } : { audience }),
    ...(scope !== undefined && { scope }),
  };
  const prepareTokenRequest = () => new URLSearchParams(form);
  const provider = Object.assign(new Provider(env, '', { state: '' }), { prepareTokenRequest });
  const metadata = {
    ...{ issuer, token_endpoint: endpoint, authorization_endpoint: endpoint },
    response_types_supported: [],
  };
  try {
    const tokens = await fetchToken(provider, issuer, { metadata, fetchFn: fetch });
    if (tokens.access_token === subject) throw new GrantEnded('it was given back as it is');
    return grantOf(tokens, {});
  } catch (error) {
    const isRefused = error instanceof OAuthError && !serverFaults.includes(error.code);
    const why = `${isRefused ? `${error.code}: ` : ''}${messageOf(error)}`.replaceAll(
      subject,
      '[access token]',
    );
    const Kind = isRefused || error instanceof GrantEnded ? GrantEnded : Error;
    throw new Kind(`The access token of this call was not exchanged: ${why}`);
  }
}
