import { Injectable } from '@nestjs/common';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Problem } from '../../base/common/errors.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import { sseHeaders } from '../../base/streams/sse.js';
import { modernRevision } from '../../runtime/mcp-client/mcp-eras.js';
import { holderIn, principalOf } from '../../web/auth/principal.decorator.js';
import { InputRequired } from '../../web/contract/asks.js';
import { askingResult, McpAsks } from './mcp-asks.js';
import { McpCalls } from './mcp-calls.js';
import { maxWatched, McpCatalogue } from './mcp-catalogue.js';
import {
  type Answer,
  errorOf,
  givenMembers,
  invalidParams,
  methodNotFound,
  notARequest,
  parseError,
  problemAnswer,
} from './mcp-messages.js';
import {
  acceptsStream,
  type McpAnswer,
  type Incoming,
  answerWith,
  uncached,
  type Method,
  type Methods,
  type Params,
  withStatus,
  serverInfo,
  sessionHeader,
} from './mcp-methods.js';
import { classify, explainRejection, headerError, type Sdk } from './mcp-revisions.js';
import { McpSkills, skillsExtension } from './mcp-skills.js';
import { McpTasks, tasksExtension } from './mcp-tasks.js';
import { ServerOffers } from './server-offers.js';
import { McpStreams, messageEvent, subscriptionMeta } from './mcp-streams.js';

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};
/** Extensions of the protocol that clients of the modern era may use. */
const extensions = { [tasksExtension]: {}, [skillsExtension]: {} };

/**
 * Answers MCP messages of the legacy era (with `initialize`) and of the modern one (stateless). The server stores no
 * sessions. A session id carries the client's declarations, and distinguishes calls of clients for cancellations.
 */
@Injectable()
export class McpService {
  /** MCP's SDK, once it is loaded. */
  private sdk: Promise<Sdk> | undefined;
  private readonly methods: ReadonlyMap<string, Method>;

  constructor(
    private readonly streams: McpStreams,
    private readonly calls: McpCalls,
    private readonly asks: McpAsks,
    private readonly tasks: McpTasks,
    skills: McpSkills,
    private readonly catalogue: McpCatalogue,
    private readonly offers: ServerOffers,
  ) {
    const ownMethods: Methods = {
      initialize: { only: 'legacy', handle: (incoming) => answerWith(incoming, this.initialize(incoming)) },
      ping: { only: 'legacy', handle: (incoming) => answerWith(incoming, {}) },
      'logging/setLevel': { only: 'legacy', handle: (incoming) => answerWith(incoming, {}) },
      'server/discover': {
        only: 'modern',
        handle: (incoming) => answerWith(incoming, this.discover(incoming)),
      },
      'subscriptions/listen': { only: 'modern', handle: (incoming) => this.listen(incoming) },
    };
    const all = [ownMethods, ...[calls, catalogue, tasks, skills].map(({ methods }) => methods)];
    this.methods = new Map(all.flatMap((each) => Object.entries(each)));
  }

  /** Answers one message. @returns a message, a stream of messages, or undefined for a notification */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<McpAnswer> {
    const refuse = (code: number, why: string, data?: unknown, status = 400): Answer =>
      withStatus(reply, status, errorOf(idOf(request.body), code, why, data));
    if (request.body === undefined) return refuse(parseError, 'The body is empty: send one message');
    request.body = givenMembers(request.body);
    // Loaded with the first request, because loading takes 0.1 s and many servers get no MCP request.
    this.sdk ??= import('@modelcontextprotocol/server');
    const sdk = await this.sdk;
    const route = classify(sdk, request);
    if (route.kind === 'reject') {
      const why = explainRejection(sdk, route, request.body);
      return refuse(route.code, why, route.data, route.httpStatus);
    }
    const isModern = route.kind === 'modern';
    const wrongHeader = headerError(sdk, request, isModern);
    if (wrongHeader) return refuse(wrongHeader.code, wrongHeader.message, wrongHeader.data);
    const message = request.body as JSONRPCRequest;
    if (Array.isArray(message)) return refuse(notARequest, 'Batches are not supported: send one message');
    if (message.method === undefined || message.id === undefined) {
      if (message.method === undefined) await this.asks.deliverAnswer(request);
      if (message.method === 'notifications/cancelled') this.calls.cancel(request);
      void reply.status(202);
      return undefined;
    }
    return this.dispatch({ message, isModern, request, reply, sdk });
  }

