import { performance } from 'node:perf_hooks';
import type { Deadline } from '../common/deadline.js';
import { TypedEvents } from '../common/typed-events.js';
import type { Release } from '../tool-contract/tool.js';
import { Admissions } from './admissions.js';
import { DeadlineWatch } from './deadline-watch.js';
import { givenUpRunning, givenUpWaiting, refusals } from './failure-messages.js';
import { PendingRequest, type RequestOwner } from './pending-request.js';
import { PoolGrowth } from './pool-growth.js';
import type { PoolOptions } from './pool-parts.js';
import { type PoolMember, PoolMembers } from './pool-members.js';
import { endingAfter, PoolShrink } from './pool-shrink.js';
import type {
  GiveUpReason,
  PoolAnswer,
  PoolEvent,
  PoolFailure,
  PoolFailureReason,
  PoolRequest,
  PoolSettings,
  PoolStats,
  Reply,
} from './pool.types.js';
import { ProcessBudget } from './process-budget.js';
import { RequestQueue } from './request-queue.js';
import { SpawnGate } from './spawn-gate.js';
import type { Ending } from './tool-process.types.js';

/**
 * The processes of one tool and the requests for them. Requests wait in order, in a bounded queue, until a process is
 * free, their deadline passes or their caller leaves. Processes are started as requests need them, up to `poolSize`,
 * and end when idle. Every event ends in `advance`, the one place that decides what happens next.
 */
export class ProcessPool {
  readonly events: TypedEvents<PoolEvent>;
  private readonly queue = new RequestQueue();
  private readonly members = new PoolMembers();
  private readonly deadlines = new DeadlineWatch(this.members);
  private readonly growth: PoolGrowth;
  private readonly shrink: PoolShrink;
  private readonly capacity: number;
  /** Requests accepted and not ended. */
  private open = 0;
  private readonly admissions: Admissions;
  private isCutOff = false;
  private drainTimer: NodeJS.Timeout | undefined;
  private stopping: Promise<void> | undefined;
  private stopped: (() => void) | undefined;
  private readonly owner: RequestOwner = {
    answered: (request, reply) => this.answered(request, reply),
    failed: (request, reason, message, ending) => this.failed(request, reason, message, ending),
    gaveUp: (request, reason) => this.gaveUp(request, reason),
  };

  constructor(
    private readonly settings: PoolSettings,
    {
      budget = new ProcessBudget(Infinity),
      gate = new SpawnGate(Infinity),
      events = new TypedEvents(() => undefined),
      ...growth
    }: PoolOptions = {},
  ) {
    this.events = events;
    const concurrency = settings.keepAlive ? settings.maxConcurrency : 1;
    this.capacity = settings.poolSize * concurrency + settings.maxQueue;
    this.admissions = new Admissions(this.capacity, () => {
      if (this.stopping) this.advance();
    });
    const { members, queue } = this;
    const advance = (): void => this.advance();
    const user = { freed: advance, opened: advance, yieldIdle: () => this.shrink.yieldIdle() };
    const parts = { settings, concurrency, members, queue, budget, gate, user, events };
    this.shrink = new PoolShrink(parts, { advance, idled: () => this.growth.unused() });
    const giveUpWaiting = (message: string): void => this.failWaiting('spawn_failed', message);
    this.growth = new PoolGrowth(parts, this.shrink, { advance, giveUpWaiting }, growth);
  }

  /**
   * Takes one of poolSize × maxConcurrency + maxQueue places, so that a call can be refused before it is recorded.
   * @returns gives the place back; calling it twice is harmless
   * @throws PoolFailure `queue_full` or `shutting_down`
   */
  reserve(): Release {
    if (this.stopping) throw refusals.stopping(this.settings.name);
    const release = this.admissions.take();
    if (!release) throw refusals.queueFull(this.settings.name, this.capacity);
    return release;
  }

  /**
   * Runs one request on a process of its own or, with maxConcurrency, on a shared one.
   * @returns the tool's answer, which may be an error
   * @throws PoolFailure for everything below the tool's own answer
   */
  execute(request: PoolRequest): Promise<PoolAnswer> {
    const refusal = this.refusal();
    if (refusal) return Promise.reject(refusal);
    const pending = this.accept(request);
    if (pending.isOver()) return pending.answer;
    const member = this.queue.size === 0 ? this.pick(request.fresh) : undefined;
    if (member) this.assign(pending, member);
    else this.queue.add(pending);
    // After the write: what is done now costs no time while the tool works.
    pending.watch();
    this.advance();
    return pending.answer;
  }

  /**
   * Asks an idle process how it is, the least recently used one; it does not count as use.
   * @returns undefined when none is idle
   * @throws PoolFailure; a process that fails it is replaced
   */
  health(deadline: Deadline): Promise<PoolAnswer | undefined> {
    const member = this.stopping ? undefined : this.members.idle()[0];
    if (!member) return Promise.resolve(undefined);
    const pending = this.accept({ method: 'health', params: () => ({}), deadline });
    if (pending.isOver()) return pending.answer;
    this.assign(pending, member);
    pending.watch();
    return pending.answer;
  }

  /** @returns why no request can be served now: the last starts failed and the next one is not due */
  whyUnavailable(): string | undefined {
    return this.growth.whyHopeless();
  }

  stats(): PoolStats {
    return this.members.stats(this.queue.size);
  }

