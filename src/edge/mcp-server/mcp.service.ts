import { Inject, Injectable } from '@nestjs/common';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../../base/common/json.js';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Cancellation } from '../../base/common/cancellation.js';
import { EventRing } from '../../base/streams/event-ring.js';
import { Problem } from '../../base/common/errors.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import { sseHeaders, SseStream } from '../../base/streams/sse.js';
import type { ToolNotice } from '../../base/common/tool-notice.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { holderIn, principalOf } from '../../web/auth/principal.decorator.js';
import { callOf, listerOf } from '../../call/door/incoming-call.js';
import { ToolsService } from '../../call/door/tools.service.js';
import {
  type Answer,
  errorOf,
  givenMembers,
  invalidParams,
  isForTheModel,
  methodNotFound,
  type Notification,
  problemAnswer,
  refusedResult,
  resultOf,
  toolResultOf,
} from './mcp-messages.js';
import {
  classified,
  explained,
  mismatch,
  modernRevision,
  ParamHeaders,
  type Sdk,
  wrongHeader,
} from './mcp-revisions.js';
import {
  eventOfPlaced,
  McpStreams,
  messageEvent,
  missedNotices,
  noticeMessage,
  subscriptionMeta,
  wantedLevel,
} from './mcp-streams.js';

type Params = Readonly<Record<string, unknown>>;

/** A request of a client, with all that is needed to answer it. */
interface Asked {
  readonly message: JSONRPCRequest;
  /** 2026-07-28 or later: stateless. Before that, a client sends `initialize` first. */
  readonly isModern: boolean;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const capabilities = { tools: { listChanged: true }, logging: {} };
/** Some clients read the first page only. */
const toolsOnPage = 500;
/** Notices that wait for a client that reads slowly: then the oldest make room. */
const waiting = { maxEntries: 10_000, maxBytes: 262_144 };
const metaPrefix = 'toolkeeper/';
const sessionHeader = 'mcp-session-id';

/**
 * MCP's messages of the revisions with `initialize`, and of the stateless one. Nothing is kept between requests: the id
 * that a client of the former is given only tells its calls from those of others when it cancels one.
 */
@Injectable()
export class McpService {
  private sdk: Promise<Sdk> | undefined;
  /** Calls under way that their client may cancel by a message. */
  private readonly cancellable = new Map<string, Cancellation>();
  private readonly paramHeaders = new ParamHeaders();
  private readonly serverInfo: object;

  constructor(
    private readonly tools: ToolsService,
    private readonly streams: McpStreams,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server' | 'version'>,
  ) {
    this.serverInfo = { name: 'toolkeeper', title: 'Toolkeeper', version: config.version };
  }

  /** @returns a message, a stream of messages, or nothing where none is due */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<object | Readable | undefined> {
    if (request.body === undefined)
      return refused(reply, 400, errorOf(null, -32700, 'The body is empty: send one message'));
    request.body = givenMembers(request.body);
    // It takes a tenth of a second to load, and most servers may never be asked.
    const sdk = await (this.sdk ??= import('@modelcontextprotocol/server'));
    const route = classified(sdk, request);
    if (route.kind === 'reject')
      return refused(
        reply,
        route.httpStatus,
        errorOf(idOf(request.body), route.code, explained(sdk, route, request.body), route.data),
      );
    const isModern = route.kind === 'modern';
    const wrong = wrongHeader(sdk, request, isModern);
    if (wrong) return refused(reply, 400, errorOf(idOf(request.body), wrong.code, wrong.message, wrong.data));
    const message = request.body as JSONRPCRequest;
    if (Array.isArray(message))
      return refused(reply, 400, errorOf(null, -32600, 'Batches are not supported: send one message'));
    if (message.method === undefined || message.id === undefined) {
      if (message.method === 'notifications/cancelled') this.cancel(request);
      void reply.status(202);
      return undefined;
    }
    return this.dispatch({ message, isModern, request, reply }, sdk);
  }

