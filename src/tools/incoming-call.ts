import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { CallSignal, type CancelSignal } from '../common/cancel-signal.js';
import { Problem } from '../common/errors.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { callContext } from './call-context.js';
import { parseExecuteBody } from './execute-body.js';

/**
 * The call that a `POST …/{name}/…` asks for. Taken from the request as a whole: for every parameter of a handler Nest
 * makes a context and awaits its pipes.
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, reply: FastifyReply): CallRequest {
  const { headers, id, principal, body } = request;
  if (!principal) throw new Error('The request reached its handler without passing its hook');
  const { input, context } = parseExecuteBody(body);
  return {
    tool: (request.params as { name: string }).name,
    input,
    context: callContext(context, headers, { id, userId: principal.userId }),
    principal,
    timeoutMs: context.timeoutMs,
    signal: callerSignal(reply),
    idempotencyKey: idempotencyKeyFrom(headers),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}

/** An opaque text of the caller's: a UUID, or the quoted string of the IETF's draft. */
const wellFormed = /^[\x20-\x7e]{1,255}$/;

function idempotencyKeyFrom(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && wellFormed.test(key)) return key;
  throw new Problem('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
}

/** Aborts when the client has left before its answer was written. (Fastify's own signal aborts on normal POSTs.) */
function callerSignal({ raw }: FastifyReply): CancelSignal {
  const signal = new CallSignal();
  raw.once('close', () => {
    if (!raw.writableFinished) signal.abort();
  });
  return signal;
}
