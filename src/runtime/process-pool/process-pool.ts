import { CallerSlots } from '../../base/common/caller-slots.js';
import type { Deadline } from '../../base/common/deadline.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { Exchange } from './conversation.js';
import { cannotStart, givenUpRunning, givenUpWaiting, refusals } from './failure-messages.js';
import { type Launcher, launch } from './launcher.js';
import type { PoolMember } from './pool-member.js';
import { PoolRequest } from './pool-request.js';
import type {
  GiveUpReason,
  PoolAnswer,
  PoolEvent,
  PoolSettings,
  PoolSlot,
  PoolStats,
  Reply,
  RequestOptions,
} from './pool.types.js';
import { PoolMembers } from './pool-members.js';
import { StartSlots } from './start-slots.js';

/** Share of the queue that one caller may fill. */
const callerShareOfQueue = 0.75;

/**
 * The processes of one tool, started on demand up to `poolSize`, and its requests, which wait in a bounded queue until a
 * process is free. Every event that may affect other requests ends in `advance`, the only place that decides what happens next.
 */
export class ProcessPool {
  readonly events = new TypedEvents<PoolEvent>(() => undefined);
  private readonly members: PoolMembers;
  /** All unfinished requests; those without a process are also in `queue`. */
  private readonly open = new Set<PoolRequest>();
  private readonly queue: PoolRequest[] = [];
  /** Max calls that run and wait. */
  private readonly capacity: number;
  /** Max calls of one caller that run and wait. */
  private readonly capacityPerCaller: number;
  private readonly slots: CallerSlots;
  /** Shared by all requests to avoid allocating a closure per call. */
  private readonly onGiveUp = (request: PoolRequest, reason: GiveUpReason): void =>
    this.handleGiveUp(request, reason);
  /** Set from the first `stop` on; `cutOff`: the drain time is over and running calls were abandoned. */
  private stopping: { drainTimer?: NodeJS.Timeout; cutOff: boolean } | undefined;
  private readonly stopped = Promise.withResolvers<void>();
  /** Resolves when the pool is stopped and no process is left. */
  readonly ended = this.stopped.promise;

  /** @param slots shared by all pools; by default unlimited @param random source of jitter, 0 to 1 */
  constructor(
    private readonly settings: PoolSettings,
    slots = new StartSlots(),
    launcher: Launcher = launch,
    random: () => number = Math.random,
  ) {
    const { poolSize, keepAlive, maxConcurrency, maxQueue } = settings;
    const running = poolSize * (keepAlive ? maxConcurrency : 1);
    this.capacity = running + maxQueue;
    this.capacityPerCaller = running + Math.ceil(maxQueue * callerShareOfQueue);
    this.slots = new CallerSlots(this.capacityPerCaller, this.capacity);
    this.members = new PoolMembers(settings, slots, launcher, random, this.events, () => this.advance());
  }

  /**
   * Takes one of poolSize × maxConcurrency + maxQueue slots, so that a call can be rejected before it is recorded. The
   * last quarter of the queue is left to other callers.
   * @throws PoolFailure `queue_full` or `shutting_down`
   */
  admit(caller = ''): PoolSlot {
    if (this.stopping) throw refusals.stopping(this.settings.name);
    const release = this.slots.take(caller);
    if (!release) throw refusals.queueFull(this.settings.name, this.capacity, this.capacityPerCaller);
    return {
      run: (options) => this.run(options),
      release: () => {
        release();
        if (this.stopping) this.advance();
      },
    };
  }

  /** Asks the longest idle process for its health and replaces a failed one. @returns undefined if none @throws PoolFailure */
  health(deadline: Deadline): Promise<PoolAnswer | undefined> {
    const member = this.stopping ? undefined : this.members.longestIdle();
    if (!member) return Promise.resolve(undefined);
    const request = this.accept({ method: 'health', params: () => ({}), deadline });
    if (request.start()) this.assign(request, member);
    return request.answer;
  }

  /** Waits until a process is ready or the deadline is over. Never rejects. */
  async wake(deadline: Deadline): Promise<void> {
    await this.run({ method: 'health', params: () => ({}), deadline }).catch(() => undefined);
  }

