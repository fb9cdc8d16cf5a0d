import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { holderOf } from './call-rates.js';
import type { Principal } from '../contract/principal.js';
import { Problem } from '../../base/common/errors.js';

export type { Principal };

/** The caller of an HTTP request: the owner of the key, or `anonymous`. */
export function principalOf({ principal }: FastifyRequest): Principal {
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  return principal;
}

/** The caller of a request in limits that hold for each caller. */
export const holderIn = (request: FastifyRequest): string =>
  holderOf({ principal: principalOf(request), address: request.ip });

export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** The reason why a caller may not name a project; undefined: it may. Naming one never widens a key. */
export function foreignProject({ projects, keyId }: Principal, project: string): string | undefined {
  if (!projects || projects.includes(project)) return undefined;
  const who = keyId === undefined ? 'Without a key a caller' : 'A caller with this key';
  return `${who} may only name the project ${projects.join(' or ')}`;
}

/**
 * The project that a caller names, else the first of its key, else `default`.
 * @throws Problem `forbidden` for a project that is not one of the key's
 */
export function projectFor(principal: Principal, named: string | undefined): string {
  const project = named ?? principal.projects?.[0] ?? 'default';
  const foreign = foreignProject(principal, project);
  if (foreign !== undefined) throw new Problem('forbidden', foreign);
  return project;
}

/** The project of a request, from its header `x-project-id`. */
export function projectOf(request: FastifyRequest): string {
  const named = request.headers['x-project-id'];
  return projectFor(principalOf(request), typeof named === 'string' && named !== '' ? named : undefined);
}

export const CurrentProject = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  projectOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