  /** A stream of what concerns no request of the client's. */
  follow(request: FastifyRequest, reply: FastifyReply): Readable {
    if (!acceptsStream(request))
      throw new Problem('invalid_request', 'This address answers with text/event-stream', { status: 406 });
    const stream = this.streams.follow(holderIn(request));
    void reply.headers(sseHeaders);
    return stream;
  }

  private async dispatch(asked: Asked, sdk: Sdk): Promise<object | Readable | undefined> {
    const { message, isModern, request, reply } = asked;
    const { id, method, params = {} } = message;
    try {
      if (method === 'tools/call') return await this.call(asked);
      if (method === 'tools/list') return this.done(asked, await this.list(asked, params));
      if (isModern) {
        const supportedVersions = [modernRevision];
        if (method === 'server/discover') return this.done(asked, fresh({ supportedVersions, capabilities }));
        if (method === 'subscriptions/listen') return this.listen(asked, sdk);
        return refused(reply, 404, errorOf(id, methodNotFound, `There is no method ${method}`));
      }
      if (method === 'initialize') return this.done(asked, this.introduced(params, reply, sdk));
      if (method === 'ping' || method === 'logging/setLevel') return this.done(asked, {});
      return errorOf(id, methodNotFound, `There is no method ${method}`);
    } catch (error) {
      return problemAnswer(id, loggedProblem(error, request.id), request.id);
    }
  }

  private introduced(params: Params, reply: FastifyReply, sdk: Sdk): object {
    const wanted = params['protocolVersion'] as string;
    const protocolVersion = sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(wanted)
      ? wanted
      : sdk.LATEST_PROTOCOL_VERSION;
    void reply.header(sessionHeader, randomUUID());
    return { protocolVersion, capabilities, serverInfo: this.serverInfo };
  }

  /** @throws Problem `invalid_request` for an invalid cursor */
  private async list({ isModern, request }: Asked, { cursor, _meta }: Params): Promise<object> {
    if (cursor !== undefined && typeof cursor !== 'string')
      throw new Problem('invalid_request', 'cursor must be a string');
    const uiSession = (_meta as Params | undefined)?.[`${metaPrefix}uiSession`];
    const wanted = { format: 'mcp', limit: toolsOnPage, cursor } as const;
    const { data, nextCursor } = await this.tools.list(wanted, listerOf(request, uiSession));
    const page = { tools: data, ...(nextCursor !== null && { nextCursor }) };
    return isModern ? fresh(page) : page;
  }

  /**
   * Offers subscriptions to changes of the tools only. A client that does not ask for them gets a result at once, and the
   * stream ends.
   * @throws Problem `rate_limited`, `shutting_down`
   */
  private listen(asked: Asked, sdk: Sdk): object | Readable {
    const { message, request, reply } = asked;
    const { id, params = {} } = message;
    const wanted = params['notifications'];
    if (!sdk.isSpecType.SubscriptionFilter(wanted)) {
      const example = '{"toolsListChanged": true}';
      return errorOf(id, invalidParams, `notifications must name what to subscribe to, such as ${example}`);
    }
    const toolsListChanged = wanted.toolsListChanged === true;
    const stream = this.streams.follow(holderIn(request), { id, toolsListChanged });
    if (!toolsListChanged) stream.finish(messageEvent(this.done(asked, { _meta: subscriptionMeta(id) })));
    void reply.headers(sseHeaders);
    return stream;
  }

