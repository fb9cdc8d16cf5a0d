import type { FastifyRequest } from 'fastify';
import { principalOf, projectInHeader } from '../../web/auth/principal.decorator.js';
import { type FieldProblem, invalidRequest, Problem } from '../../base/common/errors.js';
import type { JsonObject } from '../../base/common/json.js';
import type { Asks } from '../../web/contract/asks.js';
import type { CallContext, Lister } from '../../web/contract/tool.js';
import type { Principal } from '../../web/contract/principal.js';
import type { CallAnswer, CallRequest } from '../../web/contract/tool-call.js';
import { rateLimitHeaders } from '../budgets/investigation-budget.guard.js';
import type { AppConfig } from '../../base/config/app-config.js';
import { compileSchema } from '../../base/schemas/schema-compiler.js';
import { wrong } from '../../web/rest/wrong-field.js';

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
const textSchema = { type: 'string', minLength: 1, maxLength: maxTextLength, pattern: '^[^\\x00-\\x1f]*$' };

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
        userId: textSchema,
        sessionId: textSchema,
        requestId: textSchema,
        investigationId: textSchema,
        runId: textSchema,
        threadId: textSchema,
        uiSession: textSchema,
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
const contextSchema = compileSchema(executeBodySchema.properties.context);

/** An opaque text of the caller, such as a UUID or the quoted string of the IETF's draft. */
const keyPattern = /^[\x20-\x7e]{1,255}$/;

