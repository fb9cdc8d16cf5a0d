import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../tool-contract/principal.js';
import { AccessPolicy, type Visit } from './access-policy.js';
import { neededScopes } from './scopes.decorator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before anything else sees the request. */
    principal?: Principal;
  }
  interface FastifyContextConfig {
    /** The route answers without a key. */
    public?: boolean;
  }
}

export function visitOf(request: FastifyRequest): Visit {
  const { headers, method, protocol, routeOptions } = request;
  const { url, config } = routeOptions;
  return { headers, method, protocol, route: url, declaredPublic: config?.public === true };
}

/** Holds the caller's scopes against those of the route. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly policy: AccessPolicy,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    // A call inside the door: its caller was authorized at the route it came in by.
    if (context.getType<string>() === 'tool') return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const visit = visitOf(request);
    // Without the hook (a bare testing app) the guard asks for the key itself: it must not fail open.
    request.principal ??= this.policy.admit(visit);
    this.policy.authorize(request.principal, visit, neededScopes(this.reflector, context));
    return true;
  }
}
