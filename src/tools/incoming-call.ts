import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import type { CancelSignal } from '../common/cancel-signal.js';
import type { CallRequest, Principal } from '../tool-contract/tool-call.js';
import { callContext } from './call-context.js';
import { callerSignal } from './caller-signal.js';
import { parseExecuteBody } from './execute-body.js';
import { idempotencyKeyFrom } from './idempotency-key.js';

/** What HTTP brought, by whatever way it came in. */
export interface IncomingRequest {
  readonly tool: string;
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly principal: Principal;
  readonly body: unknown;
  /** Aborts when the caller has left. */
  readonly signal: CancelSignal;
}

/**
 * The call that a `POST …/{name}/…` asks for.
 * @throws Problem `invalid_request` naming the fields
 */
export function callOf({ tool, id, headers, principal, body, signal }: IncomingRequest): CallRequest {
  const { input, context } = parseExecuteBody(body);
  return {
    tool,
    input,
    context: callContext(context, headers, { id, userId: principal.userId }),
    principal,
    timeoutMs: context.timeoutMs,
    signal,
    idempotencyKey: idempotencyKeyFrom(headers),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}

/** Handlers take only request and reply: for every other parameter Nest makes a context and awaits its pipes. */
export function incomingCall(request: FastifyRequest, reply: FastifyReply): CallRequest {
  const { headers, id, principal, body } = request;
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  const tool = (request.params as { name: string }).name;
  return callOf({ tool, id, headers, principal, body, signal: callerSignal(reply) });
}
