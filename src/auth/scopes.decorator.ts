import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { Scope } from '../tool-contract/principal.js';

const SCOPES = 'toolkeeper:scopes';

/** The scopes that a caller needs for this route; one that says nothing needs `admin`. */
export const Scopes = (...scopes: Scope[]): MethodDecorator & ClassDecorator => SetMetadata(SCOPES, scopes);

/** The scopes that the route of an HTTP request asks for. */
export function neededScopes(reflector: Reflector, context: ExecutionContext): readonly Scope[] {
  const declared = reflector.getAllAndOverride<Scope[] | undefined>(SCOPES, [
    context.getHandler(),
    context.getClass(),
  ]);
  const { url } = context.switchToHttp().getRequest<FastifyRequest>().routeOptions;
  // The room of /metrics knows nothing of scopes.
  return declared ?? (url === '/metrics' ? ['metrics:read'] : ['admin']);
}

/**
 * This handler answers without a key. It is written into the Fastify route's own configuration, because the hook
 * that asks for the key runs before Nest knows the handler.
 */
export const Public = (): MethodDecorator => RouteConfig({ public: true });