  private async call(asked: Asked): Promise<object | Readable | undefined> {
    const { message, isModern, request, reply } = asked;
    const { name, arguments: given, _meta: about = {} } = message.params ?? {};
    const input = given ?? {};
    if (typeof name !== 'string') throw new Problem('invalid_request', 'name must be a string');
    // Some clients write the arguments as text, which the door reads. Headers that repeat arguments need them read.
    if (!isObject(input) && (isModern || typeof input !== 'string'))
      throw new Problem('invalid_request', 'arguments must be an object');
    const differing = isModern && isObject(input) && this.differingHeader(name, input, request);
    if (differing) {
      const { code, message: why } = mismatch(differing);
      return refused(reply, 400, errorOf(message.id, code, why));
    }
    const { idempotencyKey, ...context } = ownMembers(about);
    const call = callOf({ tool: name, input, context, idempotencyKey }, request);
    const { cancellation } = request;
    const key = isModern ? undefined : cancelKey(request, message.id);
    if (key !== undefined) this.cancellable.set(key, cancellation);
    let notices: EventRing<Notification> | undefined;
    const spoke = Promise.withResolvers<EventRing<Notification>>();
    const mayStream = acceptsStream(request);
    const logs = isModern ? wantedLevel(about['io.modelcontextprotocol/logLevel']) : 0;
    const onProgress = (notice: ToolNotice): void => {
      const notification = noticeMessage(notice, about['progressToken'], logs);
      if (!notification) return;
      notices ??= new EventRing(waiting);
      notices.append(notification);
      spoke.resolve(notices);
    };
    const ended = this.run(asked, { ...call, ...(mayStream && { onProgress }) }).finally(() => {
      if (key !== undefined && this.cancellable.get(key) === cancellation) this.cancellable.delete(key);
    });
    const first = await Promise.race([spoke.promise, ended]);
    if (!(first instanceof EventRing)) {
      if (!cancellation.isCancelled) return first;
      void reply.status(202);
      return undefined;
    }
    void reply.headers(sseHeaders);
    const following = { ring: first, place: 0, eventOf: eventOfPlaced, missedEvent: missedNotices };
    const stream = new SseStream(following, {}, this.config.server.sseHeartbeatMs);
    void ended.then((last) => stream.finish(messageEvent(last)));
    return stream;
  }

  private differingHeader(name: string, input: object, request: FastifyRequest): string | undefined {
    const schema = this.tools.find(name, principalOf(request))?.definition.inputSchema;
    return schema && this.paramHeaders.wrong(schema, input, request.headers);
  }

  /** Never throws: what was refused is an answer, too. */
  private async run(asked: Asked, call: CallRequest): Promise<Answer> {
    const { message, request } = asked;
    const isMcp = this.tools.find(call.tool, call.principal)?.definition.kind === 'mcp';
    try {
      const { outcome } = await this.tools.call(call);
      return this.done(asked, toolResultOf(outcome, isMcp));
    } catch (error) {
      const problem = loggedProblem(error, request.id);
      return isForTheModel(problem)
        ? this.done(asked, refusedResult(problem, request.id))
        : problemAnswer(message.id, problem, request.id);
    }
  }

  /** The answer with a result. From 2026-07-28 on it marks the result as complete and names the server. */
  private done({ message: { id }, isModern }: Asked, result: object): Answer {
    if (!isModern) return resultOf(id, result);
    const { _meta } = result as { _meta?: object };
    const whose = { ..._meta, 'io.modelcontextprotocol/serverInfo': this.serverInfo };
    return resultOf(id, { ...result, resultType: 'complete', _meta: whose });
  }

  private cancel(request: FastifyRequest): void {
    const { params } = request.body as { params?: { requestId?: string | number } };
    const key = params?.requestId === undefined ? undefined : cancelKey(request, params.requestId);
    if (key !== undefined) this.cancellable.get(key)?.cancel();
  }
}

function refused(reply: FastifyReply, status: number, error: Answer): Answer {
  void reply.status(status);
  return error;
}

/** A result that a client should not keep: `tools/list_changed` may come at any time. */
const fresh = (result: object): object => ({ ...result, ttlMs: 0, cacheScope: 'private' });

function idOf(body: unknown): string | number | null {
  const { id } = (body ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

const acceptsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') ?? false;

/** The key of a cancellable call. It contains the session id, because request ids are unique only within a session. */
function cancelKey({ headers, principal }: FastifyRequest, id: string | number): string | undefined {
  const session = headers[sessionHeader];
  return typeof session === 'string' && session !== ''
    ? `${principal?.keyId} ${session} ${typeof id} ${id}`
    : undefined;
}

/** The call's context and key, as a body has them. */
function ownMembers(meta: Params): Record<string, unknown> {
  const own = Object.entries(meta).filter(([name]) => name.startsWith(metaPrefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(metaPrefix.length), value]));
}
