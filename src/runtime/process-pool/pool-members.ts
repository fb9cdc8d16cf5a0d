import { performance } from 'node:perf_hooks';
import type { TypedEvents } from '../../base/common/typed-events.js';
import { allBusy, stderrMark } from './failure-messages.js';
import type { Launcher } from './launcher.js';
import { MemberList, PoolMember } from './pool-member.js';
import type { ProcessEvent } from './pool-process.js';
import type { Ending, PoolEvent, PoolSettings, PoolStats, TerminationReason } from './pool.types.js';
import { RestartPolicy } from './restart-policy.js';
import type { SlotUser, StartSlots } from './start-slots.js';

/** A process to start. */
interface PlannedStart {
  /** Whether a request waits for it. */
  readonly urgent: boolean;
  /** The expired process that it replaces. */
  readonly replaces?: PoolMember;
}

/** The processes of one pool: starts, reuses, replaces and ends them. */
export class PoolMembers implements SlotUser {
  private readonly list = new MemberList();
  private readonly policy: RestartPolicy;
  /** Number of processes that are kept even if idle. */
  private minimum = 0;
  /** Whether a spare process is kept. Set while a tool without keepAlive is in use, so that it is worth its memory. */
  private keepsSpare = false;
  /** Whether a process has answered two calls, which shows that the tool does not exit after each answer. */
  private canServeSeveral = false;
  private stopping = false;
  private idleTimer: NodeJS.Timeout | undefined;
  private retryTimer: NodeJS.Timeout | undefined;

  /** @param random source of jitter, 0 to 1 @param advance called when a process has changed or a start slot may be free */
  constructor(
    private settings: PoolSettings,
    private readonly slots: StartSlots,
    private readonly launcher: Launcher,
    private readonly random: () => number,
    private readonly events: TypedEvents<PoolEvent>,
    readonly advance: () => void,
  ) {
    this.policy = new RestartPolicy(settings.maxFailedStarts);
  }

  get size(): number {
    return this.list.size;
  }

  /** Time by performance.now() since which the longest idle process is idle; Infinity if none is. */
  get idleSince(): number {
    return this.longestIdle()?.idleSince ?? Infinity;
  }

  get isFailing(): boolean {
    return this.policy.failed;
  }

  get lastStartFailed(): boolean {
    return this.policy.failedStarts > 0;
  }

  /** The process that is idle for the longest time. */
  longestIdle(): PoolMember | undefined {
    return this.list.idle()[0];
  }

  /** A process for the next request. @param fresh only one that has served no request */
  pick(fresh: boolean): PoolMember | undefined {
    const { keepAlive, poolSize } = this.settings;
    // A spare process is not counted in `poolSize`; it is not used while `poolSize` processes are busy.
    return !keepAlive && this.list.full >= poolSize ? undefined : this.list.pick(fresh);
  }

  stats(waiting: number): PoolStats {
    const { starting, ready, pids } = this.list;
    const idle = this.list.idle().length;
    return { starting, idle, busy: ready - idle, waiting, pids };
  }

  /** @returns why requests should not wait for a process; undefined if they should */
  whyNoneCanStart(): string | undefined {
    const { policy, list } = this;
    const noneCanStart =
      policy.failed && list.live === 0 && !policy.mayStart(performance.now(), list.starting);
    return noneCanStart ? policy.error : undefined;
  }

  /** The probable cause of a long wait. */
  whyWaiting(): string {
    if (this.policy.failedStarts > 0) return `its last start failed (${this.policy.error})`;
    if (this.list.ready === 0 && this.list.starting > 0) return 'it was still starting';
    return this.slots.whyRefused(this) ?? allBusy(this.settings.poolSize);
  }

  /** Starts `minProcesses` processes and keeps that many running. */
  warm(): void {
    const { keepAlive, minProcesses, poolSize } = this.settings;
    if (keepAlive) this.minimum = Math.min(minProcesses, poolSize);
    this.advance();
  }

