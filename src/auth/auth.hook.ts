import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemFilter } from '../common/problem.filter.js';
import type { Principal } from '../tool-contract/tool-call.js';
import type { AccessPolicy, Visit } from './access-policy.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the auth hook before anything else sees the request. */
    principal?: Principal;
  }
  interface FastifyContextConfig {
    /** The route answers without a key. */
    public?: boolean;
  }
}

export function visitOf(request: FastifyRequest): Visit {
  const { url, config } = request.routeOptions;
  return { headers: request.headers, route: url, declaredPublic: config?.public === true };
}

/**
 * Asks every request for its key before its body is read: also those that Nest never sees, such as the Swagger UI's
 * files and unknown paths.
 */
export function registerAuthHook(fastify: FastifyInstance, policy: AccessPolicy): void {
  const filter = new ProblemFilter();
  fastify.addHook('onRequest', (request, reply, done) => {
    try {
      request.principal = policy.admit(visitOf(request));
      done();
    } catch (error) {
      // Routes that were registered before Nest's error handler would answer it with a bare 500.
      filter.catch(error, new ExecutionContextHost([request, reply]));
    }
  });
}
