import { Body, Controller, Get, Header, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import { minuteMs } from '../../../base/common/clock.js';
import { Problem } from '../../../base/common/errors.js';
import { isObject } from '../../../base/common/json.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import type { Facade } from '../../../base/config/oidc-setting.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { escaped, sendPage } from '../../rest/html.js';
import { rawBodyOf } from '../../rest/raw-body.js';
import { AccessPolicy } from '../access-policy.js';
import { Public } from '../scopes.decorator.js';
import { AccessTokens } from './access-tokens.js';
import { textsIn } from './token-checks.js';
import type { TokenIssuer } from './token-issuer.js';

/** A sign-in between two steps. URLs carry it encrypted; the server stores nothing. */
interface SignIn {
  readonly step: 'consent' | 'callback' | 'token';
  /** The agent's address, to which the browser returns. */
  readonly redirect: string;
  readonly expiresAt: number;
  /** Value of the cookie of the browser in which it began. */
  readonly browser: string;
  /** The agent's `state`, which it gets back. */
  readonly state?: string | undefined;
  readonly challenge: string;
  readonly scope: string;
  /** The issuer's authorization code, in the step `token`. */
  readonly code?: string;
}

type Parameters = Readonly<Record<string, unknown>>;

const cookieName = 'toolkeeper_agent_sign_in';
const cookiePattern = new RegExp(`(?:^|; *)${cookieName}=([\\w-]{43})(?:;|$)`);
/** Forms of a PKCE challenge by SHA-256, and of a verifier (RFC 7636). */
const challengePattern = /^[\w-]{43}$/;
const verifierPattern = /^[\w.~-]{43,128}$/;
const maxStateLength = 2_048;
/** Max duration of a sign-in. */
const signInMs = 10 * minuteMs;
/** Bodies of token requests. */
const formBody = { types: ['application/x-www-form-urlencoded'], limit: 32_768 };
const allowOrigin = 'access-control-allow-origin';
/** Paths of the metadata of the authorization server (RFC 8414, OpenID Connect Discovery). */
export const facadeMetadata = ['.well-known/oauth-authorization-server', '.well-known/openid-configuration'];

/**
 * An authorization server in front of an issuer that neither registers clients nor accepts `resource`. Agents sign in here as
 * the configured client and get the issuer's own tokens. The issuer checks the agent's PKCE verifier.
 */
@ApiExcludeController()
@Controller()
export class FacadeController {
  private readonly sealedSignIns: SealedValues;

  constructor(
    keys: KeyRing,
    private readonly policy: AccessPolicy,
    private readonly tokens: AccessTokens,
  ) {
    this.sealedSignIns = new SealedValues(keys, 'sign-ins of agents');
  }

  @Get(facadeMetadata)
  @Public()
  @Header(allowOrigin, '*')
  getMetadata(@Req() request: FastifyRequest): object {
    const { base } = this.facadeFor(request);
    return {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      scopes_supported: ['tools:call'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  /** Answers each registration with the configured client; nothing is stored. */
  @Post('oauth/register')
  @Public({ anyOrigin: true })
  @Header(allowOrigin, '*')
  @HttpCode(201)
  register(
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { facade } = this.facadeFor(request);
    const { redirect_uris: redirects = [], client_name: name } = isObject(body) ? body : {};
    const uris = textsIn(redirects);
    if (uris.length === 0 || !uris.every((uri) => mayRedirect(facade, uri))) {
      void reply.status(400);
      return { error: 'invalid_redirect_uri', error_description: redirectRule };
    }
    return {
      client_id: facade.clientId,
      redirect_uris: uris,
      ...(typeof name === 'string' && { client_name: name }),
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  /** Asks the person whether the agent at this address may sign in. */
  @Get('oauth/authorize')
  @Public()
  authorize(@Query() query: Parameters, @Req() request: FastifyRequest, @Res() reply: FastifyReply): unknown {
    const { facade, base } = this.facadeFor(request);
    const [redirect, state] = [textOf(query['redirect_uri']), textOf(query['state'])];
    if (query['client_id'] !== facade.clientId) throw refusal('client_id is not that of this server');
    // An address that is not allowed gets no answer, not even an error.
    if (redirect === undefined || !mayRedirect(facade, redirect)) throw refusal(redirectRule);
    const challenge = textOf(query['code_challenge']) ?? '';
    const isSafe = query['code_challenge_method'] === 'S256' && challengePattern.test(challenge);
    if (query['response_type'] !== 'code' || !isSafe || (state?.length ?? 0) > maxStateLength)
      return reply.redirect(withQuery(redirect, { error: 'invalid_request', state, iss: base }), 303);
    const browser =
      cookiePattern.exec(request.headers.cookie ?? '')?.[1] ?? randomBytes(32).toString('base64url');
    const scope = facade.scope ?? textOf(query['scope']) ?? 'openid';
    const expiresAt = Date.now() + signInMs;
    const signIn = { step: 'consent', redirect, expiresAt, browser, state, challenge, scope } as const;
    const { pathname, protocol } = new URL(`${base}/oauth`);
    const cookie = `${cookieName}=${browser}; Path=${pathname}; Max-Age=${signInMs / 1_000}; HttpOnly; SameSite=Lax`;
    void reply.header('set-cookie', `${cookie}${protocol === 'https:' ? '; Secure' : ''}`);
    const next = `${pathname}/continue?sign_in=${this.sealedSignIns.seal(signIn)}`;
    return sendPage(
      reply,
      'Let an agent use your tools?',
      `An agent at <strong>${escaped(new URL(redirect).host || redirect)}</strong> asks to call tools of this server in your name. Go on only if you have just started it yourself.`,
      `<a href="${escaped(next)}">Continue to sign in</a>`,
      'To refuse, close this page.',
    );
  }

  /** Redirects a person who has agreed to the issuer. */
  @Get('oauth/continue')
  @Public()
  async continue(@Query() query: Parameters, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const { facade, issuer, base } = this.facadeFor(request);
    const signIn = this.openSignIn(query['sign_in'], 'consent', request);
    const { authorization_endpoint: address } = await issuer.metadata();
    const url = URL.parse(String(address));
    if (!url || !/^https?:$/.test(url.protocol))
      throw new Problem('not_found', 'The issuer takes no sign-ins');
    const parameters = {
      response_type: 'code',
      client_id: facade.clientId,
      redirect_uri: `${base}/oauth/callback`,
      scope: signIn.scope,
      code_challenge: signIn.challenge,
      code_challenge_method: 'S256',
      state: this.sealedSignIns.seal({ ...signIn, step: 'callback' }),
    };
    return reply.header('cache-control', 'no-store').redirect(withQuery(url.href, parameters), 303);
  }

  /** Redirects the issuer's answer to the agent. */
  @Get('oauth/callback')
  @Public()
  async callback(@Query() query: Parameters, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const { issuer, base } = this.facadeFor(request);
    const signIn = this.openSignIn(query['state'], 'callback', request);
    // An issuer that supports `iss` always sends it (RFC 9207).
    const { authorization_response_iss_parameter_supported: namesItself } = await issuer.metadata();
    const { iss = namesItself === true ? '' : issuer.settings.issuer } = query;
    if (iss !== issuer.settings.issuer) throw refusal('the answer is of another issuer');
    const code = textOf(query['code']);
    const answer =
      code === undefined
        ? { error: textOf(query['error'])?.replaceAll(/\W/g, '').slice(0, 64) ?? 'server_error' }
        : { code: this.sealedSignIns.seal({ ...signIn, step: 'token', code }) };
    const url = withQuery(signIn.redirect, { ...answer, state: signIn.state, iss: base });
    return reply.header('cache-control', 'no-store').redirect(url, 303);
  }

  /** Forwards the agent's token request with the client's secret and without `resource`. */
  @Post('oauth/token')
  @Public({ anyOrigin: true })
  @Header(allowOrigin, '*')
  @RouteConfig({ rawBody: formBody })
  @HttpCode(200)
  async token(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const { facade, issuer, base } = this.facadeFor(request);
    void reply.header('cache-control', 'no-store');
    const body = new URLSearchParams(rawBodyOf(request).toString());
    const tokenRequest = this.tokenRequestFor(body, facade, base);
    if (!tokenRequest) return reply.status(400).send({ error: 'invalid_grant' });
    try {
      const { clientId, clientSecret } = facade;
      const secret = clientSecret !== undefined && { client_secret: clientSecret };
      const answer = await issuer.requestTokens({ ...tokenRequest, client_id: clientId, ...secret });
      // The agent gets the tokens for this server, but not the ID token, which identifies the person.
      const { id_token: _, ...tokens } = isObject(answer) ? answer : {};
      return await reply.send(tokens);
    } catch (error) {
      const isRefused = error instanceof UpstreamFailure && error.status !== undefined && error.status < 500;
      const code = isRefused ? 'invalid_grant' : 'temporarily_unavailable';
      return reply.status(isRefused ? 400 : 503).send({ error: code });
    }
  }

  /** The request to the issuer for an agent's token request; undefined if that is invalid. */
  private tokenRequestFor(
    body: URLSearchParams,
    { clientId, scope }: Facade,
    base: string,
  ): Record<string, string> | undefined {
    const grant = body.get('grant_type');
    if (body.get('client_id') !== clientId) return undefined;
    if (grant === 'refresh_token')
      return { grant_type: grant, refresh_token: body.get('refresh_token') ?? '', ...(scope && { scope }) };
    const verifier = body.get('code_verifier') ?? '';
    const signIn = this.sealedSignIns.open(body.get('code') ?? '') as SignIn | undefined;
    if (grant !== 'authorization_code' || signIn?.step !== 'token' || signIn.expiresAt <= Date.now())
      return undefined;
    if (!verifierPattern.test(verifier) || body.get('redirect_uri') !== signIn.redirect) return undefined;
    const code = signIn.code ?? '';
    return { grant_type: grant, code, code_verifier: verifier, redirect_uri: `${base}/oauth/callback` };
  }

  /** Opens a sealed sign-in. @throws Problem `invalid_request` for another step or browser, or after its end */
  private openSignIn(sealed: unknown, step: SignIn['step'], { headers }: FastifyRequest): SignIn {
    const signIn = this.sealedSignIns.open(textOf(sealed) ?? '') as SignIn | undefined;
    const browser = cookiePattern.exec(headers.cookie ?? '')?.[1];
    if (signIn?.step !== step || signIn.expiresAt <= Date.now() || signIn.browser !== browser)
      throw refusal('this sign-in has ended, or began in another browser: begin again');
    return signIn;
  }

  /** The issuer with a facade. @throws Problem `not_found` without one, or if this server's address is unknown */
  private facadeFor(request: FastifyRequest): { issuer: TokenIssuer; facade: Facade; base: string } {
    const issuer = this.tokens.issuerWithFacade;
    const base = this.policy.baseUrl(request);
    const facade = issuer?.settings.facade;
    if (!issuer || !facade || base === undefined)
      throw new Problem('not_found', 'Agents do not sign in through this server (OIDC_ISSUERS, `facade`)');
    return { issuer, facade, base };
  }
}

const redirectRule =
  'redirect_uri must be a loopback address (http://127.0.0.1, [::1] or localhost), or one of `redirects` in OIDC_ISSUERS';
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(\/[^#\\\s]*)?$/;
/** Whether the browser may be sent to an agent's address. */
const mayRedirect = ({ redirects = [] }: Facade, uri: string): boolean =>
  redirects.includes(uri) || (loopback.test(uri) && URL.canParse(uri));

const refusal = (why: string): Problem => new Problem('invalid_request', `The sign-in is refused: ${why}`);
/** Text that is not empty. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A URL with further query parameters. */
function withQuery(address: string, added: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(added))
    if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}
