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
    /** Set before anything else sees the request. */
    principal?: Principal;
    /** The one project that the request reads or changes, once it is known. */
    project?: string;
  }
}

/** The parts of a request that decide whether it may come in. `protocol`: `http`, or what a trusted proxy reports. */
type Visit = Pick<FastifyRequest, 'headers' | 'method' | 'protocol'> & {
  readonly raw: Pick<IncomingMessage, 'httpVersion'>;
};

/** The matched route as it was registered; without `url`: none matched. */
export type Route = Pick<FastifyContextConfig, 'public' | 'anyOrigin' | 'scopes'> & { readonly url?: string };

/** The address of the metadata of this protected resource (RFC 9728). */
export const resourceMetadata = '/.well-known/oauth-protected-resource';
const maxTrustedHosts = 100;
/** Routes of Swagger UI and of the OpenAPI document; they are not Nest's. */
export const docsRoute = /^\/(docs([/-].*)?|openapi\.(json|yaml))?$/;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Authenticates requests. Routes that are not declared open need a key. */
@Injectable()
export class AccessPolicy {
  /** `Host` headers that were found trusted; a client sends the same one each time. */
  private readonly trustedHosts = new Set<string>();
  /** The caller without a key, on a loopback address where none was configured. */
  private readonly anonymous: Principal = {
    userId: 'anonymous',
    scopes: new Set(['tools:call', 'metrics:read', 'traces:write', 'traces:read']),
    projects: ['default'],
    keyless: true,
  };
  private readonly everybody: Principal = { userId: 'anonymous', scopes: new Set(scopes) };
  private readonly visitor: Principal = { userId: 'anonymous', scopes: new Set() };

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth' | 'server'>,
    private readonly adminKey: AdminKey,
    private readonly keys: KnownKeys,
    private readonly sessions: Sessions,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * @returns the principal; one without any scope for a visitor of an open route
   * @throws Problem `unauthorized` without the right key; `forbidden` if a keyless request came under a strange
   * name, or a web page may have forged it, or where the route needs a scope that the key lacks. An access token that is
   * not in the cache, or a session whose claims are renewed, makes it a promise.
   */
  admit(visit: Visit, route: Route): Principal | Promise<Principal> {
    try {
      const principal = this.identify(visit, route);
      if (principal instanceof Promise) return this.admitToken(principal, visit, route);
      this.authorize(principal, visit, route);
      return principal;
    } catch (error) {
      throw this.challenged(error, visit, route);
    }
  }

  /** The address of this server as callers see it; undefined if neither PUBLIC_URL nor a trusted `Host` tells it. */
  baseUrl({ headers: { host = '' }, protocol }: Pick<Visit, 'headers' | 'protocol'>): string | undefined {
    const { publicUrl } = this.config.server;
    return publicUrl ?? (this.isTrusted({ host }) ? `${protocol}://${host}` : undefined);
  }

  private async admitToken(verifying: Promise<Principal>, visit: Visit, route: Route): Promise<Principal> {
    try {
      const principal = await verifying;
      this.authorize(principal, visit, route);
      return principal;
    } catch (error) {
      throw this.challenged(error, visit, route);
    }
  }

  private identify(visit: Visit, route: Route): Principal | Promise<Principal> {
    const off = this.config.auth.mode === 'off';
    const key = off ? undefined : presentedKey(visit.headers);
    // A page cannot send this header without a permission that is never given.
    const known = this.keys.find(key);
    if (known) return known;
    if (this.isOpen(route)) {
      if (!route.anyOrigin) this.refuseForged(visit);
      return this.visitor;
    }
    if (key !== undefined && this.tokens.isOn && key !== visit.headers['x-api-key'])
      return this.tokens.find(key);
    // A caller with a wrong key is refused, not taken for anonymous: the key was meant to open something.
    if (key !== undefined) throw unauthorized('This key is not known, has expired or was revoked.');
    const ownKey = this.adminKey.file !== undefined;
    const signedIn = !ownKey || this.isKnownHost(visit) ? this.signedIn(visit) : undefined;
    if (signedIn?.renew) return signedIn.renew().then(() => this.identify(visit, route));
    if (signedIn) return signedIn.principal;
    if (ownKey) this.assertLocal(visit);
    if (!off && !ownKey) throw this.keyNeeded();
    this.refuseForged(visit);
    return off ? this.everybody : this.anonymous;
  }

