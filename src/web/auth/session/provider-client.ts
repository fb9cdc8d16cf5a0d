import { Inject, Injectable } from '@nestjs/common';
import type { Configuration, ServerMetadata, TokenEndpointResponse } from 'openid-client';
import { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import type { ConsoleClient } from '../../../base/config/oidc-setting.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { unauthorized } from '../access-policy.js';
import { AccessTokens, issuerIn } from '../tokens/access-tokens.js';
import { type Claims, maxTokenBytes, textsIn, tokenChecks } from '../tokens/token-checks.js';
import type { TokenIssuer } from '../tokens/token-issuer.js';

/** A provider's answer about a person. */
export interface ProviderTokens {
  /** Claims of the ID token. */
  readonly claims: Claims;
  readonly idToken: string;
  readonly refreshToken?: string;
  /** Milliseconds until the claims are renewed, if there is a refresh token. */
  readonly renewMs: number;
}

/** A person who has signed in at an OpenID provider. */
export interface SignedIn extends ProviderTokens {
  readonly issuer: string;
  /** State of the sign-in, which is accepted once. */
  readonly state: string;
}

/** A provider's request to end sessions: those with its session id, or else all of the person. */
export interface Logout {
  readonly issuer: string;
  readonly jti: string;
  readonly sid: string | undefined;
  readonly subject: string | undefined;
  /** Seconds since the epoch, by the provider's clock. */
  readonly issuedAt: number;
}

/** A sign-in in progress. The browser carries it in a sealed cookie. */
interface Transaction {
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The console path to open after the sign-in. */
  readonly to: string | undefined;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

/** Max duration of a sign-in. */
const transactionMs = 5 * 60_000;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** Maximum age of a logout token, in seconds. */
const maxLogoutAge = 300;
/** Tolerance between the clocks of provider and server. */
const skewSeconds = 5;
/** Bounds, in seconds, of the age at which a session's claims are renewed: the lifetime of the access token. */
const renewalAge = { min: 5, max: 300 };

/** The client of OpenID providers: redirects browsers to one, and checks what they bring back. */
@Injectable()
export class ProviderClient {
  private readonly sealed: SealedValues;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth' | 'server'>,
    private readonly tokens: AccessTokens,
    ring: KeyRing,
  ) {
    this.sealed = new SealedValues(ring, 'console sign-in');
  }

  get issuers(): readonly TokenIssuer[] {
    return this.config.auth.mode === 'off' ? [] : this.tokens.consoles;
  }

  /**
   * Begins a sign-in.
   * @param to console path to open afterwards
   * @returns the URL to which the browser goes, and the sealed transaction that it carries
   * @throws Problem `not_found` for an unknown issuer, `tool_unavailable` if it does not answer
   */
  async begin(issuer: string, to?: string): Promise<{ url: string; sealed: string; endsAt: number }> {
    const openid = await import('openid-client');
    const { scopes = ['profile', 'email'] } = this.consoleOf(this.issuerOf(issuer));
    const client = await this.clientFor(issuer);
    const state = openid.randomState();
    const nonce = openid.randomNonce();
    const verifier = openid.randomPKCECodeVerifier();
    const endsAt = Date.now() + transactionMs;
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: this.redirectUri,
      scope: ['openid', ...scopes].join(' '),
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    const transaction: Transaction = { issuer, state, nonce, verifier, to: this.ownPath(to), endsAt };
    return { url: url.href, sealed: this.sealed.seal(transaction), endsAt };
  }

  /**
   * Ends a sign-in.
   * @param answer query with which the provider sent the browser back
   * @param sealed transactions that the browser carries
   * @throws Problem `unauthorized` with the reason why the person is not signed in
   */
  async finish(answer: string, sealed: readonly string[]): Promise<SignedIn & Pick<Transaction, 'to'>> {
    const transaction = sealed
      .map((each) => this.sealed.open(each) as Transaction | undefined)
      .find((each) => each && each.endsAt > Date.now());
    if (!transaction)
      throw unauthorized('This sign-in began over five minutes ago, or in another browser: start again.');
    const { issuer, state, nonce, verifier, to } = transaction;
    const provider = this.issuerOf(issuer);
    const url = new URL(this.redirectUri);
    url.search = answer;
    const client = await this.clientFor(issuer);
    try {
      const { authorizationCodeGrant } = await import('openid-client');
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      const response = await authorizationCodeGrant(client, url, { ...checks, idTokenExpected: true });
      return { issuer, ...(await tokensIn(response, provider)), state, to };
    } catch (error) {
      throw unauthorized(`The provider did not sign you in: ${reasonOf(error)}.`);
    }
  }

  /**
   * Fetches a person's current claims from the provider.
   * @returns undefined if the provider has ended the sign-in
   * @throws Error if it does not answer
   */
  async renew(session: ProviderTokens & { issuer: string }): Promise<ProviderTokens | undefined> {
    const { issuer, ...before } = session;
    const client = await this.clientFor(issuer);
    const { refreshTokenGrant } = await import('openid-client');
    const response = await refreshTokenGrant(client, before.refreshToken ?? '').catch((error: unknown) => {
      const { cause } = error as { cause?: unknown };
      // Status 400 means `invalid_grant`; a client with a wrong secret gets 401.
      if (cause instanceof UpstreamFailure && cause.status === 400) return undefined;
      throw cause ?? error;
    });
    const next = response && (await tokensIn(response, this.issuerOf(issuer), before));
    return next?.claims['sub'] === before.claims['sub'] ? next : undefined;
  }

  /** URL where the browser also signs out at the provider; undefined if the provider has none. */
  async signOutUrl({ issuer, idToken }: Pick<SignedIn, 'issuer' | 'idToken'>): Promise<string | undefined> {
    const client = await this.clientFor(issuer).catch(() => undefined);
    if (client?.serverMetadata().end_session_endpoint === undefined) return undefined;
    const { buildEndSessionUrl } = await import('openid-client');
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: this.redirectUri };
    return buildEndSessionUrl(client, parameters).href;
  }

  /** Checks and reads a provider's logout token. @throws Problem `invalid_request` */
  async logoutIn(token: string): Promise<Logout> {
    const issuer = this.issuers.find(({ settings }) => settings.issuer === issuerIn(token));
    try {
      if (!issuer) throw new Error('its issuer has no `console` in OIDC_ISSUERS');
      const { claims, typ = 'JWT' } = await issuer.verify(token);
      const problem = logoutProblem(claims, typ, this.consoleOf(issuer).clientId);
      if (problem !== undefined) throw new Error(problem);
      return {
        issuer: issuer.settings.issuer,
        jti: String(claims['jti']),
        sid: textsIn(claims['sid'])[0],
        subject: textsIn(claims['sub'])[0],
        issuedAt: Number(claims['iat']),
      };
    } catch (error) {
      throw new Problem('invalid_request', `This logout token is refused: ${messageOf(error)}`);
    }
  }

  private get redirectUri(): string {
    return `${this.config.server.publicUrl}/console/sign-in`;
  }

  /** The path if it is one of this console, else undefined, so that a link cannot lead to another site. */
  private ownPath(to = ''): string | undefined {
    if (to === '') return undefined;
    const base = new URL(`${this.config.server.publicUrl}/console/`);
    const { origin, pathname, search, hash } = URL.parse(to, base.href) ?? new URL('about:blank');
    return origin === base.origin && pathname.startsWith(base.pathname)
      ? `${pathname}${search}${hash}`
      : undefined;
  }

  /** The issuer by its URL. @throws Problem `not_found` */
  private issuerOf(issuer: string): TokenIssuer {
    const found = this.issuers.find(({ settings }) => settings.issuer === issuer);
    if (!found) throw new Problem('not_found', 'There is no such provider in OIDC_ISSUERS with `console`');
    return found;
  }

  /** The settings of this server's client at an issuer. */
  private consoleOf({ settings }: TokenIssuer): ConsoleClient {
    return settings.console as ConsoleClient;
  }

  /** The client for one issuer. @throws Problem `tool_unavailable` */
  private async clientFor(name: string): Promise<Configuration> {
    const openid = await import('openid-client');
    const issuer = this.issuerOf(name);
    const { clientId, clientSecret } = this.consoleOf(issuer);
    const metadata = (await issuer.metadata().catch((error: unknown) => {
      throw new Problem('tool_unavailable', `The provider ${name} cannot be used: ${reasonOf(error)}`);
    })) as ServerMetadata;
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = metadata;
    const auth = methods.includes('client_secret_basic') ? openid.ClientSecretBasic : openid.ClientSecretPost;
    const authentication = clientSecret === undefined ? openid.None() : auth(clientSecret);
    const client = new openid.Configuration(metadata, clientId, undefined, authentication);
    // The operator chose the scheme of the issuer.
    if (name.startsWith('http:')) openid.allowInsecureRequests(client);
    client[openid.customFetch] = async (url, { method, headers, body }) => {
      const form = body instanceof URLSearchParams ? body.toString() : undefined;
      const request = { method: method === 'POST' ? 'POST' : 'GET', headers, body: form } as const;
      return Response.json(await issuer.ask(url, request));
    };
    return client;
  }
}

