import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest, Problem } from '../common/errors.js';
import type { CallContext } from '../tool-contract/call-context.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { compileSchema } from '../tool-contract/schema-compiler.js';

/** The members of `context` in a body; each may come as a header instead. */
interface ContextBody {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly requestId?: string;
  readonly investigationId?: string;
  readonly runId?: string;
  readonly threadId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

interface ExecuteBody {
  readonly input: unknown;
  readonly context: ContextBody;
}

/** The most characters of an id or a name, in the body as in a header. */
const maxTextLength = 256;
const text = { type: 'string', minLength: 1, maxLength: maxTextLength, pattern: '^[^\\x00-\\x1f]*$' };

/** The envelope of a call; the input itself is the tool's schema's business. */
export const executeBodySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    input: { description: "The tool's input; absent means {}" },
    context: {
      type: 'object',
      additionalProperties: false,
      properties: {
        userId: text,
        sessionId: text,
        requestId: text,
        investigationId: text,
        runId: text,
        threadId: text,
        labels: {
          type: 'object',
          maxProperties: 64,
          additionalProperties: { type: 'string', maxLength: 256 },
        },
        timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
      },
    },
  },
};

/** A compiled schema: the class-based pipe would copy the whole input for every call. */
const { problemsOf } = compileSchema(executeBodySchema);

/** An opaque text of the caller's: a UUID, or the quoted string of the IETF's draft. */
const wellFormedKey = /^[\x20-\x7e]{1,255}$/;

/**
 * The call that a `POST …/{name}/…` asks for. It is taken from the request as a whole: for every parameter of a handler
 * Nest makes a context and awaits its pipes.
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, reply: FastifyReply): CallRequest {
  const { headers, principal } = request;
  if (!principal) throw new Error('The request reached its handler without passing its hook');
  const { input, context } = parseBody(request.body);
  return {
    tool: (request.params as { name: string }).name,
    input,
    context: contextOf(context, request, principal.userId),
    principal,
    timeoutMs: context.timeoutMs,
    signal: callerSignal(reply),
    idempotencyKey: idempotencyKeyOf(request),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}

function parseBody(value: unknown): ExecuteBody {
  const body = value ?? {};
  const errors = problemsOf(body);
  if (errors.length > 0) throw invalidRequest(...errors);
  const { input = {}, context = {} } = body as Partial<ExecuteBody>;
  return { input, context };
}

/** The body wins over the headers, and the key's owner stands in for an absent user. */
function contextOf(body: ContextBody, { id, headers }: FastifyRequest, keyOwner: string): CallContext {
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' && value !== '' ? value.slice(0, maxTextLength) : undefined;
  };
  return {
    userId: body.userId ?? header('x-user-id') ?? keyOwner,
    requestId: body.requestId ?? id,
    projectId: header('x-project-id') ?? 'default',
    sessionId: body.sessionId ?? header('x-session-id'),
    investigationId: body.investigationId ?? header('x-investigation-id'),
    runId: body.runId ?? header('x-run-id'),
    threadId: body.threadId ?? header('x-thread-id'),
    labels: body.labels,
    traceparent: header('traceparent'),
  };
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && wellFormedKey.test(key)) return key;
  throw new Problem('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
}

/** Aborts when the client has left before its answer was written. (Fastify's own signal aborts on normal POSTs.) */
function callerSignal({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) left.abort();
  });
  return left.signal;
}
