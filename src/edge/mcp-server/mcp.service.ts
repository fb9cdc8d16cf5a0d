import { Injectable } from '@nestjs/common';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Problem } from '../../base/common/errors.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import { sseHeaders } from '../../base/streams/sse.js';
import { holderIn, principalOf } from '../../web/auth/principal.decorator.js';
import { InputRequired } from '../../web/contract/asks.js';
import { askingResult, McpAsks } from './mcp-asks.js';
import { McpCalls } from './mcp-calls.js';
import { maxWatched, McpCatalogue } from './mcp-catalogue.js';
import { errorOf, givenMembers, invalidParams, methodNotFound, problemAnswer } from './mcp-messages.js';
import {
  acceptsStream,
  type Answered,
  type Asked,
  done,
  fresh,
  type Method,
  type Methods,
  type Params,
  refused,
  serverInfo,
  sessionHeader,
} from './mcp-methods.js';
import { classify, explainRejection, modernRevision, type Sdk, wrongHeader } from './mcp-revisions.js';
import { McpSkills, skillsExtension } from './mcp-skills.js';
import { McpTasks, tasksExtension } from './mcp-tasks.js';
import { ServerOffers } from './server-offers.js';
import { McpStreams, messageEvent, subscriptionMeta } from './mcp-streams.js';

/** Capabilities of this server in both eras. */
const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};
const extensions = { [tasksExtension]: {}, [skillsExtension]: {} };

/**
 * Answers MCP messages of the legacy era (with `initialize`) and of the modern one (stateless). The server stores no
 * sessions. A session id carries the client's declarations, and distinguishes calls of clients for cancellations.
 */
@Injectable()
export class McpService {
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
    const own: Methods = {
      initialize: { only: 'legacy', handle: (asked) => done(asked, this.initialize(asked)) },
      ping: { only: 'legacy', handle: (asked) => done(asked, {}) },
      'logging/setLevel': { only: 'legacy', handle: (asked) => done(asked, {}) },
      'server/discover': { only: 'modern', handle: (asked) => done(asked, this.discover(asked)) },
      'subscriptions/listen': { only: 'modern', handle: (asked) => this.listen(asked) },
    };
    const all = [own, ...[calls, catalogue, tasks, skills].map(({ methods }) => methods)];
    this.methods = new Map(all.flatMap((each) => Object.entries(each)));
  }

  /** Answers one message. @returns a message, a stream of messages, or undefined for a notification */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<Answered> {
    if (request.body === undefined)
      return refused(reply, 400, errorOf(null, -32700, 'The body is empty: send one message'));
    request.body = givenMembers(request.body);
    // Loaded with the first request, because loading takes 0.1 s and many servers get no MCP request.
    this.sdk ??= import('@modelcontextprotocol/server');
    const sdk = await this.sdk;
    const route = classify(sdk, request);
    if (route.kind === 'reject') {
      const why = explainRejection(sdk, route, request.body);
      return refused(reply, route.httpStatus, errorOf(idOf(request.body), route.code, why, route.data));
    }
    const isModern = route.kind === 'modern';
    const wrong = wrongHeader(sdk, request, isModern);
    if (wrong) return refused(reply, 400, errorOf(idOf(request.body), wrong.code, wrong.message, wrong.data));
    const message = request.body as JSONRPCRequest;
    if (Array.isArray(message))
      return refused(reply, 400, errorOf(null, -32600, 'Batches are not supported: send one message'));
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

  private async dispatch(asked: Asked): Promise<Answered> {
    const { message, isModern, request, reply } = asked;
    const { id, method: name } = message;
    const method = this.methods.get(name);
    try {
      if (method && method.only !== (isModern ? 'legacy' : 'modern')) return await method.handle(asked);
      const unknown = errorOf(id, methodNotFound, `There is no method ${name}`);
      return isModern ? refused(reply, 404, unknown) : unknown;
    } catch (error) {
      if (error instanceof InputRequired) return done(asked, askingResult(error), 'input_required');
      return problemAnswer(id, loggedProblem(error, request.id), request.id);
    }
  }

  private discover({ request }: Asked): object {
    const supportedVersions = [modernRevision];
    const instructions = this.offers.instructions(principalOf(request));
    return fresh({ supportedVersions, capabilities: { ...capabilities, extensions }, instructions });
  }

  private initialize({ message, reply, request, sdk }: Asked): object {
    const wanted = message.params?.['protocolVersion'] as string;
    const protocolVersion = sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(wanted)
      ? wanted
      : sdk.LATEST_PROTOCOL_VERSION;
    void reply.header(sessionHeader, this.asks.sessionFor(message.params ?? {}));
    const instructions = this.offers.instructions(principalOf(request));
    return { protocolVersion, capabilities, serverInfo, instructions };
  }

  /**
   * Streams the changes that a client subscribes to: lists, tasks, and resources whose servers report updates. A
   * stream of nothing ends at once with a result, and a stream of tasks only when all tasks have ended.
   * @throws Problem `rate_limited`, `shutting_down`
   */
  private async listen(asked: Asked): Promise<Answered> {
    const { message, request, reply, sdk } = asked;
    const { id, params = {} } = message;
    const wanted = params['notifications'];
    if (!sdk.isSpecType.SubscriptionFilter(wanted)) {
      const example = '{"toolsListChanged": true}';
      return errorOf(id, invalidParams, `notifications must name what to subscribe to, such as ${example}`);
    }
    const { resourceSubscriptions = [], ...flags } = wanted;
    const uris = resourceSubscriptions.slice(0, maxWatched);
    const isWatched = await Promise.all(uris.map((uri) => this.catalogue.watch(uri, request)));
    const watched = uris.filter((_, at) => isWatched[at]);
    const notifications = {
      ...Object.fromEntries(Object.entries(flags).filter(([, isWanted]) => isWanted === true)),
      ...(watched.length > 0 && { resourceSubscriptions: watched }),
    };
    const closed = new AbortController();
    const tasks = await this.tasks.follow(asked, (wanted as Params)['taskIds'], closed.signal);
    const accepted = { ...notifications, ...(tasks && { taskIds: tasks.taskIds }) };
    const subscription = { id, notifications: accepted };
    const stream = this.streams.follow(holderIn(request), new Set(watched), subscription, tasks?.ring);
    stream.once('close', () => closed.abort());
    const finish = (): void => stream.finish(messageEvent(done(asked, { _meta: subscriptionMeta(id) })));
    if (Object.keys(notifications).length === 0) void Promise.resolve(tasks?.ended).then(finish);
    void reply.headers(sseHeaders);
    return stream;
  }
}

function idOf(body: unknown): string | number | null {
  const { id } = (body ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
