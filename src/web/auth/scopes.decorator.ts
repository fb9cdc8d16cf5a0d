import { applyDecorators, Controller, UseInterceptors } from '@nestjs/common';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { Scope } from '../contract/principal.js';
import { AUDITED_READ, auditedOperation, AuditInterceptor } from './audit/audit.interceptor.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route needs no key. */
    public?: boolean;
    /** Whether pages of any origin may request it, because cookies give it no rights. */
    anyOrigin?: boolean;
    /** The scopes that a caller needs for the route. */
    scopes?: readonly Scope[];
  }
}

/** A method that handles a route. */
type Handler = (...args: never[]) => unknown;

/** Scopes whose use to change something is audited. */
const auditedScopes: ReadonlySet<Scope> = new Set(['tools:admin', 'playbooks:write', 'admin']);

/**
 * Declares the scopes that a caller needs for this route or, on a controller, for all routes without their own. They are
 * stored in Fastify's configuration of the route, so that requests need no look-up.
 */
export const Scopes =
  (...scopes: Scope[]): MethodDecorator & ClassDecorator =>
  (target: object, _key?: string | symbol, method?: PropertyDescriptor): void => {
    const handlers = method ? [method.value as Handler] : undeclaredIn(target as { prototype: object });
    for (const handler of handlers) {
      declareAccess(handler, { scopes });
      const changesAudited = scopes.some((scope) => auditedScopes.has(scope));
      if (!changesAudited && !Reflect.hasMetadata(AUDITED_READ, handler)) continue;
      const audit = applyDecorators(UseInterceptors(AuditInterceptor), ApiExtension(auditedOperation, true));
      // Both decorators look at the handler in the descriptor alone.
      audit(target, '', { value: handler });
    }
  };

/** Declares a route that needs no key. */
export const Public =
  (access: Pick<FastifyContextConfig, 'anyOrigin'> = {}): MethodDecorator =>
  (_target, _key, { value }): void =>
    declareAccess(value as Handler, { public: true, ...access });

/** The declared access of a route; undefined if it declares none. */
export const accessOf = ({
  public: isPublic,
  scopes,
}: FastifyContextConfig): 'public' | readonly Scope[] | undefined => (isPublic ? 'public' : scopes);

/** Adds to the access of a route. */
function declareAccess(handler: Handler, access: FastifyContextConfig): void {
  Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, { ...configOf(handler), ...access }, handler);
}

/** Fastify's configuration of a route. */
const configOf = (handler: Handler): FastifyContextConfig | undefined =>
  Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as FastifyContextConfig | undefined;

/** The routes of a controller without an access of their own. */
function undeclaredIn({ prototype }: { readonly prototype: object }): Handler[] {
  const methods = Object.values(Object.getOwnPropertyDescriptors(prototype))
    .map(({ value }) => value as Handler | undefined)
    .filter((value) => typeof value === 'function' && value !== prototype.constructor) as Handler[];
  return methods.filter((method) => accessOf(configOf(method) ?? {}) === undefined);
}

/** Declares a controller: its path, its tag in the OpenAPI document, and the default scope of its routes. */
export const ApiRoutes = (path: string, tag: string, scope: Scope): ClassDecorator =>
  applyDecorators(
    ApiTags(tag),
    Scopes(scope),
    ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden'),
    Controller(path),
  );
