import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PinoLogger } from 'nestjs-pino';
import { RequestContext } from './request-context.js';

type RequestLevel = 'debug' | 'info' | 'error';

/** Asked every few seconds by machines. */
const quietPaths: ReadonlySet<string> = new Set(['/livez', '/readyz', '/startupz', '/metrics']);

/**
 * Logs requests by Fastify hooks. nestjs-pino's own middleware loses its context where Fastify reads a body, and makes
 * a child logger for every request, whether anything is written or not.
 */
@Injectable()
export class RequestLog {
  constructor(
    private readonly logger: PinoLogger,
    private readonly context: RequestContext,
  ) {}

  register(fastify: FastifyInstance): void {
    // After the body was read: its reader's events would not carry the context on.
    fastify.addHook('preHandler', (request, _reply, done) => this.context.run(request.id, done));
    fastify.addHook('onResponse', (request, reply, done) => {
      this.completed(request, reply);
      done();
    });
  }

  private completed(request: FastifyRequest, reply: FastifyReply): void {
    const { statusCode } = reply;
    const level = levelOfStatus(statusCode);
    if (!this.logger.logger.isLevelEnabled(level)) return;
    const path = pathOf(request.originalUrl);
    if (quietPaths.has(path)) return;
    const req = { id: request.id, method: request.method, path };
    const durationMs = Math.round(reply.elapsedTime * 100) / 100;
    this.logger[level]({ req, res: { statusCode }, durationMs }, 'request completed');
  }
}

/** What is expected and counted elsewhere is not worth a line by default: a busy server would log little else. */
export function levelOfStatus(statusCode: number): RequestLevel {
  if (statusCode < 400 || statusCode === 429 || statusCode === 503) return 'debug';
  return statusCode >= 500 ? 'error' : 'info';
}

/** The query is left out: it may hold what the caller looks for. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
