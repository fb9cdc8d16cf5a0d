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
const AUDITED = 'toolkeeper:audited';
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

/** Sets how the acts of a controller are audited; see AuditSettings. */
export const Audited = (member: string, readState: StateReader): ClassDecorator =>
  SetMetadata(AUDITED, { member, readState } satisfies AuditSettings);

type PathParams = Readonly<Record<string, string>>;

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
    const params = request.params as PathParams;
    const route = request.routeOptions.url ?? '';
    const { ip: address, id: requestId } = request;
    const act = { ...actorOf(principalOf(request)), address, requestId, reason: reasonIn(request) };
    const settings = this.reflector.get<AuditSettings | undefined>(AUDITED, context.getClass());
    const readState = async (pathParams: PathParams): Promise<object | undefined> =>
      settings?.readState(this.modules, pathParams).catch(() => undefined);
    const stateBefore = await readState(params);
    const action = context.getHandler().name;
    /** Writes the entry. @param created the answer to a creation, which names the new resource */
    const write = async (status: number, created?: object, error: string | null = null): Promise<void> => {
      const newName = created && settings && (Reflect.get(created, settings.member) as string);
      const paramsAfter = newName ? { ...params, [settings.member]: newName } : params;
      const before = newName ? {} : stateBefore;
      const changes = before && error === null ? changesBetween(before, await readState(paramsAfter)) : [];
      const path = [targetOf(route, params), ...(newName ? [newName] : [])].join('/');
      // The path is the sender's text, even for unknown names, so it must be sanitised.
      const target = sanitisedText(path.slice(0, maxTargetLength));
      const { project = null } = request;
      await this.log.write({ ...act, action, target, project, status, error, changes });
    };
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        const { statusCode } = http.getResponse<FastifyReply>();
        const isCreation = statusCode === 201 && Object.keys(params).length === 0;
        const writing = write(statusCode, isCreation ? (answer as object) : undefined);
        const confirming = isAct(request.method, route) ? this.barrier.pass() : [];
        const [missing] = await Promise.all([confirming, writing]);
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
/** The members of a value that are compared one by one; undefined for a value that is compared as a whole. */
const membersOf = (value: unknown): object | undefined =>
  isObject(value) && !(value instanceof Date) ? value : undefined;

/** The differences of two states. If they are long, only their paths. */
function changesBetween(before: object, after: object | undefined): JsonDifference[] {
  const changes = jsonDifferences(before, after ?? before, membersOf);
  const isShort = JSON.stringify(changes).length <= maxChangesLength;
  return isShort ? changes : changes.slice(0, maxPaths).map(({ path }) => ({ path }));
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
