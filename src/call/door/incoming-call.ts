import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { principalOf, projectInHeader } from '../../web/auth/principal.decorator.js';
import { type FieldProblem, invalidRequest, Problem } from '../../base/common/errors.js';
import type { JsonObject } from '../../base/common/json.js';
import type { Asks } from '../../web/contract/asks.js';
import type { CallContext, Lister } from '../../web/contract/tool.js';
import type { Principal } from '../../web/contract/principal.js';
import type { CallAnswer, CallRequest } from '../../web/contract/tool-call.js';
import { rateLimitHeaders } from '../budgets/investigation-budget.guard.js';
import { compileSchema } from '../../base/schemas/schema-compiler.js';

/** The members of `context` in a body; each may come as a header instead. */
type ContextBody = Partial<Omit<CallContext, 'projectId' | 'traceparent' | 'tracestate'>> & {
  readonly timeoutMs?: number;
};

interface ExecuteBody {
  readonly input: unknown;
  /** Read by asynchronous executions. */
  readonly webhookUrl?: string;
  readonly context?: unknown;
  readonly elicitation?: JsonObject;
  readonly inputResponses?: JsonObject;
  readonly requestState?: string;
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
    elicitation: {
      type: 'object',
      additionalProperties: false,
      properties: { form: { type: 'object' }, url: { type: 'object' } },
      description:
        'How the tool may ask the caller, as MCP has it: `{"form": {}, "url": {}}`; absent: not at all',
    },
    inputResponses: {
      type: 'object',
      description: 'The answers to the questions of the round before, by their names',
    },
    requestState: { type: 'string', minLength: 1, description: 'The state that came with these questions' },
    webhookUrl: {
      type: 'string',
      minLength: 1,
      maxLength: 2_048,
      description: 'With `Prefer: respond-async`: where the end is reported, signed with SEND_WEBHOOK_SECRET',
    },
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
        uiSession: text,
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

/** Compiled schemas: the class-based pipe would copy the whole input for every call. */
const { problemsOf } = compileSchema(executeBodySchema);
const context = compileSchema(executeBodySchema.properties.context);

/** An opaque text of the caller's: a UUID, or the quoted string of the IETF's draft. */
const wellFormedKey = /^[\x20-\x7e]{1,255}$/;

/** A call as a transport has read it. */
export interface AskedCall {
  readonly tool: string;
  readonly input: unknown;
  /** The `context` of a body; not checked yet. */
  readonly context?: unknown;
  /** Wins over the header. */
  readonly idempotencyKey?: unknown;
  /** Members with the place in the caller's trace, which win over the headers. */
  readonly trace?: Readonly<Record<string, unknown>>;
}

/**
 * The call that a `POST …/{name}/…` asks for. It is taken from the request as a whole: for every parameter of a handler
 * Nest makes a context and awaits its pipes.
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, takesWebhook = false): CallRequest {
  const body = request.body ?? {};
  refuse(problemsOf(body));
  const { input = {}, context, webhookUrl, ...about } = body as Partial<ExecuteBody>;
  if (webhookUrl !== undefined && !takesWebhook)
    throw invalidRequest({
      pointer: '/webhookUrl',
      detail: 'is for calls with the header Prefer: respond-async',
    });
  const asked = { tool: (request.params as { name: string }).name, input, context };
  // The id that the server gave to the request names its one call as well; an id that the caller gave may come twice.
  const isOurs = request.headers['x-request-id'] !== request.id;
  const call = checkedCall(asked, request, isOurs ? request.id : undefined);
  return about.elicitation || about.requestState !== undefined ? { ...call, asks: asksOf(about) } : call;
}

const asksOf = ({ elicitation, inputResponses = {}, requestState }: Partial<ExecuteBody>): Asks => ({
  capabilities: elicitation ? { elicitation } : {},
  ...(requestState !== undefined && { answers: { inputResponses, requestState } }),
});

/** A call with the context that its request's headers give it. @throws Problem `invalid_request` naming the fields */
export function callOf(asked: AskedCall, request: FastifyRequest): CallRequest {
  if (asked.context !== undefined) {
    const errors = context.problemsOf(asked.context);
    refuse(errors.map((error) => ({ ...error, pointer: `/context${error.pointer}` })));
  }
  return checkedCall(asked, request);
}

function checkedCall(asked: AskedCall, request: FastifyRequest, executionId?: string): CallRequest {
  const { headers } = request;
  const principal = principalOf(request);
  const { tool, input, context = {}, idempotencyKey = headers['idempotency-key'], trace = {} } = asked;
  const own = context as ContextBody;
  return {
    tool,
    input,
    context: contextOf(own, request, principal, trace),
    principal,
    address: request.ip,
    timeoutMs: own.timeoutMs,
    cancellation: request.cancellation,
    executionId,
    idempotencyKey: wellFormed(idempotencyKey),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}

function refuse(errors: readonly FieldProblem[]): void {
  if (errors.length > 0) throw invalidRequest(...errors);
}

/** The body wins over the headers; the key's owner and its first project stand in for what neither names. */
function contextOf(
  body: ContextBody,
  { id, headers }: FastifyRequest,
  { userId, projects, token }: Principal,
  trace: NonNullable<AskedCall['trace']>,
): CallContext {
  return {
    // An access token names its person.
    userId: token ? userId : (body.userId ?? header(headers, 'x-user-id') ?? userId),
    requestId: body.requestId ?? id,
    projectId: textOf(projectInHeader(headers)) ?? projects?.[0] ?? 'default',
    sessionId: body.sessionId ?? header(headers, 'x-session-id'),
    investigationId: body.investigationId ?? header(headers, 'x-investigation-id'),
    runId: body.runId ?? header(headers, 'x-run-id'),
    threadId: body.threadId ?? header(headers, 'x-thread-id'),
    uiSession: body.uiSession ?? header(headers, 'x-ui-session'),
    labels: body.labels,
    traceparent: textOf(trace['traceparent']) ?? header(headers, 'traceparent'),
    tracestate: textOf(trace['tracestate']) ?? header(headers, 'tracestate'),
  };
}

/** The caller of a list. @param uiSession the page that it names; absent: its header does */
export const listerOf = (request: FastifyRequest, uiSession?: unknown): Lister => ({
  principal: principalOf(request),
  uiSession: typeof uiSession === 'string' ? uiSession : header(request.headers, 'x-ui-session'),
});

/** @returns undefined for an empty header */
function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  return textOf(headers[name]);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, maxTextLength) : undefined;

function wellFormed(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key === 'string' && wellFormedKey.test(key)) return key;
  throw new Problem('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
}

/** Whether the caller wants to be answered before the tool has run (RFC 7240). */
export const prefersAsync = ({ headers }: FastifyRequest): boolean =>
  /(^|[,\s])respond-async(\s*$|\s*[,;])/i.test(String(headers['prefer'] ?? ''));

const replayed = { 'Idempotent-Replayed': 'true' };

/** The headers that an answer carries beside its outcome; undefined: none. */
export function headersOf({
  budget,
  replayed: isReplay,
}: Pick<CallAnswer, 'budget' | 'replayed'>): Record<string, string> | undefined {
  if (isReplay) return replayed;
  return budget && rateLimitHeaders(budget);
}
