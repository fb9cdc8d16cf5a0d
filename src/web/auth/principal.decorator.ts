import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { holderOf } from './call-rates.js';
import { isBound, type Principal } from '../contract/principal.js';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { storageProblems } from '../../base/common/field-problems.js';
import { maxProjectLength, ProjectQuery } from '../rest/dto.js';

export type { Principal };

/** The caller of an HTTP request: the owner of the key, or `anonymous`. */
export function principalOf({ principal }: FastifyRequest): Principal {
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  return principal;
}

/** The id of a request's caller, for limits per caller. */
export const holderIn = (request: FastifyRequest): string =>
  holderOf({ principal: principalOf(request), address: request.ip });

/** The caller of a request, as a parameter of a handler. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal =>
  principalOf(requestIn(context)),
);

/** The reason why a caller may not name a project; undefined if it may. */
export function foreignProject({ projects, keyId }: Principal, project: string): string | undefined {
  if (!projects || projects.includes(project)) return undefined;
  const who = keyId === undefined ? 'Without a key a caller' : 'A caller with this key';
  return `${who} may only name the project ${projects.join(' or ')}`;
}

/**
 * The project that a caller names, or else the first of its key, or else `default`.
 * @throws Problem `forbidden` for a project outside the key's
 */
export function projectFor(principal: Principal, named: string | undefined): string {
  const project = named ?? principal.projects?.[0] ?? 'default';
  const foreign = foreignProject(principal, project);
  if (foreign !== undefined) throw new Problem('forbidden', foreign);
  return project;
}

/** The project in the header `x-project-id`. Names beyond Latin-1 are encoded by RFC 8187: `UTF-8''d%C3%A9mo`. */
export function projectInHeader(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['x-project-id']?.toString();
  if (!value?.startsWith("UTF-8''")) return value;
  try {
    const name = decodeURIComponent(value.slice("UTF-8''".length));
    return storageProblems(name, '').length === 0 ? name : value;
  } catch {
    return value;
  }
}

/** The project that a request names: its query takes precedence over the header `x-project-id`. */
function projectNamed({ query, headers }: FastifyRequest): string | undefined {
  const { project = projectInHeader(headers) } = (query ?? {}) as { readonly project?: unknown };
  if (project === undefined || project === '') return undefined;
  const isName = typeof project === 'string' && project.length <= maxProjectLength;
  if (isName && storageProblems(project, '').length === 0) return project;
  const detail = `must be one name of at most ${maxProjectLength} characters`;
  throw invalidRequest({ pointer: '/project', detail });
}

/** The one project that a request reads or changes. @throws Problem `forbidden` for one outside the key's */
export function projectOf(request: FastifyRequest): string {
  const named = projectNamed(request);
  if (named === '*') throw invalidRequest({ pointer: '/project', detail: 'must be one project' });
  request.project = projectFor(principalOf(request), named);
  return request.project;
}

/** The projects of a list's rows: the named one, or else all that the caller may see; undefined: all. @throws Problem */
export function projectsOf(request: FastifyRequest): readonly string[] | undefined {
  const named = projectNamed(request);
  const principal = principalOf(request);
  if (named === '*' && principal.projects)
    throw new Problem('forbidden', 'project=* needs a key of all projects: leave it out, or name one');
  if (named !== undefined && named !== '*') return [projectFor(principal, named)];
  return principal.projects;
}

const requestIn = (context: ExecutionContext): FastifyRequest =>
  context.switchToHttp().getRequest<FastifyRequest>();

/** Documents the query `project` of a route whose own query does not have it. */
const documentProject: ParameterDecorator = (target, key = '') => {
  const types = Reflect.getMetadata('design:paramtypes', target, key) as { readonly prototype: object }[];
  if (!types.some(({ prototype }) => prototype instanceof ProjectQuery))
    ApiQuery({ type: ProjectQuery })(target, key, Object.getOwnPropertyDescriptor(target, key) as never);
};

/** The one project that a request reads or changes, as a parameter of a handler. */
export const CurrentProject = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => projectOf(requestIn(context)),
  [documentProject],
);

/** The caller with the projects that its request covers. `figures` cover all projects for a caller without a key that names none. */
export const CurrentReader = createParamDecorator(
  (reads: 'rows' | 'figures', context: ExecutionContext): Principal => {
    const request = requestIn(context);
    const principal = principalOf(request);
    const isOfAll = reads === 'figures' && !isBound(principal) && projectNamed(request) === undefined;
    return { ...principal, projects: isOfAll ? undefined : projectsOf(request) };
  },
  [documentProject],
);