  /** A caller without a key is asked for one; a key without the scope is refused. */
  private authorize(principal: Principal, visit: Visit, route: Route): void {
    const lacks = (scope: Scope): boolean => !principal.scopes.has(scope);
    if ((!route.scopes && !principal.token) || this.isOpen(route)) return;
    if (principal.token && principal.scopes.size === 0) throw this.tooFew(principal, visit, route.scopes);
    if (route.url === '/metrics' && isBound(principal))
      throw new Problem(
        'forbidden',
        'Metrics are of all projects together: they need a key of all projects.',
      );
    if (!route.scopes?.some(lacks)) return;
    if (principal === this.anonymous) throw this.keyNeeded();
    throw this.tooFew(principal, visit, route.scopes);
  }

  /** A token is sent back for more scopes if its caller can get them. */
  private tooFew({ scopes: held, token }: Principal, visit: Visit, needed: readonly Scope[] = []): Problem {
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
    const challenge = { error: 'insufficient_scope', scope: needed.join(' '), error_description: detail };
    return new Problem('forbidden', detail, this.challenge(visit, challenge));
  }

  /** A refusal of a caller who is not known, with the way to an access token (RFC 9728). */
  private challenged(error: unknown, visit: Visit, { scopes: needed = [] }: Route): unknown {
    if (!this.tokens.isOn || !(error instanceof Problem) || error.code !== 'unauthorized') return error;
    const { authorization = '' } = visit.headers;
    const challenge = {
      ...(/^bearer /i.test(authorization) && { error: 'invalid_token' }),
      ...(needed.length > 0 && { scope: needed.join(' ') }),
    };
    return new Problem(error.code, error.detail, { ...error.details, ...this.challenge(visit, challenge) });
  }

  private challenge(visit: Visit, challenge: Readonly<Record<string, string>>): ProblemDetails {
    const base = this.baseUrl(visit);
    const metadata = base !== undefined && { resource_metadata: `${base}${resourceMetadata}/mcp` };
    const parts = Object.entries({ ...metadata, ...challenge }).map(([name, value]) => `${name}="${value}"`);
    return { headers: { 'WWW-Authenticate': `Bearer ${parts.join(', ') || 'realm="toolkeeper"'}` } };
  }

  /** A browser's session. A cookie alone changes nothing, and one that opens nothing is as good as none. */
  private signedIn(visit: Visit): Session | undefined {
    if (safeMethods.has(visit.method)) return this.sessions.find(visit.headers);
    if (visit.headers[sessionHeader] === undefined) return undefined;
    const session = this.sessions.findWhole(visit.headers);
    if (!session)
      throw unauthorized('This session has ended, or the CSRF token is of another one: sign in again.');
    this.refuseForged(visit);
    return session;
  }

  /** @throws Problem for a request that may come from another machine, or from a page of another host */
  private assertLocal(visit: Visit): void {
    const { allowedHosts, trustProxy } = this.config.server;
    const proxied = traceOfProxy(visit);
    // The name that a proxy gives this server, often a loopback name, is no name that its visitors use.
    if (proxied && !(trustProxy && allowedHosts.includes(hostName(visit.headers.host) ?? '')))
      throw throughProxy(proxied);
    if (!this.isTrusted(visit.headers)) throw untrustedHost();
  }

  private refuseForged(visit: Visit): void {
    if (!safeMethods.has(visit.method) && mayBeForged(visit)) throw forged();
  }

