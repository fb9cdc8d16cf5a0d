import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { callContext } from './call-context.js';
import { callerSignal } from './caller-signal.js';
import { parseExecuteBody } from './execute-body.js';

/**
 * The call that a `POST …/{name}/…` asks for. Handlers of the hot path take only request and reply: for every other
 * parameter Nest makes a context and awaits its pipes, 5 µs together.
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, reply: FastifyReply): CallRequest {
  const { headers, id, principal } = request;
  if (!principal) throw new Error('The request reached its handler without passing the auth hook');
  const body = parseExecuteBody(request.body);
  return {
    tool: (request.params as { name: string }).name,
    input: body.input,
    context: callContext(body.context, headers, { id, userId: principal.userId }),
    principal,
    timeoutMs: body.context.timeoutMs,
    signal: callerSignal(reply),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}
