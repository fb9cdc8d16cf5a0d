import { Inject, Injectable } from '@nestjs/common';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { Problem, type ProblemDetails, Refusal } from '../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { isBound, type Principal, type Scope, scopes } from '../contract/principal.js';
import { AdminKey, KnownKeys, presentedKey } from './known-keys.js';
import type { Session } from './known-sessions.js';
import { sessionHeader, Sessions } from './sessions.js';
import { AccessTokens } from './tokens/access-tokens.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Set before any other hook or handler runs. */
    principal?: Principal;
    /** The one project that the request reads or changes, once it is known. */
    project?: string;
  }
}

/** The parts of a request that decide whether it is admitted. `protocol`: `http`, or what a trusted proxy reports. */
type RequestParts = Pick<FastifyRequest, 'headers' | 'method' | 'protocol'> & {
  readonly raw: Pick<IncomingMessage, 'httpVersion'>;
};

/** The matched route as it was registered. Without `url`, no route matched. */
export type Route = Pick<FastifyContextConfig, 'public' | 'anyOrigin' | 'scopes'> & { readonly url?: string };

/** The address of the metadata of this protected resource (RFC 9728). */
export const resourceMetadata = '/.well-known/oauth-protected-resource';
/** Max size of the cache of trusted hosts. */
const maxTrustedHosts = 100;
/** Routes of Swagger UI and of the OpenAPI document; they are not Nest's. */
export const docsRoute = /^\/(docs([/-].*)?|openapi\.(json|yaml))?$/;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Authenticates and authorizes requests. Routes that are not declared public need a key. */
@Injectable()
export class AccessPolicy {
  /** Cache of trusted `Host` headers: a client sends the same one each time. */
  private readonly trustedHosts = new Set<string>();
  /** The caller without a key if no key is configured, on loopback addresses only. */
  private readonly anonymous: Principal = {
    userId: 'anonymous',
    scopes: new Set(['tools:call', 'metrics:read', 'traces:write', 'traces:read']),
    projects: ['default'],
    keyless: true,
  };
  /** The caller with AUTH_MODE=off. */
  private readonly allRights: Principal = { userId: 'anonymous', scopes: new Set(scopes) };
  /** The caller of a public route. */
  private readonly noRights: Principal = { userId: 'anonymous', scopes: new Set() };

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth' | 'server'>,
    private readonly adminKey: AdminKey,
    private readonly keys: KnownKeys,
    private readonly sessions: Sessions,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Identifies the caller of a request and checks its rights. The answer is a promise for an access token that is not
   * cached, and for a session whose claims are renewed.
   * @returns the principal; one without scopes on a public route
   * @throws Problem `unauthorized` without a valid key; `forbidden` if a scope is missing, or if a request without a key has
   *   an untrusted host or may be cross-site
   */
  admit(request: RequestParts, route: Route): Principal | Promise<Principal> {
    try {
      const principal = this.identify(request, route);
      if (principal instanceof Promise) return this.admitLater(principal, request, route);
      this.authorize(principal, request, route);
      return principal;
    } catch (error) {
      throw this.withTokenChallenge(error, request, route);
    }
  }

  /** This server's address as callers see it: PUBLIC_URL, or else the `Host`; undefined if that is not trusted. */
  baseUrl({ headers, protocol }: Pick<RequestParts, 'headers' | 'protocol'>): string | undefined {
    const { host = '' } = headers;
    const { publicUrl } = this.config.server;
    return publicUrl ?? (this.isTrusted({ host }) ? `${protocol}://${host}` : undefined);
  }

  /** Checks the rights of a caller that is still being identified. */
  private async admitLater(
    identifying: Promise<Principal>,
    request: RequestParts,
    route: Route,
  ): Promise<Principal> {
    try {
      const principal = await identifying;
      this.authorize(principal, request, route);
      return principal;
    } catch (error) {
      throw this.withTokenChallenge(error, request, route);
    }
  }

  /** Identifies the caller: by a key or token, by a session, or as one without either. @throws Problem */
  private identify(request: RequestParts, route: Route): Principal | Promise<Principal> {
    const isOff = this.config.auth.mode === 'off';
    const key = isOff ? undefined : presentedKey(request.headers);
    // No cross-site check: a page of another origin cannot send `Authorization` or `x-api-key`, because CORS never allows it.
    const keyHolder = this.keys.find(key);
    if (keyHolder) return keyHolder;
    if (this.isOpen(route)) {
      if (!route.anyOrigin) this.refuseCrossSite(request);
      return this.noRights;
    }
    if (key !== undefined && this.tokens.isOn && key !== request.headers['x-api-key'])
      return this.tokens.find(key);
    // A caller with a wrong key is refused, not taken for anonymous: it expects the rights of its key.
    if (key !== undefined) throw unauthorized('This key is not known, has expired or was revoked.');
    // The caller shows no key: it has a session, or is on this machine, or nobody is asked for a key.
    const madeOwnKey = this.adminKey.file !== undefined;
    const session = !madeOwnKey || this.isKnownHost(request) ? this.sessionOf(request) : undefined;
    if (session?.renew) return session.renew().then(() => this.identify(request, route));
    if (session) return session.principal;
    if (madeOwnKey) this.assertLocal(request);
    if (!isOff && !madeOwnKey) throw this.keyNeeded();
    this.refuseCrossSite(request);
    return isOff ? this.allRights : this.anonymous;
  }

