import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { manifest } from '../../base/common/project.js';
import { Problem, type ProblemCode } from '../../base/common/errors.js';
import { type Answer, resultOf } from './mcp-messages.js';
import type { Sdk } from './mcp-revisions.js';

/** Parameters of a request, or its `_meta`. */
export type Params = Readonly<Record<string, unknown>>;

/** A request that has come from a client, with everything that its answer needs. */
export interface Incoming {
  readonly message: JSONRPCRequest;
  /** 2026-07-28 or later: stateless. Before that, a client sends `initialize` first. */
  readonly isModern: boolean;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly sdk: Sdk;
}

/** The answer to a message: a message, a stream of messages, or nothing for a notification. */
export type McpAnswer = object | Readable | undefined;

/** A method of the protocol. */
export interface Method {
  /** The only kind of client that may use it; absent: all. */
  readonly only?: 'modern' | 'legacy';
  /** Answers a request. Errors that it throws become JSON-RPC errors. */
  readonly handle: (incoming: Incoming) => McpAnswer | Promise<McpAnswer>;
}

export type Methods = Readonly<Record<string, Method>>;

/** Items on a page of a list. Large, because some clients read only the first page. */
export const itemsOnPage = 500;
/** Prefix of this product's own members of `_meta`. */
export const metaPrefix = 'toolkeeper/';
export const sessionHeader = 'mcp-session-id';
/** This server, as it introduces itself to clients. */
export const serverInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };

/** Answers a request with a result. From revision 2026-07-28 on it also states the kind of result and the server. */
export function answerWith(
  { message: { id }, isModern }: Incoming,
  result: object,
  resultType = 'complete',
): Answer {
  if (!isModern) return resultOf(id, result);
  const { _meta } = result as { _meta?: object };
  const meta = { ..._meta, 'io.modelcontextprotocol/serverInfo': serverInfo };
  return resultOf(id, { ...result, resultType, _meta: meta });
}

/** Sets the status of a refused request. @returns the error, which is its body */
export function withStatus(reply: FastifyReply, status: number, error: Answer): Answer {
  void reply.status(status);
  return error;
}

/** An error handler that ignores Problems of one code. */
export const ignoring = (code: ProblemCode) => (error: unknown) => {
  if (error instanceof Problem && error.code === code) return undefined;
  throw error;
};

/** A result that clients should not cache, because it may change at any time. */
export const uncached = (result: object): object => ({ ...result, ttlMs: 0, cacheScope: 'private' });

/** Whether the answer to a request may be a stream. */
export const acceptsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') ?? false;

/** Members in which another Toolkeeper describes its own call. They are not context of this call. */
const membersOfClient = new Set(['executionId', 'clientCapabilities', 'asksWhileItRuns']);

/** The call's context and idempotency key from `_meta`, as members of a REST body. */
export function ownMembers(meta: Params): Record<string, unknown> {
  const prefixed = Object.entries(meta).filter(([name]) => name.startsWith(metaPrefix));
  const named = prefixed.map(([name, value]) => [name.slice(metaPrefix.length), value] as const);
  return Object.fromEntries(named.filter(([name]) => !membersOfClient.has(name)));
}

/** The text of a param. @throws Problem `invalid_request` if it is not a string */
export function textIn(params: Params | undefined, member: string): string {
  const value = params?.[member];
  if (typeof value === 'string') return value;
  throw new Problem('invalid_request', `${member} must be a string`);
}

/** The cursor of a list request, if it has one. @throws Problem `invalid_request` if it is not a string */
export function cursorIn({ params }: Incoming['message']): string | undefined {
  return params?.['cursor'] === undefined ? undefined : textIn(params, 'cursor');
}