/** Verifies and reads a token response. @param before fallback for what a renewal does not return */
async function tokensIn(
  response: TokenEndpointResponse,
  provider: TokenIssuer,
  before?: ProviderTokens,
): Promise<ProviderTokens> {
  const { id_token: idToken, refresh_token: refreshToken = before?.refreshToken, expires_in: age } = response;
  const { min, max } = renewalAge;
  const renewMs = 1_000 * Math.min(max, Math.max(min, age ?? max));
  const renewal = { renewMs, ...(refreshToken !== undefined && { refreshToken }) };
  if (before && idToken === undefined) return { ...before, ...renewal };
  if (idToken === undefined) throw new Error('its answer has no ID token');
  if (idToken.length > maxTokenBytes) throw new Error(`its ID token has over ${maxTokenBytes} characters`);
  const verified = await provider.verify(idToken);
  tokenChecks['subject']?.(verified, provider.settings, Date.now() / 1_000);
  return { claims: verified.claims, idToken, ...renewal };
}

/** The reason to refuse a logout token (OpenID Connect Back-Channel Logout); undefined if it is valid. */
function logoutProblem(claims: Claims, typ: string, clientId: string): string | undefined {
  const { aud, iat, exp = Infinity, jti, events, nonce, sid, sub } = claims;
  const nowSeconds = Date.now() / 1_000;
  const age = nowSeconds - Number(iat);
  const event = (events as Readonly<Record<string, unknown>> | null | undefined)?.[logoutEvent];
  const isNamed = [sid, sub].some((each) => typeof each === 'string' && each !== '');
  if (!/^(application\/)?(logout\+)?jwt$/i.test(typ)) return 'its header `typ` is not that of a logout token';
  if (!textsIn(aud).includes(clientId)) return 'it is for another client (claim aud)';
  if (!(age >= -skewSeconds && age <= maxLogoutAge)) return 'it is too old, or of the future (claim iat)';
  if (!(Number(exp) + skewSeconds > nowSeconds)) return 'it has expired';
  if (typeof event !== 'object' || event === null) return 'it has no logout event (claim events)';
  if (nonce !== undefined) return 'it has a nonce';
  if (typeof jti !== 'string' || jti === '') return 'it has no id (claim jti)';
  return isNamed ? undefined : 'it names neither a session (sid) nor a person (sub)';
}

/** Max characters of a provider's reason. */
const maxReason = 300;

/** The provider's error, or that of the check of its answer, as one short line. */
function reasonOf(error: unknown): string {
  const { error: code, error_description: description } = error as Partial<Record<string, unknown>>;
  if (error instanceof UpstreamFailure) return `it does not answer (${error.kind})`;
  const reported = [code, description].filter((part) => typeof part === 'string').join(': ');
  const { cause } = error as { cause?: unknown };
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return (reported || `${messageOf(error)}${detail}`).replaceAll(/\p{C}/gu, '').slice(0, maxReason);
}