  /** Starts missing processes, and plans the end of idle ones. @param fresh how many of the waiting need an unused process */
  grow(waiting: number, fresh: number): void {
    // One timestamp for all checks, so that a back-off that ends between two of them is not missed.
    const now = performance.now();
    const { keepAlive, maxConcurrency } = this.settings;
    const needed = fresh + Math.ceil((waiting - fresh) / (keepAlive ? maxConcurrency : 1));
    let next = this.nextStart(needed, now);
    while (next && this.start(next)) next = this.nextStart(needed, now);
    if (!next) this.slots.withdraw(this);
    this.retryLater(now);
    if (!this.idleTimer) this.watchIdle();
  }

  /** Ends used processes if fresh ones are needed and the pool is full. */
  makeRoomForFresh(fresh: number): void {
    const { keepAlive, poolSize } = this.settings;
    const surplus = keepAlive ? fresh - this.list.starting - (poolSize - this.list.live) : 0;
    for (const member of this.list.idle().slice(0, Math.max(0, surplus))) this.retire(member);
  }

  /** Called when a process gets a call. @returns whether another process (a spare, or an expired one's successor) may have to start */
  onRequest(member: PoolMember): boolean {
    member.countRequest();
    this.keepsSpare = true;
    return !this.settings.keepAlive || member.expired !== undefined;
  }

  /** Called when a process has answered a call or a health check. */
  onAnswer({ answers }: PoolMember): void {
    this.canServeSeveral ||= answers > 1;
    if (this.policy.strikes > 0) this.policy.answered();
  }

  /** Keeps, replaces or ends a changed process. @param isNeeded whether requests wait for it @returns whether it changed */
  review(member: PoolMember, isNeeded = false): boolean {
    const { isIdle } = member;
    if (!member.isReady) member.endIfDone();
    else if (isIdle && member.served > 0 && !this.settings.keepAlive) this.retire(member, 'one_shot');
    // It answered before it had read the whole request, so the rest of the line is still in its input.
    else if (isIdle && member.process.congested) member.leave('protocol', 'kill');
    // Another pool needs its slot.
    else if (!member.isFull && this.slots.claim(isIdle && !isNeeded ? undefined : member))
      this.retire(member);
    else if (member.expired === undefined) {
      if (isIdle && !this.idleTimer) this.watchIdle();
      return false;
    }
    return true;
  }

  /** Ends the longest idle process, because another pool needs its slot. */
  yieldIdle(): void {
    const longest = this.longestIdle();
    if (longest) this.retire(longest);
  }

