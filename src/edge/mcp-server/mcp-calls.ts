import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { isObject } from '../../base/common/json.js';
import type { Cancellation } from '../../base/common/cancellation.js';
import { EventRing } from '../../base/streams/event-ring.js';
import { Problem } from '../../base/common/errors.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import { sseHeaders, SseStream } from '../../base/streams/sse.js';
import type { ToolNotice } from '../../base/common/tool-notice.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import { callOf } from '../../call/door/incoming-call.js';
import { ToolsService } from '../../call/door/tools.service.js';
import {
  type Answer,
  errorOf,
  isForTheModel,
  type Message,
  problemAnswer,
  refusedResult,
  toolResultOf,
} from './mcp-messages.js';
import {
  acceptsStream,
  type McpAnswer,
  type Incoming,
  answerWith,
  type Methods,
  type Params,
  ownMembers,
  withStatus,
  sessionHeader,
} from './mcp-methods.js';
import { InputRequired } from '../../web/contract/asks.js';
import { askingResult, McpAsks, signInQuestion } from './mcp-asks.js';
import { headerMismatch, ParamHeaders } from './mcp-revisions.js';
import { McpTasks } from './mcp-tasks.js';
import { eventOfMessage, messageEvent, missedNotices, noticeMessage, wantedLevel } from './mcp-streams.js';
import { virtualServerOf } from './virtual-server.js';

/** Max notices that wait for a slow client; the oldest are dropped. */
const ringLimits = { maxEntries: 10_000, maxBytes: 262_144 };

/** Handles `tools/call`: directly, as a stream of progress and the result, or as a task. */
@Injectable()
export class McpCalls {
  readonly methods: Methods = { 'tools/call': { handle: (incoming) => this.call(incoming) } };
  /** Running calls that their client may cancel by a message, by `cancelKey`. */
  private readonly cancellable = new Map<string, Cancellation>();
  private readonly paramHeaders = new ParamHeaders();

  constructor(
    private readonly tools: ToolsService,
    private readonly tasks: McpTasks,
    private readonly asks: McpAsks,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
  ) {}

  /** Cancels the call that the notification in the body names. */
  cancel(request: FastifyRequest): void {
    const { params } = request.body as { params?: { requestId?: string | number } };
    const key = params?.requestId === undefined ? undefined : cancelKey(request, params.requestId);
    if (key !== undefined) this.cancellable.get(key)?.cancel();
  }

  /** Checks a request and runs its call, as a task if the client and the tool allow it. */
  private async call(incoming: Incoming): Promise<McpAnswer> {
    const { message, isModern, request, reply } = incoming;
    const { name: calledAs, arguments: input = {}, _meta: meta = {} } = message.params ?? {};
    if (typeof calledAs !== 'string') throw new Problem('invalid_request', 'name must be a string');
    const tool = originalNameOf(calledAs, request);
    // Some clients send the arguments as JSON text, which the door parses. The modern era needs an object, because
    // headers repeat its members.
    if (!isObject(input) && (isModern || typeof input !== 'string'))
      throw new Problem('invalid_request', 'arguments must be an object');
    const differing = isModern && isObject(input) && this.differingHeader(tool, input, request);
    if (differing) {
      const { code, message: why } = headerMismatch(differing);
      return withStatus(reply, 400, errorOf(message.id, code, why));
    }
    const { idempotencyKey, ...context } = ownMembers(meta);
    const call = callOf({ tool, input, context, idempotencyKey, trace: meta }, request);
    const task = isModern ? await this.tasks.create(incoming, call) : undefined;
    return task ?? this.callAtOnce(incoming, call, meta);
  }

  /** Runs a call that is no task. The answer is a stream if the call sends a message before its result. */
  private async callAtOnce(incoming: Incoming, call: CallRequest, meta: Params): Promise<McpAnswer> {
    const { message, isModern, request, reply } = incoming;
    const { cancellation } = request;
    const key = isModern ? undefined : cancelKey(request, message.id);
    if (key !== undefined) this.cancellable.set(key, cancellation);
    let messages: EventRing<Message> | undefined;
    const firstMessage = Promise.withResolvers<EventRing<Message>>();
    const send = (message: Message): void => {
      messages ??= new EventRing(ringLimits);
      messages.append(message);
      firstMessage.resolve(messages);
    };
    const mayStream = acceptsStream(request);
    const minLevel = isModern ? wantedLevel(meta['io.modelcontextprotocol/logLevel']) : 0;
    const onProgress = (notice: ToolNotice): void => {
      const notification = noticeMessage(notice, meta['progressToken'], minLevel);
      if (notification) send(notification);
    };
    const asks = this.asks.forCall(incoming, send);
    const answer = this.run(incoming, { ...call, asks, ...(mayStream && { onProgress }) }).finally(() => {
      if (key !== undefined && this.cancellable.get(key) === cancellation) this.cancellable.delete(key);
    });
    const first = await Promise.race([firstMessage.promise, answer]);
    if (!(first instanceof EventRing)) {
      if (!cancellation.isCancelled) return first;
      // A cancelled call has no answer.
      void reply.status(202);
      return undefined;
    }
    void reply.headers(sseHeaders);
    const following = { ring: first, place: 0, eventOf: eventOfMessage, missedEvent: missedNotices };
    const stream = new SseStream(following, {}, this.config.server.sseHeartbeatMs);
    void answer.then((last) => stream.finish(messageEvent(last)));
    return stream;
  }

  /** The first header that differs from the argument which it repeats, in the modern era. */
  private differingHeader(tool: string, input: object, request: FastifyRequest): string | undefined {
    const schema = this.tools.find(tool, principalOf(request))?.definition.inputSchema;
    return schema && this.paramHeaders.firstMismatch(schema, input, request.headers);
  }

  /** Runs a call. Never rejects: refusals are answers. */
  private async run(incoming: Incoming, call: CallRequest): Promise<Answer> {
    const { message, isModern, request, reply } = incoming;
    const isMcp = this.tools.find(call.tool, call.principal)?.definition.kind === 'mcp';
    try {
      const { outcome } = await this.tools.call(call);
      if (isModern && outcome.status !== 'success' && outcome.error.type === 'capability_missing') {
        const { code, message: why, data } = outcome.error;
        return withStatus(reply, 400, errorOf(message.id, code, why, data));
      }
      return answerWith(incoming, toolResultOf(outcome, { isMcp, isModern }));
    } catch (error) {
      if (error instanceof InputRequired) return answerWith(incoming, askingResult(error), 'input_required');
      const problem = loggedProblem(error, request.id);
      const question = signInQuestion(incoming, problem, call.asks);
      if (question) return question;
      return isForTheModel(problem)
        ? answerWith(incoming, refusedResult(problem, request.id))
        : problemAnswer(message.id, problem, request.id);
    }
  }
}

/** The original name of a tool, which a virtual server may have renamed. @throws Problem `tool_not_found` */
function originalNameOf(name: string, request: FastifyRequest): string {
  const server = virtualServerOf(principalOf(request));
  const originalName = server ? server.contents.tools.get(name)?.originalName : name;
  if (originalName !== undefined) return originalName;
  throw new Problem('tool_not_found', `There is no tool named ${JSON.stringify(name)} in this MCP server`);
}

/** The key of a cancellable call. It contains the session id, because request ids are unique only within a session. */
function cancelKey({ headers, principal }: FastifyRequest, id: string | number): string | undefined {
  const session = headers[sessionHeader];
  return typeof session === 'string' && session !== ''
    ? `${principal?.keyId} ${session} ${typeof id} ${id}`
    : undefined;
}
