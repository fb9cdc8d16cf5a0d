import type {
  CallToolResult,
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { isObject } from '../../base/common/json.js';
import { errorTable, type Problem, type ProblemCode } from '../../base/common/errors.js';
import { asProblem, type OwnErrorBody, problemBody } from '../../web/rest/problem.filter.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { ownResult, textOf } from '../../call/platforms/mcp-results.js';
import { type ReadableAnswer, readableOutcome, readableProblem } from '../../call/platforms/native-calls.js';

type RpcId = JSONRPCRequest['id'];
/** The answer to a request: a result or an error. */
export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;
export type Notification = JSONRPCNotification;
/** A message to a client beside its answer: a notification, or a request. */
export type Message = Notification & { readonly id?: RpcId };

/* JSON-RPC's error codes. */
export const invalidParams = errorTable.invalid_input.jsonRpc;
export const methodNotFound = errorTable.tool_not_found.jsonRpc;
export const parseError = -32700;
export const notARequest = -32600;
/** Fastify's codes for a body that is not JSON. */
const notJson = new Set(['FST_ERR_CTP_INVALID_JSON_BODY', 'FST_ERR_CTP_EMPTY_JSON_BODY']);

export const resultOf = (id: RpcId, result: object): JSONRPCResultResponse => ({
  jsonrpc: '2.0',
  id,
  result: result as JSONRPCResultResponse['result'],
});

/** A JSON-RPC error; `id` is null if the request has none. */
export function errorOf(id: RpcId | null, code: number, message: string, data?: unknown) {
  const error = { code, message, ...(data !== undefined && { data }) };
  return { jsonrpc: '2.0', id, error } as JSONRPCErrorResponse;
}

export const notificationOf = (method: string, params?: Record<string, unknown>): Notification => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
});

/** A message without members that are null, which some clients send for absent ones. Arguments of tools stay unchanged. */
export function givenMembers(message: unknown): unknown {
  if (!isObject(message)) return message;
  const given = Object.entries(message).filter(([name, value]) => value !== null || name === 'id');
  return Object.fromEntries(
    given.map(([name, value]) => [name, name === 'arguments' ? value : givenMembers(value)]),
  );
}

/** The answer to a request that could not be served. Its data are the members of the problem. */
export function problemAnswer(id: RpcId, problem: Problem, requestId: string): Answer {
  // The message is a valid request with invalid parameters.
  const code = problem.code === 'invalid_request' ? invalidParams : errorTable[problem.code].jsonRpc;
  return errorOf(id, code, problem.detail, problemBody(problem, requestId));
}

/** The answer to a request that could not be read, so that its id is unknown. */
export function unreadableBody(exception: unknown, { id }: Pick<FastifyRequest, 'id'>): OwnErrorBody {
  const problem = asProblem(exception);
  const { code: why } = ((exception as Error).cause ?? {}) as { code?: string };
  const code = why && notJson.has(why) ? parseError : errorTable[problem.code].jsonRpc;
  const answer = errorOf(null, code, problem.detail, problemBody(problem, id));
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(answer) };
}

/** Refusals that the client must handle, because the model cannot correct them. */
const protocolErrors: ReadonlySet<ProblemCode> = new Set([
  'tool_not_found',
  'unauthorized',
  'forbidden',
  'invalid_request',
  'internal_error',
]);
/** Whether a refusal is a result for the model to read, instead of a JSON-RPC error. */
export const isForTheModel = ({ code }: Problem): boolean => !protocolErrors.has(code);

/**
 * The outcome of a call as an MCP result. `_meta` contains the outcome without its result.
 * @param isMcp whether a tool of an MCP server was called
 * @param isModern whether the client reads structured content other than objects
 */
export function toolResultOf(
  outcome: ToolOutcome,
  { isMcp, isModern }: { readonly isMcp: boolean; readonly isModern: boolean },
): CallToolResult {
  const { result: _result, ...about } = outcome;
  const serversResult = ownResult(outcome, isMcp) as CallToolResult | undefined;
  const { structuredContent, _meta, ...result } = serversResult ?? contentOf(readableOutcome(outcome));
  const isReadable = isModern ? structuredContent !== undefined : isObject(structuredContent);
  return {
    ...result,
    ...(isReadable && { structuredContent }),
    _meta: { ...(isObject(_meta) && _meta), 'toolkeeper/outcome': about },
  };
}

/** The result of a call that was refused, for the model to read. */
export const refusedResult = (problem: Problem, requestId: string): CallToolResult => ({
  ...contentOf(readableProblem(problem)),
  _meta: { 'toolkeeper/problem': problemBody(problem, requestId) },
});

/** A readable answer as MCP content. An object is also the structured content. */
const contentOf = ({ failed, value }: ReadableAnswer): CallToolResult => ({
  content: [{ type: 'text', text: textOf(value) }],
  ...(isObject(value) && { structuredContent: value }),
  ...(failed && { isError: true }),
});
