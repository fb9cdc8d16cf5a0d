import { SetMetadata } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { Scope } from '../tool-contract/principal.js';

export const SCOPES = 'toolkeeper:scopes';

/** The scopes that a caller needs for this route; one that says nothing needs `admin`. */
export const Scopes = (...scopes: Scope[]): MethodDecorator & ClassDecorator => SetMetadata(SCOPES, scopes);

/**
 * This handler answers without a key. It is written into the Fastify route's own configuration, because the hook
 * that asks for the key runs before Nest knows the handler.
 */
export const Public = (): MethodDecorator => RouteConfig({ public: true });