  /**
   * Checks a caller's rights.
   * @throws Problem `unauthorized` that asks an anonymous caller for a key; `forbidden` for a key without the scopes
   */
  private authorize(principal: Principal, request: RequestParts, route: Route): void {
    const lacks = (scope: Scope): boolean => !principal.scopes.has(scope);
    if ((!route.scopes && !principal.token) || this.isOpen(route)) return;
    if (principal.token && principal.scopes.size === 0)
      throw this.missingScopes(principal, request, route.scopes);
    if (route.url === '/metrics' && isBound(principal))
      throw new Problem(
        'forbidden',
        'Metrics are of all projects together: they need a key of all projects.',
      );
    if (!route.scopes?.some(lacks)) return;
    if (principal === this.anonymous) throw this.keyNeeded();
    throw this.missingScopes(principal, request, route.scopes);
  }

  /** The refusal for missing scopes. If the caller can get a token with them, it says so in a challenge. */
  private missingScopes(
    { scopes: held, token }: Principal,
    request: RequestParts,
    needed: readonly Scope[] = [],
  ): Problem {
    if (token?.unmatched !== undefined)
      return new Problem(
        'forbidden',
        `No access rule matches this token, so it opens nothing. Claims that the rules look at: ${token.unmatched}.`,
      );
    const missing = needed.filter((scope) => !held.has(scope)).join(' and ');
    const detail = missing
      ? `This needs the scope ${missing}.`
      : 'The scopes of this token open nothing here.';
    if (!token || !needed.every((scope) => token.granted.includes(scope)))
      return new Problem('forbidden', detail);
    const parameters = { error: 'insufficient_scope', scope: needed.join(' '), error_description: detail };
    return new Problem('forbidden', detail, this.tokenChallenge(request, parameters));
  }

  /** Adds the way to an access token (RFC 9728) to a refusal of an unknown caller. Other errors stay as they are. */
  private withTokenChallenge(error: unknown, request: RequestParts, { scopes: needed = [] }: Route): unknown {
    if (!this.tokens.isOn || !(error instanceof Problem) || error.code !== 'unauthorized') return error;
    const { authorization = '' } = request.headers;
    const parameters = {
      ...(/^bearer /i.test(authorization) && { error: 'invalid_token' }),
      ...(needed.length > 0 && { scope: needed.join(' ') }),
    };
    return new Problem(error.code, error.detail, {
      ...error.details,
      ...this.tokenChallenge(request, parameters),
    });
  }

  /** The header that tells a client how to get an access token. */
  private tokenChallenge(
    request: RequestParts,
    parameters: Readonly<Record<string, string>>,
  ): ProblemDetails {
    const base = this.baseUrl(request);
    const metadata = base !== undefined && { resource_metadata: `${base}${resourceMetadata}/mcp` };
    const parts = Object.entries({ ...metadata, ...parameters }).map(([name, value]) => `${name}="${value}"`);
    return { headers: { 'WWW-Authenticate': `Bearer ${parts.join(', ') || 'realm="toolkeeper"'}` } };
  }

  /** A browser's session. Requests other than reads need the CSRF token as well; a read with an unknown cookie has none. */
  private sessionOf(request: RequestParts): Session | undefined {
    if (safeMethods.has(request.method)) return this.sessions.find(request.headers);
    if (request.headers[sessionHeader] === undefined) return undefined;
    const session = this.sessions.findWithToken(request.headers);
    if (!session)
      throw unauthorized('This session has ended, or the CSRF token is of another one: sign in again.');
    this.refuseCrossSite(request);
    return session;
  }

  /**
   * Asserts that a request comes from this machine.
   * @throws Problem for one that may come from another machine, or from a page of another host
   */
  private assertLocal(request: RequestParts): void {
    const { allowedHosts, trustProxy } = this.config.server;
    const proxySign = signOfProxy(request);
    // The `Host` alone proves nothing behind a proxy, which often calls this server by a loopback name.
    if (proxySign && !(trustProxy && allowedHosts.includes(hostName(request.headers.host) ?? '')))
      throw throughProxy(proxySign);
    if (!this.isTrusted(request.headers))
      throw new Problem(
        'forbidden',
        'Without a key this server answers only to loopback names: send the key, or add this host to ALLOWED_HOSTS.',
      );
  }

  /** Refuses cross-site requests. @throws Problem `forbidden` for a request that changes something and may be cross-site */
  private refuseCrossSite(request: RequestParts): void {
    if (safeMethods.has(request.method) || !mayBeCrossSite(request)) return;
    throw new Problem(
      'forbidden',
      'A web page of another origin may have sent this: send the key, or set TRUST_PROXY=true behind a proxy that ends TLS (docs/operate/behind-a-proxy.md).',
    );
  }