  /** Marks processes that must be replaced: too old or too large ones. @param residentBytes memory of a pid, if known */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    for (const member of this.list) member.inspect(residentBytes);
    this.advance();
  }

  /** From now on, processes are started only for waiting requests. */
  stopStartingAhead(): void {
    this.stopping = true;
  }

  /** Ends all idle processes. */
  endIdle(): void {
    for (const member of this.list)
      if (member.state.name !== 'leaving' && member.running.size === 0) this.retire(member, 'stop');
  }

  /** Releases timers and slots, after the last process has ended. */
  close(): void {
    clearTimeout(this.idleTimer);
    clearTimeout(this.retryTimer);
    this.slots.withdraw(this);
  }

  /** The most urgent start that is needed and allowed. */
  private nextStart(needed: number, now: number): PlannedStart | undefined {
    const { policy, list } = this;
    const { keepAlive, poolSize } = this.settings;
    const isWanted = needed > list.starting && list.live < (keepAlive ? poolSize : poolSize + 1);
    if (isWanted && policy.mayStart(now, list.starting)) return { urgent: true };
    if (this.stopping || !policy.mayStartAhead(now, list.starting)) return undefined;
    if (this.isWantedAhead()) return { urgent: false };
    const replaces = list.nextExpired();
    // Replacing a process that leaks memory is as urgent as a request.
    return replaces && { urgent: replaces.expired === 'memory', replaces };
  }

  /** Whether a process is to be started before a request needs it. */
  private isWantedAhead(): boolean {
    const { live, full } = this.list;
    // A retry after failed starts.
    if (this.policy.failed && live === 0) return true;
    if (this.settings.keepAlive) return live < this.minimum;
    return this.keepsSpare && live === full && live <= this.settings.poolSize;
  }

  /** @returns whether there was a start slot */
  private start({ urgent, replaces }: PlannedStart): boolean {
    const slot = this.slots.take(this, urgent);
    if (!slot) return false;
    this.events.emit({ type: 'starting', pool: this.settings.name });
    const handle = (member: PoolMember, event: ProcessEvent): void => this.handle(member, event);
    this.list.add(new PoolMember(this.settings, this.launcher, slot, replaces, handle));
    return true;
  }

  /** Schedules another attempt for the end of the back-off. */
  private retryLater(now: number): void {
    const delay = this.policy.delayMs(now);
    if (delay === 0 || this.retryTimer) return;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.advance();
    }, delay).unref();
  }

  private handle(member: PoolMember, event: ProcessEvent): void {
    if (event.type === 'ready') this.onReady(member, event);
    else if (event.type === 'start_failed') this.onStartFailed(member, event.error);
    else if (event.type === 'ended') this.onEnded(member, event.ending);
    else if (event.type === 'drained') this.advance();
    else {
      if (event.type === 'unparsed') member.noteUnparsed(event.line, event.lines);
      this.events.emit({ ...event, pool: this.settings.name, pid: member.pid });
    }
  }

  private onReady(member: PoolMember, { handshake }: Extract<ProcessEvent, { type: 'ready' }>): void {
    const pool = this.settings.name;
    const recovered = this.policy.failed;
    const replaced = member.markReady(this.random);
    if (replaced?.expired) this.retire(replaced);
    this.policy.started();
    const durationMs = performance.now() - member.begunAt;
    this.events.emit({ type: 'spawn', pool, pid: member.pid, durationMs, handshake });
    if (recovered) this.events.emit({ type: 'recovered', pool });
    member.slot.started();
    this.advance();
    // The request that it was started for may have ended.
    this.review(member);
  }

  private onStartFailed(member: PoolMember, why: string): void {
    const stderr = member.process.stderrTail();
    const error = stderr === '' ? why : `${why}${stderrMark}${stderr}`;
    const pool = this.settings.name;
    const counted = this.policy.startFailed(performance.now(), member.begunAt, error);
    const failures = this.policy.failedStarts;
    member.leave('start_failed', 'kill');
    this.events.emit({ type: 'start_failed', pool, error, failures });
    if (counted && failures === this.settings.maxFailedStarts) {
      this.events.emit({ type: 'failed', pool, error });
    }
    member.slot.started();
    this.advance();
  }

  private onEnded(member: PoolMember, ending: Ending): void {
    const wasUnexpected = ['exit', 'crash', 'flood'].includes(ending.reason);
    const now = performance.now();
    if (wasUnexpected && member.served === 0) this.policy.diedUnused(now, now - member.begunAt);
    // The tool exits after each answer: a second request to the same process would be lost.
    if (wasUnexpected && !this.canServeSeveral && member.endsAfterAnswer(ending))
      this.settings = { ...this.settings, keepAlive: false };
    this.list.delete(member);
    const { pid } = member.process;
    if (pid !== undefined) this.events.emit({ type: 'terminate', pool: this.settings.name, pid, ...ending });
    member.slot.release();
    this.advance();
  }

  /** Accepts no more requests on a process and stops it after the running ones. */
  private retire(member: PoolMember, reason: TerminationReason = member.expired ?? 'idle'): void {
    member.leave(reason, 'stop');
    // Processes that ignore the end of their input must not pile up during the grace period.
    const stopping = this.list.stopping();
    const surplus = stopping.length - this.settings.poolSize - 1;
    for (const oldest of stopping.slice(0, Math.max(0, surplus))) oldest.leave(reason, 'kill');
  }

  /** Sets the pool's single idle timer, which fires when the longest idle process reaches its timeout. */
  private watchIdle(): void {
    const longest = this.longestIdle();
    if (!longest || this.stopping || this.list.live <= this.minimum) return;
    const dueIn = longest.idleSince + this.settings.idleTimeoutMs - performance.now();
    this.idleTimer = setTimeout(() => this.endTimedOut(), Math.max(1, dueIn)).unref();
  }

  /** Ends processes that reached the idle timeout. */
  private endTimedOut(): void {
    this.idleTimer = undefined;
    const before = performance.now() - this.settings.idleTimeoutMs;
    for (const member of this.list.idle()) {
      if (member.idleSince > before || this.list.live <= this.minimum) break;
      this.keepsSpare = false;
      this.retire(member, 'idle');
    }
    this.advance();
  }
}
