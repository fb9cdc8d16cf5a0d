import { Injectable } from '@nestjs/common';
import { errorTable, Problem, type ProblemCode } from '../../base/common/errors.js';
import { isObject } from '../../base/common/json.js';
import { EventRing } from '../../base/streams/event-ring.js';
import { AsyncExecutions, storedMs } from '../../call/door/async-executions.js';
import type { AsyncExecutionView } from '../../call/door/tools.dto.js';
import { ToolsService } from '../../call/door/tools.service.js';
import { ownResult } from '../../call/platforms/mcp-results.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { roundsOf } from './mcp-asks.js';
import { errorOf, invalidParams, type Notification, notificationOf, toolResultOf } from './mcp-messages.js';
import {
  type McpAnswer,
  type Incoming,
  answerWith,
  ignoring,
  type Methods,
  withStatus,
  textIn,
} from './mcp-methods.js';

export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** The capability that a client must declare to use tasks. */
const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
/** MCP's error code for a capability that the client must declare. */
const missingCapability = -32021;
/** Calls that may take longer run as tasks, because clients by default give up after a minute. */
const longMs = 60_000;
/** A task that ends or asks within this time is answered at once with its result or questions. */
const waitMs = 250;
/** Interval at which clients should poll a task. */
const pollIntervalMs = 1_000;
/** Max tasks of one subscription, because each is polled. */
const maxFollowed = 20;

/** A task as clients see it. Once it has ended it has a result, or a JSON-RPC error in place of it. */
type Task = Record<'taskId' | 'status', string> & {
  result?: object;
  error?: object;
  inputRequests?: object;
};

/** Runs calls as tasks of MCP: asynchronous executions, for clients that declare the extension. */
@Injectable()
export class McpTasks {
  readonly methods: Methods = {
    'tasks/get': {
      only: 'modern',
      handle: (incoming) => this.withTask(incoming, (view) => this.taskWithResult(incoming, view)),
    },
    'tasks/update': { only: 'modern', handle: (incoming) => this.update(incoming) },
    'tasks/cancel': { only: 'modern', handle: (incoming) => this.cancel(incoming) },
  };

  constructor(
    private readonly executions: AsyncExecutions,
    private readonly tools: ToolsService,
  ) {}

  /**
   * Queues a call as a task, if the client (since 2026-07-28) and the tool allow it.
   * @returns undefined if the call must be answered directly
   * @throws Refusal if the call is refused; InputRequired if it asks at once
   */
  async create(incoming: Incoming, call: CallRequest): Promise<McpAnswer> {
    const tool = this.tools.find(call.tool, call.principal);
    if (!tool) return undefined;
    const support = tool.taskSupport?.();
    if (!declaresTasks(incoming)) return support === 'required' ? missingExtension(incoming) : undefined;
    const timeoutMs = Math.min(call.timeoutMs ?? Infinity, tool.definition.timeoutMs);
    if (support === undefined && (timeoutMs <= longMs || wantsProgress(incoming))) return undefined;
    const asks = roundsOf(incoming.message.params ?? {});
    const queued = await this.executions.queue({ ...call, asks });
    const view = await this.executions.untilSettled(queued, incoming.request, AbortSignal.timeout(waitMs));
    if (view.status === 'input_required') throw await this.executions.withdraw(view.id, incoming.request);
    // The answer to tools/call names no error or questions of its task: the client reads them with tasks/get.
    const { result, error: _error, inputRequests: _questions, ...task } = this.taskWithResult(incoming, view);
    return result ? answerWith(incoming, result) : answerWith(incoming, task, 'task');
  }

  /**
   * Follows tasks for a subscription.
   * @param ids task ids from the client; those of other callers, and those beyond `maxFollowed`, are ignored
   * @param closed aborts when the subscription has ended
   * @returns undefined if there is no task to follow
   */
  async follow(
    incoming: Incoming,
    ids: unknown,
    closed: AbortSignal,
  ): Promise<{ taskIds: string[]; ring: EventRing<Notification>; ended: Promise<unknown> } | undefined> {
    const requested =
      declaresTasks(incoming) && Array.isArray(ids) ? ids.slice(0, maxFollowed).map(String) : [];
    const tasks = await Promise.all(requested.map((id) => this.find(incoming, id)));
    const views = tasks.filter((view) => view !== undefined);
    const ring = new EventRing<Notification>({ maxEntries: 100, maxBytes: 1_000_000 });
    const report = (view: AsyncExecutionView): void => {
      ring.append(notificationOf('notifications/tasks', this.taskWithResult(incoming, view)));
    };
    const followToEnd = async (view: AsyncExecutionView): Promise<void> => {
      report(view);
      for await (const changed of this.executions.changes(view, incoming.request, closed)) report(changed);
    };
    const ended = Promise.allSettled(views.map(followToEnd));
    return views.length > 0 ? { taskIds: views.map(({ id }) => id), ring, ended } : undefined;
  }