/** A call as a transport has read it. */
interface GivenCall {
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
 * @param takesWebhook whether the body may name a webhook
 * @throws Problem `invalid_request` naming the fields
 */
export function incomingCall(request: FastifyRequest, takesWebhook = false): CallRequest {
  const body = request.body ?? {};
  assertNoErrors(problemsOf(body));
  const { input = {}, context, webhookUrl, ...asksBody } = body as Partial<ExecuteBody>;
  if (webhookUrl !== undefined && !takesWebhook)
    throw wrong('/webhookUrl', 'is for calls with the header Prefer: respond-async');
  const given = { tool: (request.params as { name: string }).name, input, context };
  // A generated request id is also the execution's id. An id of the caller may be used twice.
  const isGenerated = request.headers['x-request-id'] !== request.id;
  const call = checkedCall(given, request, isGenerated ? request.id : undefined);
  const hasAsks = asksBody.elicitation !== undefined || asksBody.requestState !== undefined;
  return hasAsks ? { ...call, asks: asksOf(asksBody) } : call;
}

/** The ways to ask the caller, and its answers. */
const asksOf = ({ elicitation, inputResponses = {}, requestState }: Partial<ExecuteBody>): Asks => ({
  capabilities: elicitation ? { elicitation } : {},
  ...(requestState !== undefined && { answers: { inputResponses, requestState } }),
});

/** A call with the context of its body and of the request's headers. @throws Problem `invalid_request` naming the fields */
export function callOf(given: GivenCall, request: FastifyRequest): CallRequest {
  if (given.context !== undefined) {
    const errors = contextSchema.problemsOf(given.context);
    assertNoErrors(errors.map((error) => ({ ...error, pointer: `/context${error.pointer}` })));
  }
  return checkedCall(given, request);
}

/** A call whose context was checked. */
function checkedCall(given: GivenCall, request: FastifyRequest, executionId?: string): CallRequest {
  const { headers } = request;
  const principal = principalOf(request);
  const { tool, input, context = {}, idempotencyKey = headers['idempotency-key'], trace = {} } = given;
  const body = context as ContextBody;
  return {
    tool,
    input,
    context: contextOf(body, request, principal, trace),
    principal,
    address: request.ip,
    timeoutMs: body.timeoutMs,
    cancellation: request.cancellation,
    executionId,
    idempotencyKey: idempotencyKey === undefined ? undefined : checkedKey(idempotencyKey),
    bytesAtMost: Number(headers['content-length']) || undefined,
  };
}

/** @throws Problem `invalid_request` if there are errors */
function assertNoErrors(errors: readonly FieldProblem[]): void {
  if (errors.length > 0) throw invalidRequest(...errors);
}

/** The context of a call. The body takes precedence over headers. Defaults: the key's owner and its first project. */
function contextOf(
  body: ContextBody,
  request: FastifyRequest,
  principal: Principal,
  trace: NonNullable<GivenCall['trace']>,
): CallContext {
  const { id, headers } = request;
  const { userId, token } = principal;
  return {
    // An access token names its person.
    userId: token ? userId : (body.userId ?? textOf(headers['x-user-id']) ?? userId),
    requestId: body.requestId ?? id,
    projectId: projectIn(request, principal),
    sessionId: body.sessionId ?? textOf(headers['x-session-id']),
    investigationId: body.investigationId ?? textOf(headers['x-investigation-id']),
    runId: body.runId ?? textOf(headers['x-run-id']),
    threadId: body.threadId ?? textOf(headers['x-thread-id']),
    uiSession: body.uiSession ?? textOf(headers['x-ui-session']),
    labels: body.labels,
    traceparent: textOf(trace['traceparent']) ?? textOf(headers['traceparent']),
    tracestate: textOf(trace['tracestate']) ?? textOf(headers['tracestate']),
  };
}

/** The project of a request: that of its header, else the first one of its key. */
export const projectIn = ({ headers }: FastifyRequest, { projects }: Principal): string =>
  textOf(projectInHeader(headers)) ?? projects?.[0] ?? 'default';

/** The caller of a list. @param uiSession console page; default: that of the header */
export const listerOf = (request: FastifyRequest, uiSession?: unknown): Lister => ({
  principal: principalOf(request),
  uiSession: typeof uiSession === 'string' ? uiSession : textOf(request.headers['x-ui-session']),
});

/** A text, cut to the max length; undefined if the value is none or empty. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, maxTextLength) : undefined;

/** The idempotency key. @throws Problem `invalid_request` if it is malformed */
function checkedKey(key: unknown): string {
  if (typeof key === 'string' && keyPattern.test(key)) return key;
  throw new Problem('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
}

/** The webhook URL in a body, if any. @throws Problem `invalid_request` for a URL that webhooks must not use */
export function webhookUrlIn(
  body: unknown,
  { webhookSecret, outbound }: Pick<AppConfig['builtinTools'], 'webhookSecret' | 'outbound'>,
): string | undefined {
  const { webhookUrl } = (body ?? {}) as { readonly webhookUrl?: string };
  if (webhookUrl === undefined) return undefined;
  const invalidUrl = (detail: string): Problem => wrong('/webhookUrl', detail);
  const url = URL.parse(webhookUrl);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    throw invalidUrl('must be an http or https URL without a password');
  if (webhookSecret === undefined)
    throw invalidUrl(
      'cannot be used: webhooks to callers are signed with SEND_WEBHOOK_SECRET, which is not set',
    );
  const obstacle = outbound.literalObstacle(url);
  if (obstacle !== undefined)
    throw invalidUrl(`cannot be reached (${obstacle}); OUTBOUND_ALLOW allows more, except metadata services`);
  return webhookUrl;
}

/** Whether the caller asks for an answer before the tool has run (RFC 7240). */
export const prefersAsync = ({ headers }: FastifyRequest): boolean =>
  /(^|[,\s])respond-async(\s*$|\s*[,;])/i.test(String(headers['prefer'] ?? ''));

const replayHeaders = { 'Idempotent-Replayed': 'true' };

/** Additional headers of an answer, if any. */
export function headersOf(
  answer: Pick<CallAnswer, 'budget' | 'replayed'>,
): Record<string, string> | undefined {
  if (answer.replayed) return replayHeaders;
  return answer.budget && rateLimitHeaders(answer.budget);
}
