import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../common/errors.js';
import type { Principal } from '../tool-contract/principal.js';
import { principalOf } from './principal.decorator.js';

/** Why a caller may not name a project; undefined: it may. Naming one never widens a key. */
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
