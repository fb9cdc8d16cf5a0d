import { Inject, Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type Principal, type Scope, scopes } from '../tool-contract/tool-call.js';
import { HashedKey, presentedKey } from './api-key.js';
import { comesFromTrustedHost } from './trusted-host.js';

/** What of a request decides whether it may come in. */
export interface Visit {
  readonly headers: IncomingHttpHeaders;
  /** The pattern of the matched route; undefined where none matched. */
  readonly route: string | undefined;
  /** The route is declared `@Public()`. */
  readonly declaredPublic: boolean;
}

const mostTrustedHosts = 100;
const docsRoute = /^\/(docs([/-].*)?|openapi\.(json|yaml))$/;

/** Who comes in, and as whom. Whatever is not said to be open needs the key. */
@Injectable()
export class AccessPolicy {
  /** `Host` headers that were found trusted; a client sends the same one each time. */
  private readonly trustedHosts = new Set<string>();
  private readonly adminKey: HashedKey | undefined;
  private readonly admin: Principal = { userId: 'admin', scopes: new Set(scopes) };
  private readonly anonymous: Principal = { userId: 'anonymous', scopes: new Set(scopes) };
  private readonly visitor: Principal = { userId: 'anonymous', scopes: new Set() };

  constructor(@Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth' | 'server'>) {
    this.adminKey = config.auth.adminKey ? new HashedKey(config.auth.adminKey) : undefined;
  }

  /**
   * @returns the principal; one without any scope for a visitor of an open route
   * @throws Problem `unauthorized` without the right key; `forbidden` where a keyless server is asked under a strange name
   */
  admit(visit: Visit): Principal {
    if (this.config.auth.mode === 'off') return this.anonymous;
    if (this.adminKey?.matches(presentedKey(visit.headers))) return this.admin;
    if (this.isOpen(visit)) return this.visitor;
    if (this.adminKey || !this.config.server.loopback) throw keyNeeded();
    if (!this.isTrusted(visit.headers)) throw strangeHost();
    return this.anonymous;
  }

  /** @throws Problem `forbidden` naming the scope that lacks */
  authorize(principal: Principal, visit: Visit, needed: readonly Scope[]): void {
    if (this.isOpen(visit)) return;
    const lacking = needed.filter((scope) => !principal.scopes.has(scope));
    if (lacking.length > 0) throw new Problem('forbidden', `This needs the scope ${lacking.join(' and ')}.`);
  }

  private isTrusted({ host = '', origin }: IncomingHttpHeaders): boolean {
    if (origin === undefined && this.trustedHosts.has(host)) return true;
    if (!comesFromTrustedHost({ host, origin }, this.config.server.allowedHosts)) return false;
    if (this.trustedHosts.size < mostTrustedHosts) this.trustedHosts.add(host);
    return true;
  }

  private isOpen({ route, declaredPublic }: Visit): boolean {
    const { metricsPublic, docsPublic } = this.config.auth;
    if (declaredPublic) return true;
    return (
      route !== undefined &&
      ((metricsPublic && route === '/metrics') || (docsPublic && docsRoute.test(route)))
    );
  }
}

function keyNeeded(): Problem {
  return new Problem(
    'unauthorized',
    'Send an API key as "Authorization: Bearer <key>" or in the header x-api-key.',
    { headers: { 'WWW-Authenticate': 'Bearer realm="toolkeeper"' } },
  );
}

function strangeHost(): Problem {
  return new Problem(
    'forbidden',
    'A server without keys answers only to loopback names: add this host to ALLOWED_HOSTS, or set ADMIN_API_KEY.',
  );
}
