import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { ModuleRef, Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, mergeMap, type Observable } from 'rxjs';
import { isObject } from '../../../base/common/json.js';
import { type JsonDifference, jsonDifferences } from '../../../base/common/json-differences.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { FleetBarrier } from '../../../base/database/fleet-barrier.js';
import { asProblem, statusOfProblem } from '../../rest/problem.filter.js';
import { principalOf } from '../principal.decorator.js';
import { actorOf, AuditLog } from './audit-log.js';
import { maxReasonLength, maxTargetLength, type UnconfirmedView } from './audit.dto.js';

/** Marks operations of administrators while the OpenAPI document is built. */
export const auditedOperation = 'x-audited';

/** Metadata keys of `@Audited` and `@AuditedRead`. */
export const AUDITED = 'toolkeeper:audited';
export const AUDITED_READ = 'toolkeeper:audited-read';

/** Marks a route that shows inputs and answers of tools or models: each read by an operator is audited. */
export const AuditedRead = (): MethodDecorator => SetMetadata(AUDITED_READ, true);

/** Reads the state that an act may change, without secrets and without members that change by themselves. */
type StateReader = (modules: ModuleRef, params: PathParams) => Promise<object>;

/** How a controller's acts are audited. */
interface AuditSettings {
  /** Member of an answer to a creation, and path parameter, that names the resource. */
  readonly member: string;
  readonly readState: StateReader;
}

/** Sets how the acts of a controller are audited. */
export const Audited = (member: string, readState: StateReader): ClassDecorator =>
  SetMetadata(AUDITED, { member, readState } satisfies AuditSettings);

/** The parameters of a route's path. */
type PathParams = Readonly<Record<string, string>>;

/** Methods that change nothing. */
const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a request may change something that other replicas must apply. */
export const isAct = (method: string, route: string): boolean =>
  !readMethods.has(method) && !/\/(test|try|validate|replay)$/.test(route);

/**
 * Writes one audit entry for each administrative request, successful or not, before it is answered. A change is answered when
 * all replicas apply it; if some have not confirmed it, the answer is 202 and names them. `@Scopes` binds this to routes that
 * need an administrative scope.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly log: AuditLog,
    private readonly barrier: FleetBarrier,
    private readonly modules: ModuleRef,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const isRead = this.reflector.get<true | undefined>(AUDITED_READ, context.getHandler());
    const isAudited = isRead
      ? principalOf(request).scopes.has('tools:admin')
      : !readMethods.has(request.method);
    if (!isAudited) return next.handle();
    const { params, route, by } = partsOf(request);
    const settings = this.reflector.get<AuditSettings | undefined>(AUDITED, context.getClass());
    const readState = async (named = params): Promise<object | undefined> =>
      settings?.readState(this.modules, named).catch(() => undefined);
    const before = await readState();
    const action = context.getHandler().name;
    /** Writes the entry. @param created the answer to a creation, which names the new resource */
    const write = async (status: number, created?: object, error: string | null = null): Promise<void> => {
      const name = created && settings && (Reflect.get(created, settings.member) as string);
      const named = name && settings ? { ...params, [settings.member]: name } : params;
      const old = name ? {} : before;
      const changes = old && error === null ? changesBetween(old, await readState(named)) : [];
      const path = [targetOf(route, params), ...(name ? [name] : [])].join('/');
      // The path is the sender's text, even for unknown names, so it must be sanitised.
      const target = sanitisedText(path.slice(0, maxTargetLength));
      const { project = null } = request;
      await this.log.write({ ...by, action, target, project, status, error, changes });
    };
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        const { statusCode } = http.getResponse<FastifyReply>();
        const isCreation = statusCode === 201 && Object.keys(params).length === 0;
        const written = write(statusCode, isCreation ? (answer as object) : undefined);
        const passed = isAct(request.method, route) ? this.barrier.pass() : [];
        const [missing] = await Promise.all([passed, written]);
        // A replica that does not know a new resource looks for it in the database.
        if (missing.length === 0 || statusCode === 201) return answer;
        void http.getResponse<FastifyReply>().status(202);
        const unconfirmed: UnconfirmedView = { confirmed: false, missing: missing.map(({ name }) => name) };
        return { ...(answer as object | undefined), ...unconfirmed };
      }),
      catchError(async (error: unknown) => {
        await write(statusOfProblem(error), undefined, asProblem(error).detail);
        throw error;
      }),
    );
  }
}

/** Max length of the changes of an entry, as JSON, and max number of paths in place of longer ones. */
const maxChangesLength = 8_192;
const maxPaths = 100;
/** The members of a state that are compared one by one. */
const members = (value: unknown): object | undefined =>
  isObject(value) && !(value instanceof Date) ? value : undefined;

/** The differences of two states. If they are long, only their paths. */
function changesBetween(before: object, after: object | undefined): JsonDifference[] {
  const changes = jsonDifferences(before, after ?? before, members);
  const isShort = JSON.stringify(changes).length <= maxChangesLength;
  return isShort ? changes : changes.slice(0, maxPaths).map(({ path }) => ({ path }));
}

/** The parts of a request for its entry. */
function partsOf(request: FastifyRequest) {
  return {
    params: request.params as PathParams,
    route: request.routeOptions.url ?? '',
    by: {
      ...actorOf(principalOf(request)),
      ...{ address: request.ip, requestId: request.id, reason: reasonIn(request) },
    },
  };
}

/** The reason that the request gives, also if the request is refused. */
function reasonIn({ query, body }: FastifyRequest): string | null {
  const [inQuery, inBody] = [query, body] as ({ reason?: unknown } | null | undefined)[];
  const reason = inQuery?.reason ?? inBody?.reason;
  return typeof reason === 'string' ? sanitisedText(reason.slice(0, maxReasonLength)) : null;
}

/** The resource of a path without the action: `custom-tools/word_count`. */
function targetOf(route: string, params: PathParams): string {
  const [resource = ''] = /^.*:\w+/.exec(route) ?? [route];
  return resource.replace('/api/v1/', '').replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}
