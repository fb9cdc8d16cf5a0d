import type { FastifyReply } from 'fastify';
import { CallSignal, type CancelSignal } from '../common/cancel-signal.js';

/** Aborts when the client has left before its answer was written. (Fastify's own signal aborts on normal POSTs.) */
export function callerSignal(reply: FastifyReply): CancelSignal {
  const signal = new CallSignal();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) signal.abort();
  });
  return signal;
}
