import { isObject, type JsonObject } from '../../base/common/json.js';
import { errorReply } from '../process-pool/conversation.js';
import type { DialectSender, Reply } from '../process-pool/pool.types.js';

/** Requested lifetime of a task, the longest that a call may take. */
export const taskTtlMs = 3_600_000;
/** Default pause between two polls; a server may name another one within the bounds. */
const pauseMs = 1_000;
const minPauseMs = 50;
const maxPauseMs = 60_000;
/** Prefix of the `requestState` of a call that ended with its task's questions. */
const asking = 'toolkeeper-task ';

/** Polls the tasks with which a server answers calls. The outcome of a task is the answer to its call. */
export class TaskPolls {
  /** Timers of the next poll and ids of the tasks, by the id of the call's request. */
  private readonly open = new Map<string, { readonly taskId: string; timer?: NodeJS.Timeout }>();

  /** Ids of tasks by the id of the request that sends them answers. */
  private readonly updates = new Map<string, string>();

  /** @param request sends a request in the era of the session */
  constructor(
    private readonly request: DialectSender['request'],
    private readonly settle: DialectSender['settle'],
  ) {}

  /** Polls a task from now on. @param task the server's answer @returns false if it is no task */
  follow(id: string, task: unknown): boolean {
    if (!isObject(task) || typeof task['taskId'] !== 'string') return false;
    this.open.set(id, { taskId: task['taskId'] });
    this.wait(id, task);
    return true;
  }

  /** @returns the request that sends a call's answers to its task; undefined for other calls */
  answered(id: string, { requestState, inputResponses, _meta }: JsonObject): [string, object] | undefined {
    if (typeof requestState !== 'string' || !requestState.startsWith(asking)) return undefined;
    const taskId = requestState.slice(asking.length);
    this.updates.set(id, taskId);
    return ['tasks/update', { taskId, inputResponses, _meta }];
  }

  /** Polls a task again that got its answers. @returns whether the request was such a one, and succeeded */
  goesOn(id: string, reply: Reply): boolean {
    const taskId = this.updates.get(id);
    return (
      this.updates.delete(id) && 'result' in reply && this.follow(id, { taskId, pollIntervalMs: minPauseMs })
    );
  }

  /** Cancels the task of an abandoned call. */
  forgotten(id: string): void {
    const taskId = this.close(id) ?? this.updates.get(id);
    this.updates.delete(id);
    if (taskId !== undefined) this.request('tasks/cancel', { taskId }, () => undefined);
  }

  private wait(id: string, { pollInterval, pollIntervalMs = pollInterval }: JsonObject): void {
    const task = this.open.get(id);
    if (!task) return;
    const wanted = typeof pollIntervalMs === 'number' ? pollIntervalMs : pauseMs;
    const ms = Math.max(minPauseMs, Math.min(wanted, maxPauseMs));
    const { taskId } = task;
    const polled = (reply: Reply): void => this.polled(id, taskId, reply);
    task.timer = setTimeout(() => this.request('tasks/get', { taskId }, polled), ms).unref();
  }

  private polled(id: string, taskId: string, reply: Reply): void {
    const state = 'result' in reply && isObject(reply.result) ? reply.result : undefined;
    if (!state) return this.end(id, reply);
    const { status, result, error, inputRequests } = state;
    if (status === 'working') return this.wait(id, state);
    if (result !== undefined) return this.end(id, { result });
    const failure = errorReply(error);
    if (failure) return this.end(id, failure);
    // Legacy servers need a further request for the outcome.
    if ('ttl' in state) return this.request('tasks/result', { taskId }, (last) => this.end(id, last));
    if (status === 'input_required')
      return this.end(id, { result: { resultType: status, inputRequests, requestState: asking + taskId } });
    this.end(id, { error: { code: -32603, message: `Its task ended as ${String(status)}` } });
  }

  private end(id: string, reply: Reply): void {
    if (this.close(id) !== undefined) this.settle(id, reply);
  }

  private close(id: string): string | undefined {
    const task = this.open.get(id);
    clearTimeout(task?.timer);
    this.open.delete(id);
    return task?.taskId;
  }
}
