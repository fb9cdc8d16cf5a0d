import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../tool-contract/principal.js';

export type { Principal };

/** The caller of an HTTP request: the owner of the key, or `anonymous`. */
export function principalOf({ principal }: FastifyRequest): Principal {
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  return principal;
}

export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
