import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../tool-contract/tool-call.js';

export type { Principal };

/** The caller of this HTTP request: the owner of the key, or `anonymous`. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  return principal;
});
