import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { manifest } from '../../base/common/project.js';
import { Problem } from '../../base/common/errors.js';
import { type Answer, resultOf } from './mcp-messages.js';
import type { Sdk } from './mcp-revisions.js';

export type Params = Readonly<Record<string, unknown>>;

/** A request of a client, with all that is needed to answer it. */
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
  /** The only clients that may use it; absent: all. */
  readonly only?: 'modern' | 'legacy';
  /** What it throws becomes an error of JSON-RPC. */
  readonly handle: (asked: Asked) => Answered | Promise<Answered>;
}

/** Methods by name. */
export type Methods = Readonly<Record<string, Method>>;

/** Some clients read the first page only. */
export const itemsOnPage = 500;
export const metaPrefix = 'toolkeeper/';
export const sessionHeader = 'mcp-session-id';
export const serverInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: manifest().version };

/** The answer with a result. From 2026-07-28 on it says what kind of result it is, and names the server. */
export function done({ message: { id }, isModern }: Asked, result: object, resultType = 'complete'): Answer {
  if (!isModern) return resultOf(id, result);
  const { _meta } = result as { _meta?: object };
  const whose = { ..._meta, 'io.modelcontextprotocol/serverInfo': serverInfo };
  return resultOf(id, { ...result, resultType, _meta: whose });
}

export function refused(reply: FastifyReply, status: number, error: Answer): Answer {
  void reply.status(status);
  return error;
}

/** A result that a client should not keep: a notification of its change may come at any time. */
export const fresh = (result: object): object => ({ ...result, ttlMs: 0, cacheScope: 'private' });

export const acceptsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') ?? false;

/** Members that another Toolkeeper sends about its own call: they are no context of this one. */
const ofClient = new Set(['executionId', 'clientCapabilities', 'asksWhileItRuns']);

/** The call's context and key, as a body has them. */
export function ownMembers(meta: Params): Record<string, unknown> {
  const own = Object.entries(meta).filter(([name]) => name.startsWith(metaPrefix));
  const named = own.map(([name, value]) => [name.slice(metaPrefix.length), value] as const);
  return Object.fromEntries(named.filter(([name]) => !ofClient.has(name)));
}

/** @throws Problem `invalid_request` */
export function textIn(params: Params | undefined, member: string): string {
  const value = params?.[member];
  if (typeof value === 'string') return value;
  throw new Problem('invalid_request', `${member} must be a string`);
}

/** @throws Problem `invalid_request` */
export function cursorIn({ params }: Asked['message']): string | undefined {
  return params?.['cursor'] === undefined ? undefined : textIn(params, 'cursor');
}