  /** Has processes replaced that are too old or, as far as `residentBytes` knows by their pid, too large. */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    this.growth.inspect(residentBytes);
  }

  /**
   * Starts `minProcesses` processes and keeps that many from now on.
   * @throws PoolFailure `spawn_failed` when the pool gives up; it goes on trying by itself
   */
  warm(): Promise<void> {
    return this.stopping ? Promise.resolve() : this.growth.warm();
  }

  /**
   * Admits nobody any more, lets the admitted calls end within `drainMs`, then ends every process.
   * Resolves when no process is left. Said again, the new `drainMs` counts.
   */
  stop(drainMs = 0): Promise<void> {
    clearTimeout(this.drainTimer);
    if (this.open + this.admissions.held > 0) this.drainTimer = setTimeout(() => this.cutOff(), drainMs);
    this.stopping ??= new Promise((resolve) => {
      this.stopped = resolve;
      this.shrink.stop();
      this.growth.stop();
      queueMicrotask(() => this.advance()); // Not before `stopping` is set.
    });
    return this.stopping;
  }

  private refusal(): PoolFailure | undefined {
    // Who was admitted before the stop is still served.
    if (this.stopping && !this.isOwed()) return refusals.stopping(this.settings.name);
    if (this.open >= this.capacity) return refusals.queueFull(this.settings.name, this.capacity);
    const error = this.growth.whyHopeless();
    return error === undefined ? undefined : refusals.cannotStart(this.settings.name, error);
  }

  /** While it stops: a call that was admitted may still come with its request. */
  private isOwed(): boolean {
    return !this.isCutOff && this.admissions.held > this.open;
  }

  private accept(request: PoolRequest): PendingRequest {
    this.open++;
    return new PendingRequest(request, this.owner);
  }

  /** Hands requests to processes, starts what is missing, ends what is not needed. Every event leads here. */
  private advance(): void {
    if (this.queue.size > 0) this.serve();
    this.growth.grow();
    if (this.stopping) this.advanceStop();
    else this.shrink.watchIdle(this.growth.minimum);
  }

  private serve(): void {
    this.serveFirst(() => this.queue.firstFresh);
    this.shrink.makeRoomForFresh();
    this.serveFirst(() => this.queue.firstAny);
  }

  private serveFirst(first: () => PendingRequest | undefined): void {
    for (let pending = first(); pending; pending = first()) {
      const member = this.pick(pending.request.fresh);
      if (!member) return;
      this.queue.delete(pending);
      this.assign(pending, member);
    }
  }

  private pick(fresh = false): PoolMember | undefined {
    // A spare process is beyond `poolSize`; it waits while so many run.
    if (!this.settings.keepAlive && this.members.full >= this.settings.poolSize) return undefined;
    return fresh ? this.members.unused() : this.members.mostRecent();
  }

  private assign(pending: PendingRequest, member: PoolMember): void {
    const { request } = pending;
    try {
      const remainingMs = request.deadline.remainingMs();
      pending.id = member.process.send(request.method, request.params(remainingMs), pending);
      this.deadlines.watch(remainingMs);
    } catch (error) {
      // Nothing was written, so the process is as good as before.
      this.open--;
      return pending.reject(error);
    }
    pending.begun(member);
    if (request.method === 'execute') this.growth.used(member);
    this.shrink.place(member);
  }

  private answered(pending: PendingRequest, reply: Reply): void {
    // Only what runs is answered, or fails.
    const member = this.leave(pending) as PoolMember;
    pending.resolve(reply);
    if (pending.request.method === 'execute') member.lastUsedAt = performance.now();
    this.growth.answered();
    this.shrink.place(member);
    this.advance();
  }

  private failed(pending: PendingRequest, reason: PoolFailureReason, message: string, ending?: Ending): void {
    const member = this.leave(pending) as PoolMember;
    Object.assign(pending.notes, member.evidence(ending));
    pending.fail(reason, message, true);
    this.shrink.condemn(member, endingAfter(reason));
    this.advance();
  }

  private gaveUp(pending: PendingRequest, reason: GiveUpReason): void {
    const { totalMs } = pending.request.deadline;
    const member = this.leave(pending);
    if (member) {
      Object.assign(pending.notes, member.evidence());
      pending.fail(reason, givenUpRunning(reason, totalMs), true);
      this.shrink.abandon(member, pending, reason);
    } else {
      pending.fail(reason, givenUpWaiting(reason, totalMs, this.growth.whyWaiting()), false);
    }
    this.advance();
  }

  /** @returns the process that it ran on */
  private leave(pending: PendingRequest): PoolMember | undefined {
    const { member } = pending;
    this.open--;
    this.queue.delete(pending);
    member?.process.forget(pending.id);
    member?.running.delete(pending);
    return member;
  }

  private advanceStop(): void {
    if (this.isOwed()) return;
    if (this.queue.size === 0) {
      for (const member of this.members) {
        if (member.running.size === 0 && member.state !== 'leaving') this.shrink.retire(member, 'stop');
      }
    }
    if (this.members.size > 0 || this.open > 0) return;
    clearTimeout(this.drainTimer);
    this.deadlines.stop();
    this.growth.leave();
    this.stopped?.();
  }

  private failWaiting(reason: PoolFailureReason, message: string): void {
    for (const pending of this.queue.clear()) {
      this.leave(pending);
      pending.fail(reason, message, false);
    }
  }

  private cutOff(): void {
    this.isCutOff = true;
    for (const request of [...this.queue.clear(), ...this.members.running()]) request.giveUp('shutting_down');
    this.advance();
  }
}
