import { isObject, type JsonObject } from '../../base/common/json.js';
import { errorReply } from '../process-pool/conversation.js';
import type { DialectSender, Reply } from '../process-pool/pool.types.js';

/** How long a server is asked to keep a task: no call lasts longer. */
export const taskTtlMs = 3_600_000;
/** Pause between two looks at a task, unless its server names another one within the bounds. */
const pauseMs = 1_000;
const minPauseMs = 50;
const maxPauseMs = 60_000;
/** Begins the state of a call that ended with what its task asks. */
const asking = 'toolkeeper-task ';

/** Tasks by which a server answers calls. Each is polled until it ends; its outcome is the answer to the call. */
export class TaskPolls {
  /** Timers of the next poll and ids of the tasks, by the id of the call's request. */
  private readonly open = new Map<string, { readonly taskId: string; timer?: NodeJS.Timeout }>();

  /** Tasks that get answers, by the id of the request that brings them. */
  private readonly updates = new Map<string, string>();

  /** @param request sends a request in the era of the session */
  constructor(
    private readonly request: DialectSender['request'],
    private readonly settle: DialectSender['settle'],
  ) {}

  /** @param task as the server answered it @returns whether it is one */
  follow(id: string, task: unknown): boolean {
    if (!isObject(task) || typeof task['taskId'] !== 'string') return false;
    this.open.set(id, { taskId: task['taskId'] });
    this.wait(id, task);
    return true;
  }

  /** @returns the request by which a call brings answers to what its task asked; undefined for another call */
  answered(id: string, { requestState, inputResponses, _meta }: JsonObject): [string, object] | undefined {
    if (typeof requestState !== 'string' || !requestState.startsWith(asking)) return undefined;
    const taskId = requestState.slice(asking.length);
    this.updates.set(id, taskId);
    return ['tasks/update', { taskId, inputResponses, _meta }];
  }

  /** Follows a task that got its answers. @returns whether the request brought them, and they were taken */
  goesOn(id: string, reply: Reply): boolean {
    const taskId = this.updates.get(id);
    return (
      this.updates.delete(id) && 'result' in reply && this.follow(id, { taskId, pollIntervalMs: minPauseMs })
    );
  }

  /** Cancels the task of a call that was abandoned. */
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
    const looked = (reply: Reply): void => this.looked(id, taskId, reply);
    task.timer = setTimeout(() => this.request('tasks/get', { taskId }, looked), ms).unref();
  }

  private looked(id: string, taskId: string, reply: Reply): void {
    const state = 'result' in reply && isObject(reply.result) ? reply.result : undefined;
    if (!state) return this.end(id, reply);
    const { status, result, error, inputRequests } = state;
    if (status === 'working') return this.wait(id, state);
    if (result !== undefined) return this.end(id, { result });
    const failure = errorReply(error);
    if (failure) return this.end(id, failure);
    // In the legacy era the outcome is a request of its own.
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
