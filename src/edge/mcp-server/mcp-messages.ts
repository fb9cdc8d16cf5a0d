import type {
  CallToolResult,
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { isObject, type JsonObject, withoutNulls } from '../../base/common/json.js';
import { errorTable, type Problem, type ProblemCode } from '../../base/common/errors.js';
import { asProblem, type OwnErrorBody, problemBody } from '../../web/rest/problem.filter.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import {
  type ReadableAnswer,
  readableOutcome,
  readableProblem,
  textOf,
} from '../../call/platforms/native-calls.js';

export type RpcId = JSONRPCRequest['id'];
export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;
export type Notification = JSONRPCNotification;

export const invalidParams = errorTable.invalid_input.jsonRpc;
export const methodNotFound = errorTable.tool_not_found.jsonRpc;
const parseError = -32700;
/** Fastify's codes for a body that no JSON can be read from. */
const notJson = new Set(['FST_ERR_CTP_INVALID_JSON_BODY', 'FST_ERR_CTP_EMPTY_JSON_BODY']);

export const resultOf = (id: RpcId, result: object): JSONRPCResultResponse => ({
  jsonrpc: '2.0',
  id,
  result: result as JSONRPCResultResponse['result'],
});

export const errorOf = (
  id: RpcId | null,
  code: number,
  message: string,
  data?: unknown,
): JSONRPCErrorResponse =>
  ({
    jsonrpc: '2.0',
    id,
    error: { code, message, ...(data !== undefined && { data }) },
  }) as JSONRPCErrorResponse;

export const notificationOf = (method: string, params?: Record<string, unknown>): Notification => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
});

/** A message without the optional members that a client gave as null. A tool's arguments are the tool's to read. */
export function givenMembers(message: unknown): unknown {
  if (!isObject(message)) return message;
  const given = Object.entries(message).filter(([name, value]) => value !== null || name === 'id');
  return Object.fromEntries(
    given.map(([name, value]) => [name, name === 'arguments' ? value : givenMembers(value)]),
  );
}

/** A request that could not be served, with the members of its problem as data. */
export function problemAnswer(id: RpcId, problem: Problem, requestId: string): Answer {
  // The message is a valid request with invalid parameters.
  const code = problem.code === 'invalid_request' ? invalidParams : errorTable[problem.code].jsonRpc;
  return errorOf(id, code, problem.detail, problemBody(problem, requestId));
}

/** The answer to a request that could not be read as far as a message's id. */
export const unreadableBody = (exception: unknown, { id }: Pick<FastifyRequest, 'id'>): OwnErrorBody => ({
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(unreadableAnswer(exception, id)),
});

function unreadableAnswer(exception: unknown, requestId: string): Answer {
  const problem = asProblem(exception);
  const { code: why } = ((exception as Error).cause ?? {}) as { code?: string };
  const code = why && notJson.has(why) ? parseError : errorTable[problem.code].jsonRpc;
  return errorOf(null, code, problem.detail, problemBody(problem, requestId));
}

/** Refusals that the client must handle, because the model cannot correct them. */
const protocolErrors: ReadonlySet<ProblemCode> = new Set([
  'tool_not_found',
  'unauthorized',
  'forbidden',
  'invalid_request',
  'internal_error',
]);
const areTexts = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');
/** The members that a client insists on in each kind of content. */
const blocks = new Map<unknown, (block: JsonObject) => boolean>([
  ['text', ({ text }) => areTexts(text)],
  ['image', ({ data, mimeType }) => areTexts(data, mimeType)],
  ['audio', ({ data, mimeType }) => areTexts(data, mimeType)],
  [
    'resource',
    ({ resource }) => isObject(resource) && areTexts(resource['uri'], resource['text'] ?? resource['blob']),
  ],
  ['resource_link', ({ uri, name }) => areTexts(uri, name)],
]);

/** Whether a model should read the refusal, in place of a result; the others are errors of JSON-RPC. */
export const isForTheModel = ({ code }: Problem): boolean => !protocolErrors.has(code);

/** The outcome of a call as a result of MCP. The outcome without its result is in `_meta`. */
export function toolResultOf(outcome: ToolOutcome): CallToolResult {
  const { result: _result, ...about } = outcome;
  return {
    ...(failedResult(outcome) ?? contentOf(readableOutcome(outcome))),
    _meta: { 'toolkeeper/outcome': about },
  };
}

/** A server's own words of a failure, unless the tool's fallback takes their place. */
function failedResult(outcome: ToolOutcome): CallToolResult | undefined {
  if (outcome.status === 'success' || outcome.result !== undefined) return undefined;
  const { data } = outcome.error;
  return isObject(data) && data['isError'] === true ? mcpResult(data) : undefined;
}

/** A call that was not run, for the model to read. */
export const refusedResult = (problem: Problem, requestId: string): CallToolResult => ({
  ...contentOf(readableProblem(problem)),
  _meta: { 'toolkeeper/problem': problemBody(problem, requestId) },
});

/** An object is given as structured content, too; what has the form of MCP's own results is handed on as it is. */
function contentOf({ failed, value }: ReadableAnswer): CallToolResult {
  const own = !failed && isObject(value) ? mcpResult(value) : undefined;
  return (
    own ?? {
      content: [textBlock(value)],
      ...(isObject(value) && { structuredContent: value }),
      ...(failed && { isError: true }),
    }
  );
}

/**
 * A value in the form of an MCP result, as clients read it: nulls are absent, unknown content becomes text.
 * @returns undefined if it has not
 */
function mcpResult({
  structuredContent,
  content,
  isError,
  ...others
}: JsonObject): CallToolResult | undefined {
  const given: unknown = withoutNulls(content ?? []);
  if (!Array.isArray(given) || !(isObject(structuredContent) || given.some(isBlock))) return undefined;
  const isOdd = structuredContent !== undefined && structuredContent !== null && !isObject(structuredContent);
  const blocks = given.map((block: unknown) => (isBlock(block) ? block : textBlock(block)));
  // A model reads text: a server may give structured content alone.
  if (blocks.length === 0 || isOdd) blocks.push(textBlock(structuredContent));
  return {
    ...others,
    content: blocks,
    ...(isObject(structuredContent) && { structuredContent }),
    ...(typeof isError === 'boolean' && { isError }),
  };
}

const textBlock = (value: unknown) => ({ type: 'text' as const, text: textOf(value) });

const isBlock = (block: unknown): block is CallToolResult['content'][number] =>
  isObject(block) && (blocks.get(block['type'])?.(block) ?? false);