  /** Streams messages that belong to no request, in the legacy era. @throws Problem `invalid_request` */
  follow(request: FastifyRequest, reply: FastifyReply): Readable {
    if (!acceptsStream(request))
      throw new Problem('invalid_request', 'This address answers with text/event-stream', { status: 406 });
    const stream = this.streams.follow(holderIn(request), this.catalogue.watchedBy(request));
    void reply.headers(sseHeaders);
    return stream;
  }

  /** Answers a request by its method. */
  private async dispatch(incoming: Incoming): Promise<McpAnswer> {
    const { message, isModern, request, reply } = incoming;
    const { id, method: name } = message;
    const method = this.methods.get(name);
    try {
      if (method && method.only !== (isModern ? 'legacy' : 'modern')) return await method.handle(incoming);
      const unknown = errorOf(id, methodNotFound, `There is no method ${name}`);
      return isModern ? withStatus(reply, 404, unknown) : unknown;
    } catch (error) {
      if (error instanceof InputRequired) return answerWith(incoming, askingResult(error), 'input_required');
      return problemAnswer(id, loggedProblem(error, request.id), request.id);
    }
  }

  /** Introduces the server to a client of the modern era. */
  private discover({ request }: Incoming): object {
    const supportedVersions = [modernRevision];
    const instructions = this.offers.instructions(principalOf(request));
    return uncached({ supportedVersions, capabilities: { ...capabilities, extensions }, instructions });
  }

  /** Introduces the server to a client of the legacy era, and begins its session. */
  private initialize({ message, reply, request, sdk }: Incoming): object {
    const wanted = message.params?.['protocolVersion'] as string;
    const protocolVersion = sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(wanted)
      ? wanted
      : sdk.LATEST_PROTOCOL_VERSION;
    void reply.header(sessionHeader, this.asks.sessionFor(message.params ?? {}));
    const instructions = this.offers.instructions(principalOf(request));
    return { protocolVersion, capabilities, serverInfo, instructions };
  }

  /**
   * Streams the changes that a client subscribes to: lists, tasks, and resources whose servers report updates. If
   * no list or resource is accepted, the stream ends with a result as soon as all tasks have ended.
   * @throws Problem `rate_limited`, `shutting_down`
   */
  private async listen(incoming: Incoming): Promise<McpAnswer> {
    const { message, request, reply, sdk } = incoming;
    const { id, params = {} } = message;
    const wanted = params['notifications'];
    if (!sdk.isSpecType.SubscriptionFilter(wanted)) {
      const why = 'notifications must name what to subscribe to, such as {"toolsListChanged": true}';
      return errorOf(id, invalidParams, why);
    }
    const { resourceSubscriptions = [], ...flags } = wanted;
    const uris = resourceSubscriptions.slice(0, maxWatched);
    const isWatched = await Promise.all(uris.map((uri) => this.catalogue.watch(uri, request)));
    const watched = uris.filter((_, index) => isWatched[index]);
    const notifications = {
      ...Object.fromEntries(Object.entries(flags).filter(([, isWanted]) => isWanted === true)),
      ...(watched.length > 0 && { resourceSubscriptions: watched }),
    };
    const closed = new AbortController();
    const tasks = await this.tasks.follow(incoming, (wanted as Params)['taskIds'], closed.signal);
    const accepted = { ...notifications, ...(tasks && { taskIds: tasks.taskIds }) };
    const subscription = { id, notifications: accepted };
    const stream = this.streams.follow(holderIn(request), new Set(watched), subscription, tasks?.ring);
    stream.once('close', () => closed.abort());
    const finish = (): void =>
      stream.finish(messageEvent(answerWith(incoming, { _meta: subscriptionMeta(id) })));
    if (Object.keys(notifications).length === 0) void Promise.resolve(tasks?.ended).then(finish);
    void reply.headers(sseHeaders);
    return stream;
  }
}

function idOf(body: unknown): string | number | null {
  const { id } = (body ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
