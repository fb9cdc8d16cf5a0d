import { Injectable } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { PinoLogger } from 'nestjs-pino';

type RequestLevel = 'debug' | 'info' | 'error';

/** The parts of a request that are logged. */
export interface CompletedRequest {
  readonly id: string;
  readonly method: string;
  readonly originalUrl: string;
}

/** Paths that monitoring requests every few seconds, which are not logged. */
const quietPaths: ReadonlySet<string> = new Set(['/livez', '/readyz', '/startupz', '/metrics']);

/**
 * Logs completed requests. nestjs-pino's own middleware loses its context when Fastify reads a body, and makes a child
 * logger for every request, even if nothing is logged.
 */
@Injectable()
export class RequestLog {
  constructor(private readonly logger: PinoLogger) {}

  completed(request: CompletedRequest, statusCode: number, durationMs: number): void {
    const level = levelOfStatus(statusCode);
    if (!this.logger.logger.isLevelEnabled(level)) return;
    const path = pathOf(request.originalUrl);
    if (quietPaths.has(path)) return;
    const { id, method } = request;
    const line = { req: { id, method, path }, res: { statusCode } };
    this.logger[level]({ ...line, durationMs: Math.round(durationMs * 100) / 100 }, 'request completed');
  }
}

/** The log level of an answer. 429 and 503 are `debug`, because metrics count them and a busy server would log little else. */
export function levelOfStatus(statusCode: number): RequestLevel {
  if (statusCode < 400 || statusCode === 429 || statusCode === 503) return 'debug';
  return statusCode >= 500 ? 'error' : 'info';
}

/** The path without the query, which may contain confidential search terms. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Holds the id of the current HTTP request, which is added to every log line. */
@Injectable()
export class RequestContext {
  private readonly storage = new AsyncLocalStorage<string>();

  run<T>(requestId: string, work: () => T): T {
    return this.storage.run(requestId, work);
  }

  requestId(): string | undefined {
    return this.storage.getStore();
  }
}