  /** @returns why no request can be served: the last starts failed and the next is not due; undefined otherwise */
  whyUnavailable(): string | undefined {
    return this.members.whyNoneCanStart();
  }

  /** Whether too many starts failed in a row. The pool keeps trying. */
  get isFailing(): boolean {
    return this.members.isFailing;
  }

  /** Whether no process has started since a start failed. */
  get lastStartFailed(): boolean {
    return this.members.lastStartFailed;
  }

  /** Start of the idle time of its longest idle process (`performance.now()`); Infinity if none is idle. */
  get idleSince(): number {
    return this.members.idleSince;
  }

  stats(): PoolStats {
    return this.members.stats(this.queue.length);
  }

  /** Replaces processes that are too old or too large; `residentBytes` returns the memory of a pid, if known. */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    this.members.inspect(residentBytes);
  }

  /** Starts `minProcesses` processes and keeps that many running; events report the progress. */
  warm(): void {
    if (!this.stopping) this.members.warm();
  }

  /** Rejects new calls, gives admitted ones `drainMs` (the last given), then ends all processes. Resolves when none is left. */
  stop(drainMs = 0): Promise<void> {
    this.stopping ??= { cutOff: false };
    this.members.stopStartingAhead();
    clearTimeout(this.stopping.drainTimer);
    if (this.open.size + this.slots.taken > 0)
      this.stopping.drainTimer = setTimeout(() => this.endDrain(), drainMs);
    this.advance();
    return this.ended;
  }

  /** Assigns a request directly if no other waits and a process is free; otherwise queues it. */
  private run(options: RequestOptions): Promise<PoolAnswer> {
    if (this.stopping?.cutOff) return Promise.reject(refusals.stopping(this.settings.name));
    const request = this.accept(options);
    if (!request.start()) return request.answer;
    const member = this.queue.length === 0 ? this.members.pick(request.needsFresh) : undefined;
    if (!member) this.queue.push(request);
    const needsAdvance = !member || this.assign(request, member);
    if (needsAdvance) this.advance();
    return request.answer;
  }

  /** Whether the pool is draining and an admitted call has not sent its request yet. */
  private awaitsRequests(): boolean {
    return this.stopping?.cutOff === false && this.slots.taken > this.open.size;
  }

  /** Creates a request. It must be started, and then assigned or queued. */
  private accept(options: RequestOptions): PoolRequest {
    const request = new PoolRequest(options, this.onGiveUp);
    this.open.add(request);
    return request;
  }

  /** Assigns requests, starts missing processes and ends surplus ones. */
  private advance(): void {
    if (this.queuedFresh > 0) {
      this.assignQueued('fresh');
      this.members.makeRoomForFresh(this.queuedFresh);
    }
    if (this.queue.length > 0) this.assignQueued('any');
    this.members.grow(this.queue.length, this.queuedFresh);
    if (this.queue.length > 0) this.failQueueIfNoneCanStart();
    if (this.stopping) this.advanceStop();
  }

  /** Assigns queued requests while there are processes for them: those that need a fresh one, or the others. */
  private assignQueued(process: 'fresh' | 'any'): void {
    const fresh = process === 'fresh';
    const next = (): number => this.queue.findIndex(({ needsFresh }) => needsFresh === fresh);
    for (let at = next(); at >= 0; at = next()) {
      const member = this.members.pick(fresh);
      const [request] = member ? this.queue.splice(at, 1) : [];
      if (!member || !request) return;
      this.assign(request, member);
    }
  }

  /** Number of queued requests that need a fresh process. */
  private get queuedFresh(): number {
    let fresh = 0;
    for (const { needsFresh } of this.queue) if (needsFresh) fresh++;
    return fresh;
  }

  /** Fails all waiting requests when no process can be started. */
  private failQueueIfNoneCanStart(): void {
    const error = this.members.whyNoneCanStart();
    if (error === undefined) return;
    for (const request of this.queue.splice(0)) {
      this.open.delete(request);
      request.fail('spawn_failed', cannotStart(this.settings.name, error));
    }
  }

  /** While the pool stops: ends idle processes, and resolves `ended` when none is left. */
  private advanceStop(): void {
    if (this.awaitsRequests()) return;
    if (this.queue.length === 0) this.members.endIdle();
    if (this.members.size > 0 || this.open.size > 0) return;
    clearTimeout(this.stopping?.drainTimer);
    this.members.close();
    this.stopped.resolve();
  }

  /** Ends the drain time: abandons all requests. */
  private endDrain(): void {
    if (this.stopping) this.stopping.cutOff = true;
    // Queued requests first, so that no process is started for them.
    for (const request of [...this.queue, ...this.open]) request.giveUp('shutting_down');
    this.advance();
  }

  /** Sends a request to a process. @returns whether the pool may have to start or end a process as a result */
  private assign(request: PoolRequest, member: PoolMember): boolean {
    const { method, wireMethod, params, deadline, executionId, onNotice } = request.options;
    if (request.mustBegin) {
      void this.reserve(request, member);
      return false;
    }
    try {
      const exchange: Exchange = {
        executionId,
        noticed: onNotice,
        caller: request,
        answered: (reply, outputBytes, outputText) => {
          Object.assign(request.notes, { outputBytes, outputText });
          this.onAnswer(request, member, reply);
        },
        failed: (reason, message, ending) => {
          this.remove(request);
          request.fail(reason, message, ending);
          member.endAfterFailure(reason);
          this.advance();
        },
      };
      const id = member.process.send(method, params(deadline.remainingMs()), exchange, wireMethod);
      request.markRunning(member, id);
    } catch (error) {
      // Nothing was written, so the process stays usable.
      this.remove(request);
      request.reject(error);
      return false;
    }
    return method === 'execute' && this.members.onRequest(member);
  }

  /** Reserves the process until `begin` has ended. If the process is lost meanwhile, the request waits again. */
  private async reserve(request: PoolRequest, member: PoolMember): Promise<void> {
    await request.beginOn(member);
    if (request.state.name === 'over') this.remove(request);
    else if (!member.isReady) this.queue.unshift(request);
    else if (this.assign(request, member)) this.advance();
    this.afterRequest(member);
  }

  private onAnswer(request: PoolRequest, member: PoolMember, reply: Reply): void {
    this.remove(request);
    request.resolve(reply);
    if (request.options.method === 'execute') member.countAnswer();
    this.members.onAnswer(member);
    this.afterRequest(member);
  }

  private handleGiveUp(request: PoolRequest, reason: GiveUpReason): void {
    const { state, options } = request;
    const { totalMs } = options.deadline;
    this.remove(request);
    if (state.name === 'running') {
      const output = state.member.process.otherOutputSince(request.arrivedAt);
      request.fail(reason, givenUpRunning(reason, totalMs, output));
      state.member.process.forget(state.id);
      this.abandon(state.member, state.id, reason, options.method === 'execute');
    } else {
      request.fail(reason, givenUpWaiting(reason, totalMs, this.members.whyWaiting()));
    }
    this.advance();
  }

  /** Handles the process of an abandoned request. It is reused only if the tool cancels the call in time. */
  private abandon(member: PoolMember, id: string, reason: GiveUpReason, isCancellable: boolean): void {
    if (reason === 'shutting_down') return member.leave('stop', 'stop');
    if (!isCancellable || this.settings.cancelGraceMs === 0) return member.leave(reason, 'kill');
    member.cancel(id, reason, (inTime) => {
      if (!inTime) member.leave(reason, 'kill');
      this.afterRequest(member);
    });
  }

  /** Called after a request on the member has ended. */
  private afterRequest(member: PoolMember): void {
    const waits = this.queue.length > 0;
    const hasChanged = this.members.review(member, waits);
    if (hasChanged || waits || this.stopping) this.advance();
  }

  /** Removes a request that ends. */
  private remove(request: PoolRequest): void {
    this.open.delete(request);
    const at = this.queue.indexOf(request);
    if (at >= 0) this.queue.splice(at, 1);
  }
}
