import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { Scope } from '../tool-contract/tool-call.js';
import { AccessPolicy } from './access-policy.js';
import { visitOf } from './auth.hook.js';
import { SCOPES } from './scopes.decorator.js';

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
    this.policy.authorize(request.principal, visit, this.neededScopes(context, request.method));
    return true;
  }

  private neededScopes(context: ExecutionContext, method: string): readonly Scope[] {
    const declared = this.reflector.getAllAndOverride<Scope[] | undefined>(SCOPES, [
      context.getHandler(),
      context.getClass(),
    ]);
    return declared ?? (method === 'GET' || method === 'HEAD' ? ['tools:call'] : ['tools:admin']);
  }
}
