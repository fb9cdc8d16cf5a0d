import { isObject, type JsonObject } from '../../base/common/json.js';
import { errorReply } from '../process-pool/json-rpc.js';
import type { DialectSender, Reply } from '../process-pool/pool.types.js';

/** Requested lifetime of a task: the max duration of a call. */
export const taskTtlMs = 3_600_000;
/** Default pause between two polls. Servers may choose another one between `minPauseMs` and `maxPauseMs`. */
const pauseMs = 1_000;
const minPauseMs = 50;
const maxPauseMs = 60_000;
const internalError = -32603;
/** Prefix of the `requestState` of a call that ended with questions of its task. */
const statePrefix = 'toolkeeper-task ';

/** Polls the tasks with which a server answers calls. The outcome of a task is the answer to its call. */
export class TaskPolls {
  /** Timers of the next poll and ids of the tasks, by the id of the call's request. */
  private readonly openTasks = new Map<string, { readonly taskId: string; timer?: NodeJS.Timeout }>();
  /** Ids of tasks by the id of the request that sends them answers. */
  private readonly updates = new Map<string, string>();

  /** @param request sends a request in the era of the session */
  constructor(
    private readonly request: DialectSender['request'],
    private readonly settle: DialectSender['settle'],
  ) {}

  /** Begins to poll a task. @param task the server's answer @returns false if it is no task */
  follow(id: string, task: unknown): boolean {
    if (!isObject(task) || typeof task['taskId'] !== 'string') return false;
    this.openTasks.set(id, { taskId: task['taskId'] });
    this.pollLater(id, task);
    return true;
  }

  /** The request that sends a call's answers to its task; undefined for other calls. */
  updateFor(
    id: string,
    { requestState, inputResponses, _meta }: JsonObject,
  ): { readonly method: string; readonly params: object } | undefined {
    if (typeof requestState !== 'string' || !requestState.startsWith(statePrefix)) return undefined;
    const taskId = requestState.slice(statePrefix.length);
    this.updates.set(id, taskId);
    return { method: 'tasks/update', params: { taskId, inputResponses, _meta } };
  }

  /** Polls a task again after it received its answers. @returns whether `reply` acknowledges these answers */
  resume(id: string, reply: Reply): boolean {
    const taskId = this.updates.get(id);
    if (!this.updates.delete(id) || !('result' in reply)) return false;
    return this.follow(id, { taskId, pollIntervalMs: minPauseMs });
  }

  /** Cancels the task of an abandoned call. */
  cancel(id: string): void {
    const taskId = this.remove(id) ?? this.updates.get(id);
    this.updates.delete(id);
    if (taskId !== undefined) this.request('tasks/cancel', { taskId }, () => undefined);
  }

  /** Polls after the pause that the server asked for. */
  private pollLater(id: string, { pollInterval, pollIntervalMs = pollInterval }: JsonObject): void {
    const task = this.openTasks.get(id);
    if (!task) return;
    const wanted = typeof pollIntervalMs === 'number' ? pollIntervalMs : pauseMs;
    const ms = Math.max(minPauseMs, Math.min(wanted, maxPauseMs));
    const { taskId } = task;
    const onPoll = (reply: Reply): void => this.onPoll(id, taskId, reply);
    task.timer = setTimeout(() => this.request('tasks/get', { taskId }, onPoll), ms).unref();
  }

  private onPoll(id: string, taskId: string, reply: Reply): void {
    const state = 'result' in reply && isObject(reply.result) ? reply.result : undefined;
    if (!state) return this.end(id, reply);
    const { status, result, error, inputRequests } = state;
    if (status === 'working') return this.pollLater(id, state);
    if (result !== undefined) return this.end(id, { result });
    const failure = errorReply(error);
    if (failure) return this.end(id, failure);
    // Legacy servers need another request for the outcome.
    if ('ttl' in state) return this.request('tasks/result', { taskId }, (last) => this.end(id, last));
    const requestState = `${statePrefix}${taskId}`;
    if (status === 'input_required')
      return this.end(id, { result: { resultType: status, inputRequests, requestState } });
    this.end(id, { error: { code: internalError, message: `Its task ended as ${String(status)}` } });
  }

  /** Answers the call and stops polling. */
  private end(id: string, reply: Reply): void {
    if (this.remove(id) !== undefined) this.settle(id, reply);
  }

  /** @returns the id of the task that is not polled any more */
  private remove(id: string): string | undefined {
    const task = this.openTasks.get(id);
    clearTimeout(task?.timer);
    this.openTasks.delete(id);
    return task?.taskId;
  }
}
