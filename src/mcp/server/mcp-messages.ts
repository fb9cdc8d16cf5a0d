import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { isObject } from '../../common/json.js';
import { errorTable, type Problem } from '../../common/errors.js';
import { asProblem, type OwnErrorBody, problemBody } from '../../rest/problem.filter.js';

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
export function withoutNulls(message: unknown): unknown {
  if (!isObject(message)) return message;
  const given = Object.entries(message).filter(([name, value]) => value !== null || name === 'id');
  return Object.fromEntries(
    given.map(([name, value]) => [name, name === 'arguments' ? value : withoutNulls(value)]),
  );
}

/** A request that could not be served, with the members of its problem as data. */
export function problemAnswer(id: RpcId, problem: Problem, requestId: string): Answer {
  // The message was a request: what is wrong stands in its parameters.
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