  /** Gives a task the answers to its questions. */
  private async update(incoming: Incoming): Promise<McpAnswer> {
    const answers = incoming.message.params?.['inputResponses'];
    if (!isObject(answers)) throw new Problem('invalid_request', 'inputResponses must be an object');
    return this.withTask(incoming, async ({ id }) => {
      await this.executions.answer(id, answers, incoming.request);
      return {};
    });
  }

  /** Cancels a task. A task that has ended already is no error. */
  private cancel(incoming: Incoming): Promise<McpAnswer> {
    return this.withTask(incoming, async ({ id }) => {
      await this.executions.cancel(id, incoming.request).catch(ignoring('conflict'));
      return {};
    });
  }

  /** Answers a request about a task of the caller. */
  private async withTask(
    incoming: Incoming,
    answer: (view: AsyncExecutionView) => object | Promise<object>,
  ): Promise<McpAnswer> {
    if (!declaresTasks(incoming)) return missingExtension(incoming);
    const taskId = textIn(incoming.message.params, 'taskId');
    const view = await this.find(incoming, taskId);
    if (view) return answerWith(incoming, await answer(view));
    return errorOf(incoming.message.id, invalidParams, `This caller has no task ${JSON.stringify(taskId)}`);
  }

  /** Finds a task. @returns undefined if it belongs to another caller or is not stored any more */
  private find({ request }: Incoming, id: string): Promise<AsyncExecutionView | undefined> {
    return this.executions.get(id, request).catch(ignoring('not_found'));
  }

  /** The task of an execution, with its result or error. */
  private taskWithResult({ request, isModern }: Incoming, view: AsyncExecutionView): Task {
    const isMcp = this.tools.find(view.tool, principalOf(request))?.definition.kind === 'mcp';
    const outcome = view.outcome as ToolOutcome | undefined;
    const problem = view.problem as { readonly code: ProblemCode; readonly detail: string } | undefined;
    const error = problem
      ? { code: errorTable[problem.code].jsonRpc, message: problem.detail, data: problem }
      : outcome && errorIn(outcome, isMcp);
    if (error) return { ...taskOf(view), status: 'failed', error };
    const { inputRequests } = view;
    return {
      ...taskOf(view),
      ...(inputRequests && { inputRequests }),
      ...(outcome && { result: toolResultOf(outcome, { isMcp, isModern }) }),
    };
  }
}

/** Statuses that MCP names differently. */
const statuses: Partial<Record<AsyncExecutionView['status'], string>> = {
  queued: 'working',
  running: 'working',
  refused: 'failed',
  ended: 'completed',
};

/** The task of an execution, without its result. */
function taskOf({ id: taskId, status, submittedAt, startedAt, endedAt }: AsyncExecutionView): Task {
  const lastUpdatedAt = endedAt ?? startedAt ?? submittedAt;
  const times = { createdAt: submittedAt, lastUpdatedAt, ttlMs: storedMs, pollIntervalMs };
  return { taskId, status: statuses[status] ?? status, ...times };
}

/** The error of a call without a result: it was cut off, or an MCP server answered with a JSON-RPC error. */
function errorIn(outcome: ToolOutcome, isMcp: boolean): object | undefined {
  if (outcome.status === 'success' || outcome.result !== undefined) return undefined;
  const { code, type, message } = outcome.error;
  // A tool's own error report is a result with isError, not a JSON-RPC error.
  const isResult = type === 'tool_error' && (!isMcp || ownResult(outcome, isMcp) !== undefined);
  return isResult ? undefined : { code, message, data: outcome };
}

/** Whether a request declares the extension. */
function declaresTasks({ message }: Incoming): boolean {
  const declared = message.params?._meta?.['io.modelcontextprotocol/clientCapabilities'];
  const extensions = isObject(declared) ? declared['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[tasksExtension]);
}

/** Tasks report no progress, so calls that want it are answered directly. */
const wantsProgress = ({ message }: Incoming): boolean => message.params?._meta?.progressToken !== undefined;

/** The error for a client that has not declared the extension. */
function missingExtension({ message, reply }: Incoming): McpAnswer {
  const why = `The client has not declared the extension ${tasksExtension} in this request`;
  return withStatus(reply, 400, errorOf(message.id, missingCapability, why, { requiredCapabilities }));
}
