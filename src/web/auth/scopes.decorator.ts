import { applyDecorators, Controller, UseInterceptors } from '@nestjs/common';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { Scope } from '../contract/principal.js';
import { AUDITED_READ, auditedOperation, AuditInterceptor } from './audit/audit.interceptor.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers without a key. */
    public?: boolean;
    /** Pages of any origin may ask: a cookie gives the route no rights. */
    anyOrigin?: boolean;
    /** The scopes that a caller needs for the route. */
    scopes?: readonly Scope[];
  }
}

type Handler = (...args: never[]) => unknown;

/** Rights beyond calling tools and sending spans: what is changed with them leaves an audit entry. */
const administrative: ReadonlySet<Scope> = new Set(['tools:admin', 'playbooks:write', 'admin']);

/**
 * The scopes that a caller needs for this route or, on a controller, for each of its routes that names none itself.
 * They are written into Fastify's configuration of the route, so that nothing is looked up for a request.
 */
export const Scopes =
  (...scopes: Scope[]): MethodDecorator & ClassDecorator =>
  (target: object, _key?: string | symbol, method?: PropertyDescriptor): void => {
    const handlers = method ? [method.value as Handler] : undeclaredIn(target as { prototype: object });
    for (const handler of handlers) {
      declareAccess(handler, { scopes });
      if (scopes.some((scope) => administrative.has(scope)) || Reflect.hasMetadata(AUDITED_READ, handler))
        applyDecorators(UseInterceptors(AuditInterceptor), ApiExtension(auditedOperation, true))(target, '', {
          value: handler,
        });
    }
  };

/** This route answers without a key. */
export const Public =
  (access: Pick<FastifyContextConfig, 'anyOrigin'> = {}): MethodDecorator =>
  (_target, _key, { value }): void =>
    declareAccess(value as Handler, { public: true, ...access });

/** The access that a route has declared; undefined: none. */
export const accessOf = ({
  public: isPublic,
  scopes,
}: FastifyContextConfig): 'public' | readonly Scope[] | undefined => (isPublic ? 'public' : scopes);

function declareAccess(handler: Handler, access: FastifyContextConfig): void {
  Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, { ...configOf(handler), ...access }, handler);
}

const configOf = (handler: Handler): FastifyContextConfig | undefined =>
  Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as FastifyContextConfig | undefined;

function undeclaredIn({ prototype }: { readonly prototype: object }): Handler[] {
  const methods = Object.values(Object.getOwnPropertyDescriptors(prototype))
    .map(({ value }) => value as Handler | undefined)
    .filter((value) => typeof value === 'function' && value !== prototype.constructor) as Handler[];
  return methods.filter((method) => accessOf(configOf(method) ?? {}) === undefined);
}

/** A controller of the API: its path, its tag in the documents, and the scope of routes that name no other. */
export const ApiRoutes = (path: string, tag: string, scope: Scope): ClassDecorator =>
  applyDecorators(
    ApiTags(tag),
    Scopes(scope),
    ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden'),
    Controller(path),
  );