  /** Whether the request has a trusted host, or that of PUBLIC_URL: sessions are valid under it, too. */
  private isKnownHost({ headers }: RequestParts): boolean {
    const { publicUrl } = this.config.server;
    if (this.isTrusted(headers)) return true;
    return publicUrl !== undefined && comesFromTrustedHost(headers, [new URL(publicUrl).hostname]);
  }

  /** Whether a request comes from a loopback name or an allowed host. */
  private isTrusted({ host = '', origin }: IncomingHttpHeaders): boolean {
    if (origin === undefined && this.trustedHosts.has(host)) return true;
    if (!comesFromTrustedHost({ host, origin }, this.config.server.allowedHosts)) return false;
    if (this.trustedHosts.size < maxTrustedHosts) this.trustedHosts.add(host);
    return true;
  }

  /** Whether a route needs no key. */
  private isOpen({ url, public: isPublic }: Route): boolean {
    const { public: open } = this.config.auth;
    if (isPublic || (open.has('metrics') && url === '/metrics')) return true;
    return open.has('docs') && url !== undefined && docsRoute.test(url);
  }

  /** The refusal of a caller without a key. */
  private keyNeeded(): Problem {
    return unauthorized(this.adminKey.file === undefined ? `${sendKey}.` : `${sendKey}: ${ownKeyPlace}.`);
  }
}

/** Parts of messages that explain how to authenticate. */
const sendKey = 'Send an API key as "Authorization: Bearer <key>" or in the header x-api-key';
const ownKeyPlace = 'this server keeps its own in TOOLKEEPER_DATA_DIR/admin.key';

/** The refusal of a call that needs a key. Callers without a key are admitted on loopback only. */
export const keyNeededFor = (tool: string): Refusal =>
  new Refusal(
    'unauthorized',
    `The tool ${JSON.stringify(tool)} writes, sends or reaches out and needs a key. ${sendKey}: ${ownKeyPlace}.`,
    bearerChallenge,
  );

const bearerChallenge = { headers: { 'WWW-Authenticate': 'Bearer realm="toolkeeper"' } };

/** The Problem `unauthorized`, with a challenge. @param detail explains how to authenticate */
export function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, bearerChallenge);
}

const proxyHeader = /^(forwarded|via|x-real-ip|x-forwarded-.+)$/;

/** The sign that a proxy sent a request: a header, or HTTP/1.0, which nginx uses if it adds none. Undefined without a sign. */
function signOfProxy({ headers, raw }: RequestParts): string | undefined {
  const header = Object.keys(headers).find((name) => proxyHeader.test(name));
  if (header !== undefined) return `its header ${header}`;
  return raw.httpVersion === '1.0' ? 'HTTP/1.0' : undefined;
}

const throughProxy = (sign: string): Problem =>
  unauthorized(
    `A proxy seems to have sent this (${sign}), and without a key this server answers its own machine alone. ${sendKey}. ` +
      'To admit callers without a key, set TRUST_PROXY=true and name the host in ALLOWED_HOSTS (docs/operate/behind-a-proxy.md).',
  );

/** Whether a host is a loopback name or address. */
const isLoopback = (name: string): boolean =>
  /^((.+\.)?localhost|\[::1\])$/.test(name) || (isIPv4(name) && name.startsWith('127.'));

/** The host of a `Host` header's value, lower case, without its port; undefined if it is invalid. */
export function hostName(header: string | undefined): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(:\d{1,5})?$/i.exec(header ?? '');
  return match?.[1]?.toLowerCase().replace(/\.$/, '');
}

/** The host of an `Origin` header's value; undefined for `null` and other opaque origins. */
function originHost(origin: string): string | undefined {
  return hostName(/^https?:\/\/([^/]+)$/i.exec(origin)?.[1]);
}

/**
 * Whether a request to a server without keys may be believed to come from this machine. A page in the operator's
 * browser can reach loopback addresses too: by DNS rebinding it brings its own Host, by a cross-site POST its Origin.
 */
export function comesFromTrustedHost(
  headers: { readonly host?: string | undefined; readonly origin?: string | undefined },
  allowedHosts: readonly string[],
): boolean {
  const isTrusted = (name: string | undefined): boolean =>
    name !== undefined && (isLoopback(name) || allowedHosts.includes(name));
  if (headers.origin !== undefined && !isTrusted(originHost(headers.origin))) return false;
  return isTrusted(hostName(headers.host));
}

/**
 * Whether a page of another origin may have caused a browser to send this request. All browsers send `Origin` with
 * requests other than GET, newer ones also `Sec-Fetch-Site`; other clients send neither.
 */
function mayBeCrossSite({ headers, protocol }: RequestParts): boolean {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin.toLowerCase() !== `${protocol}://${host}`.toLowerCase();
}
