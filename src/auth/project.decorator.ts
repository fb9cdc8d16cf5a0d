import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../common/errors.js';
import type { Principal } from '../tool-contract/principal.js';
import { principalOf } from './principal.decorator.js';

/**
 * The project that a caller names, else the first of its key, else `default`.
 * @throws Problem `forbidden` for a project that is not one of the key's: naming it never widens a key
 */
export function projectFor({ projects, keyId }: Principal, named: string | undefined): string {
  const project = named ?? projects?.[0] ?? 'default';
  if (!projects || projects.includes(project)) return project;
  const who = keyId === undefined ? 'Without a key a caller' : 'This key';
  throw new Problem('forbidden', `${who} may only name the project ${projects.join(' or ')}`);
}

/** The project of a request, from its header `x-project-id`. */
export function projectOf(request: FastifyRequest): string {
  const named = request.headers['x-project-id'];
  return projectFor(principalOf(request), typeof named === 'string' && named !== '' ? named : undefined);
}

export const CurrentProject = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  projectOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
