import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { manifest } from '../../base/common/project.js';
import { Problem } from '../../base/common/errors.js';
import { type Answer, resultOf } from './mcp-messages.js';
import type { Sdk } from './mcp-revisions.js';

export type Params = Readonly<Record<string, unknown>>;

/** A request of a client, with everything that its answer needs. */
export interface Asked {
  readonly message: JSONRPCRequest;
  /** 2026-07-28 or later: stateless. Before that, a client sends `initialize` first. */
  readonly isModern: boolean;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly sdk: Sdk;
}

/** A message, a stream of messages, or nothing where none is due. */
export type Answered = object | Readable | undefined;

export interface Method {
  /** The only kind of client that may use it; absent: all. */
  readonly only?: 'modern' | 'legacy';
  /** Answers a request. Errors that it throws become JSON-RPC errors. */
  readonly handle: (asked: Asked) => Answered | Promise<Answered>;
}

/** Methods by name. */
export type Methods = Readonly<Record<string, Method>>;

/** Items on a page of a list. Large, because some clients read only the first page. */
export const itemsOnPage = 500;
export const metaPrefix = 'toolkeeper/';
export const sessionHeader = 'mcp-session-id';
export const serverInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };

/** The answer with a result. From revision 2026-07-28 on it also states the kind of result and the server. */
export function done({ message: { id }, isModern }: Asked, result: object, resultType = 'complete'): Answer {
  if (!isModern) return resultOf(id, result);
  const { _meta } = result as { _meta?: object };
  const meta = { ..._meta, 'io.modelcontextprotocol/serverInfo': serverInfo };
  return resultOf(id, { ...result, resultType, _meta: meta });
}

/** Sets the status of a refused request. @returns the error, which is its body */
export function refused(reply: FastifyReply, status: number, error: Answer): Answer {
  void reply.status(status);
  return error;
}

/** A result that clients should not cache, because it may change at any time. */
export const fresh = (result: object): object => ({ ...result, ttlMs: 0, cacheScope: 'private' });

export const acceptsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') ?? false;

/** Members in which another Toolkeeper describes its own call. They are not context of this call. */
const membersOfClient = new Set(['executionId', 'clientCapabilities', 'asksWhileItRuns']);

/** The call's context and idempotency key from `_meta`, as members of a REST body. */
export function ownMembers(meta: Params): Record<string, unknown> {
  const own = Object.entries(meta).filter(([name]) => name.startsWith(metaPrefix));
  const named = own.map(([name, value]) => [name.slice(metaPrefix.length), value] as const);
  return Object.fromEntries(named.filter(([name]) => !membersOfClient.has(name)));
}

/** The text of a param. @throws Problem `invalid_request` if it is not a string */
export function textIn(params: Params | undefined, member: string): string {
  const value = params?.[member];
  if (typeof value === 'string') return value;
  throw new Problem('invalid_request', `${member} must be a string`);
}

/** The cursor of a list request, if it has one. @throws Problem `invalid_request` if it is not a string */
export function cursorIn({ params }: Asked['message']): string | undefined {
  return params?.['cursor'] === undefined ? undefined : textIn(params, 'cursor');
}
