import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { ModuleRef, Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, mergeMap, type Observable } from 'rxjs';
import { canonicalJson, sha256 } from '../../common/canonical-json.js';
import { storableText } from '../../common/pg-text.js';
import { statusOfProblem } from '../../common/problem.filter.js';
import { principalOf } from '../principal.decorator.js';
import { AUDITED, AUDITED_READ, type AuditedResource, type PathParams } from './audited.decorator.js';
import { AuditLog } from './audit-log.js';
import { maxReasonLength, maxTargetLength } from './audit.shapes.js';

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Writes one entry for each act with the rights of an administrator, whatever its status, before it is answered. `@Scopes`
 * binds it to the routes that need such a right.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly modules: ModuleRef,
    private readonly log: AuditLog,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const asked = http.getRequest<FastifyRequest>();
    const isRead = this.reflector.get<true | undefined>(AUDITED_READ, context.getHandler());
    const isAudited = isRead ? principalOf(asked).scopes.has('tools:admin') : !reading.has(asked.method);
    if (!isAudited) return next.handle();
    const { params, ...request } = partsOf(asked);
    const resource = this.resourceOf(context);
    const before = await hashOfState(resource, params);
    const write = async (status: number, made: PathParams = {}): Promise<void> => {
      const path = [targetOf(request.route, params), ...Object.values(made)].join('/');
      // A path names whatever its sender likes: the entry of an act that found no such thing is kept as well.
      const target = storableText(path.slice(0, maxTargetLength));
      const after = await hashOfState(resource, { ...params, ...made });
      const action = context.getHandler().name;
      await this.log.write({ ...request.by, action, target, status, beforeHash: before, afterHash: after });
    };
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        const { statusCode } = http.getResponse<FastifyReply>();
        const isMade = statusCode === 201 && Object.keys(params).length === 0;
        await write(statusCode, isMade ? resource?.made(answer as object) : undefined);
        return answer;
      }),
      catchError(async (error: unknown) => {
        await write(statusOfProblem(error));
        throw error;
      }),
    );
  }

  private resourceOf(context: ExecutionContext): AuditedResource | undefined {
    const type = this.reflector.get<Type<AuditedResource> | undefined>(AUDITED, context.getClass());
    return type && this.modules.get(type, { strict: false });
  }
}

function partsOf(request: FastifyRequest) {
  const { userId, keyId = null } = principalOf(request);
  return {
    params: request.params as PathParams,
    route: request.routeOptions.url ?? '',
    by: { userId, keyId, address: request.ip, requestId: request.id, reason: reasonIn(request) },
  };
}

/** The reason that an act was given, also where the act itself was refused for what else it holds. */
function reasonIn({ query, body }: FastifyRequest): string | null {
  const [asked, sent] = [query, body] as ({ reason?: unknown } | null | undefined)[];
  const reason = asked?.reason ?? sent?.reason;
  return typeof reason === 'string' ? storableText(reason.slice(0, maxReasonLength)) : null;
}

/** The resource that a path names, without what is done with it: `custom-tools/word_count`. */
function targetOf(route: string, params: PathParams): string {
  const [own = ''] = /^.*:\w+/.exec(route) ?? [route];
  return own.replace('/api/v1/', '').replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}

/** @returns null where there is no state, or it cannot be asked for: the act itself says what is wrong */
async function hashOfState(
  resource: AuditedResource | undefined,
  params: PathParams,
): Promise<string | null> {
  if (!resource || Object.keys(params).length === 0) return null;
  const state = await resource.stateOf(params).catch(() => undefined);
  return state === undefined ? null : sha256(canonicalJson(state));
}
