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

/** The members of `context` in a body. Each may be a header instead. */
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

/** Max characters of an id or a name, in the body and in headers. */
const maxTextLength = 256;
const text = { type: 'string', minLength: 1, maxLength: maxTextLength, pattern: '^[^\\x00-\\x1f]*$' };

/** Schema of a call's body. The tool's own schema checks `input`. */
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
        'Ways in which the tool may ask the caller, as in MCP: `{"form": {}, "url": {}}`. Absent: none',
    },
    inputResponses: {
      type: 'object',
      description: 'Answers to the questions of the previous round, by their names',
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

/** The schema is compiled, because the class-based pipe would copy the whole input of each call. */
const { problemsOf } = compileSchema(executeBodySchema);
const context = compileSchema(executeBodySchema.properties.context);

/** An opaque text of the caller, such as a UUID or the quoted string of the IETF's draft. */
const wellFormedKey = /^[\x20-\x7e]{1,255}$/;

/** A call as a transport has read it. */
export interface AskedCall {
  readonly tool: string;
  readonly input: unknown;
  /** The `context` of a body; not checked yet. */
  readonly context?: unknown;
  /** Takes precedence over the header. */
  readonly idempotencyKey?: unknown;
  /** `traceparent` and `tracestate`, which take precedence over the headers. */
  readonly trace?: Readonly<Record<string, unknown>>;
}

/**
 * The call in a request `POST …/{name}/…`. It reads the request as a whole, because Nest makes a context and awaits pipes for
 * each parameter of a handler.
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, takesWebhook = false): CallRequest {
  const body = request.body ?? {};
  assertNone(problemsOf(body));
  const { input = {}, context, webhookUrl, ...about } = body as Partial<ExecuteBody>;
  if (webhookUrl !== undefined && !takesWebhook)
    throw invalidRequest({
      pointer: '/webhookUrl',
      detail: 'is for calls with the header Prefer: respond-async',
    });
  const asked = { tool: (request.params as { name: string }).name, input, context };
  // A generated request id is also the execution's id. An id of the caller may be used twice.
  const isGenerated = request.headers['x-request-id'] !== request.id;
  const call = checkedCall(asked, request, isGenerated ? request.id : undefined);
  return about.elicitation || about.requestState !== undefined ? { ...call, asks: asksOf(about) } : call;
}

const asksOf = ({ elicitation, inputResponses = {}, requestState }: Partial<ExecuteBody>): Asks => ({
  capabilities: elicitation ? { elicitation } : {},
  ...(requestState !== undefined && { answers: { inputResponses, requestState } }),
});

/** A call with the context of its body and of the request's headers. @throws Problem `invalid_request` naming the fields */
export function callOf(asked: AskedCall, request: FastifyRequest): CallRequest {
  if (asked.context !== undefined) {
    const errors = context.problemsOf(asked.context);
    assertNone(errors.map((error) => ({ ...error, pointer: `/context${error.pointer}` })));
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

/** @throws Problem `invalid_request` if there are errors */
function assertNone(errors: readonly FieldProblem[]): void {
  if (errors.length > 0) throw invalidRequest(...errors);
}

/** The body takes precedence over headers. Defaults: the key's owner and its first project. */
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

/** The caller of a list. @param uiSession console page; default: that of the header */
export const listerOf = (request: FastifyRequest, uiSession?: unknown): Lister => ({
  principal: principalOf(request),
  uiSession: typeof uiSession === 'string' ? uiSession : header(request.headers, 'x-ui-session'),
});

/** A header's text; undefined if it is empty. */
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

/** Whether the caller asks for an answer before the tool has run (RFC 7240). */
export const prefersAsync = ({ headers }: FastifyRequest): boolean =>
  /(^|[,\s])respond-async(\s*$|\s*[,;])/i.test(String(headers['prefer'] ?? ''));

const replayed = { 'Idempotent-Replayed': 'true' };

/** Additional headers of an answer, if any. */
export function headersOf({
  budget,
  replayed: isReplay,
}: Pick<CallAnswer, 'budget' | 'replayed'>): Record<string, string> | undefined {
  if (isReplay) return replayed;
  return budget && rateLimitHeaders(budget);
}
