import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemType } from './api-problems.decorator.js';
import { errorTable, isDatabaseUnavailable, Problem, type ProblemCode } from '../../base/common/errors.js';

/** Headers of every answer. They forbid rendering; routes that serve pages set their own policy. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Formats errors for routes whose protocol does not use problem+json. */
    errorBody?: (exception: unknown, request: FastifyRequest) => OwnErrorBody;
  }
}

/** An error in the format of a route's own protocol. */
export interface OwnErrorBody {
  readonly type: string;
  readonly body: string | Buffer;
}

interface ProblemAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Converts all exceptions into problem+json without leaking details of unexpected errors. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.send(exception, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  send(exception: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { status, headers, body } = this.answer(exception, request.id);
    const ownBody = request.routeOptions.config?.errorBody?.(exception, request);
    void reply.status(status).headers(headers);
    if (ownBody) void reply.header('content-type', ownBody.type).send(ownBody.body);
    else void reply.send(body);
  }

  answer(exception: unknown, requestId: string): ProblemAnswer {
    const problem = loggedProblem(exception, requestId);
    const { retryAfterMs, headers } = problem.details;
    const retryAfter = retryAfterMs !== undefined && {
      'retry-after': String(Math.max(0, Math.ceil(retryAfterMs / 1_000))),
    };
    return {
      status: httpStatusOf(problem),
      headers: {
        ...retryAfter,
        ...headers,
        ...securityHeaders,
        'content-type': 'application/problem+json; charset=utf-8',
      },
      body: JSON.stringify(problemBody(problem, requestId)),
    };
  }
}

/** The HTTP status of the answer to a failed request. */
export const statusOfProblem = (exception: unknown): number => httpStatusOf(asProblem(exception));

const httpStatusOf = ({ code, details }: Problem): number => details.status ?? errorTable[code].http;

/** A problem as problem+json. */
export function problemBody(problem: Problem, requestId: string): Record<string, unknown> {
  const { title } = errorTable[problem.code];
  const { errors, fallback, retryElsewhere, signInUrl } = problem.details;
  return {
    type: problemType(problem.code),
    title,
    status: httpStatusOf(problem),
    detail: problem.detail,
    code: problem.code,
    requestId,
    ...(errors && { errors }),
    ...(retryElsewhere && { retryElsewhere }),
    ...(signInUrl !== undefined && { signInUrl }),
    ...(fallback !== undefined && { fallback }),
  };
}

/** Codes for errors raised by Nest and Fastify, by HTTP status. */
const codeOfStatus: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'payload_too_large',
  429: 'rate_limited',
};

/** It does not name the host, which is logged. A change may have been committed before the connection was lost. */
const databaseUnavailable = new Problem(
  'database_unavailable',
  'The database does not answer; check whether a change was made, then try again',
  { retryAfterMs: 5_000 },
);

/** The problem to report to the client for an exception. */
export function asProblem(exception: unknown): Problem {
  if (exception instanceof Problem) return exception;
  if (isDatabaseUnavailable(exception)) return databaseUnavailable;
  if (exception instanceof SyntaxError && statusOf(exception) === 400)
    return new Problem('invalid_request', `The body is not valid JSON: ${exception.message}`);
  const status = exception instanceof HttpException ? exception.getStatus() : statusOf(exception);
  if (status === undefined || status < 400 || status >= 500)
    return new Problem('internal_error', 'Internal error; the server log has details under this request id');
  const detail = exception instanceof Error ? exception.message : 'The request was refused';
  return new Problem(codeOfStatus[status] ?? 'invalid_request', detail, { status });
}

/** Like `asProblem`, but logs unexpected errors under the request id. */
export function loggedProblem(exception: unknown, requestId: string): Problem {
  const problem = asProblem(exception);
  if (problem.code === 'internal_error')
    new Logger(ProblemFilter.name).error(exception, `request ${requestId} failed`);
  return problem;
}

/** The status of an error of Fastify, which marks its own errors with `statusCode`. */
function statusOf(exception: unknown): number | undefined {
  if (typeof exception !== 'object' || exception === null || !('statusCode' in exception)) return undefined;
  return typeof exception.statusCode === 'number' ? exception.statusCode : undefined;
}
