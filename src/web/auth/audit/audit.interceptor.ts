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

export const AUDITED = 'toolkeeper:audited';

export const AUDITED_READ = 'toolkeeper:audited-read';

/** Marks a route that shows inputs and answers of tools or models: each read by an operator is audited. */
export const AuditedRead = (): MethodDecorator => SetMetadata(AUDITED_READ, true);

/** Reads the current state that an act may change, without secrets and without what changes by itself. */
type Look = (modules: ModuleRef, params: PathParams) => Promise<object>;

/** Sets which member of an answer, also a path parameter, names the resource in audit entries, and how its state is read. */
export const Audited = (member: string, look: Look): ClassDecorator => SetMetadata(AUDITED, { member, look });

/** The parameters of a route's path. */
type PathParams = Readonly<Record<string, string>>;

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a request may change something that other replicas must apply. */
export const isAct = (method: string, route: string): boolean =>
  !reading.has(method) && !/\/(test|try|validate|replay)$/.test(route);

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
    const asked = http.getRequest<FastifyRequest>();
    const isRead = this.reflector.get<true | undefined>(AUDITED_READ, context.getHandler());
    const isAudited = isRead ? principalOf(asked).scopes.has('tools:admin') : !reading.has(asked.method);
    if (!isAudited) return next.handle();
    const { params, ...request } = partsOf(asked);
    const of = this.reflector.get<{ member: string; look: Look } | undefined>(AUDITED, context.getClass());
    const look = async (named = params): Promise<object | undefined> =>
      of?.look(this.modules, named).catch(() => undefined);
    const before = await look();
    const action = context.getHandler().name;
    const write = async (status: number, made?: object, error: string | null = null): Promise<void> => {
      const name = made && of && (Reflect.get(made, of.member) as string);
      const named = name && of ? { ...params, [of.member]: name } : params;
      const old = name ? {} : before;
      const changes = old && error === null ? changesBetween(old, await look(named)) : [];
      const path = [targetOf(request.route, params), ...(name ? [name] : [])].join('/');
      // The path is the sender's text, even for unknown names, so it must be sanitised.
      const target = sanitisedText(path.slice(0, maxTargetLength));
      const { project = null } = asked;
      await this.log.write({ ...request.by, action, target, project, status, error, changes });
    };
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        const { statusCode } = http.getResponse<FastifyReply>();
        const isMade = statusCode === 201 && Object.keys(params).length === 0;
        const written = write(statusCode, isMade ? (answer as object) : undefined);
        const passed = isAct(asked.method, request.route) ? this.barrier.pass() : [];
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

const maxChangesLength = 8_192;
const members = (value: unknown): object | undefined =>
  isObject(value) && !(value instanceof Date) ? value : undefined;

/** The differences of two states. If they are long, only their paths. */
function changesBetween(before: object, after: object | undefined): JsonDifference[] {
  const changes = jsonDifferences(before, after ?? before, members);
  const isShort = JSON.stringify(changes).length <= maxChangesLength;
  return isShort ? changes : changes.slice(0, 100).map(({ path }) => ({ path }));
}

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
  const [asked, sent] = [query, body] as ({ reason?: unknown } | null | undefined)[];
  const reason = asked?.reason ?? sent?.reason;
  return typeof reason === 'string' ? sanitisedText(reason.slice(0, maxReasonLength)) : null;
}

/** The resource of a path without the action: `custom-tools/word_count`. */
function targetOf(route: string, params: PathParams): string {
  const [own = ''] = /^.*:\w+/.exec(route) ?? [route];
  return own.replace('/api/v1/', '').replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}
