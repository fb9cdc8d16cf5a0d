import type { FastifyReply } from 'fastify';

/** Aborts when the client has left before its answer was written. (Fastify's own signal aborts on normal POSTs.) */
export function callerSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