  /** Sessions hold under the host of PUBLIC_URL, too. */
  private isKnownHost({ headers }: Visit): boolean {
    const { publicUrl } = this.config.server;
    if (this.isTrusted(headers)) return true;
    return publicUrl !== undefined && comesFromTrustedHost(headers, [new URL(publicUrl).hostname]);
  }

  private isTrusted({ host = '', origin }: IncomingHttpHeaders): boolean {
    if (origin === undefined && this.trustedHosts.has(host)) return true;
    if (!comesFromTrustedHost({ host, origin }, this.config.server.allowedHosts)) return false;
    if (this.trustedHosts.size < maxTrustedHosts) this.trustedHosts.add(host);
    return true;
  }

  private isOpen({ url, public: isPublic }: Route): boolean {
    const { public: open } = this.config.auth;
    if (isPublic || (open.has('metrics') && url === '/metrics')) return true;
    return open.has('docs') && url !== undefined && docsRoute.test(url);
  }

  private keyNeeded(): Problem {
    return unauthorized(this.adminKey.file === undefined ? `${sendKey}.` : `${sendKey}: ${ownKeyPlace}.`);
  }
}

const sendKey = 'Send an API key as "Authorization: Bearer <key>" or in the header x-api-key';
const ownKeyPlace = 'this server keeps its own in TOOLKEEPER_DATA_DIR/admin.key';

/** The refusal of a call without a key, which this server lets in on loopback alone. */
export const keyNeededFor = (tool: string): Refusal =>
  new Refusal(
    'unauthorized',
    `The tool ${JSON.stringify(tool)} writes, sends or reaches out and needs a key. ${sendKey}: ${ownKeyPlace}.`,
    withChallenge,
  );

const withChallenge = { headers: { 'WWW-Authenticate': 'Bearer realm="toolkeeper"' } };

/** @returns Problem `unauthorized` that explains how to authenticate */
export function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, withChallenge);
}

function untrustedHost(): Problem {
  return new Problem(
    'forbidden',
    'Without a key this server answers only to loopback names: send the key, or add this host to ALLOWED_HOSTS.',
  );
}

const proxyHeader = /^(forwarded|via|x-real-ip|x-forwarded-.+)$/;

/** The sign that a proxy sent a request: a header, or HTTP/1.0, which nginx speaks if it adds no header. */
function traceOfProxy({ headers, raw }: Visit): string | undefined {
  const header = Object.keys(headers).find((name) => proxyHeader.test(name));
  if (header !== undefined) return `its header ${header}`;
  return raw.httpVersion === '1.0' ? 'HTTP/1.0' : undefined;
}

const throughProxy = (trace: string): Problem =>
  unauthorized(
    `A proxy seems to have sent this (${trace}), and without a key this server answers its own machine alone. ${sendKey}. ` +
      'To admit callers without a key, set TRUST_PROXY=true and name the host in ALLOWED_HOSTS (docs/operate/behind-a-proxy.md).',
  );

function forged(): Problem {
  return new Problem(
    'forbidden',
    'A web page of another origin may have sent this: send the key, or set TRUST_PROXY=true behind a proxy that ends TLS (docs/operate/behind-a-proxy.md).',
  );
}

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
  const trusted = (name: string | undefined): boolean =>
    name !== undefined && (isLoopback(name) || allowedHosts.includes(name));
  return (
    trusted(hostName(headers.host)) && (headers.origin === undefined || trusted(originHost(headers.origin)))
  );
}

/** The headers that identify the page that may have sent a request. */
interface Sender {
  readonly headers: {
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly 'sec-fetch-site'?: string | string[] | undefined;
  };
  readonly protocol: string;
}

/**
 * Whether a page of another origin may have caused a browser to send this request. All browsers send `Origin` with
 * requests other than GET, newer ones also `Sec-Fetch-Site`; other clients send neither.
 */
export function mayBeForged({ headers, protocol }: Sender): boolean {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin.toLowerCase() !== `${protocol}://${host}`.toLowerCase();
}
