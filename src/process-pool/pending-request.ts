import { performance } from 'node:perf_hooks';
import type { NoticeListener } from '../tool-contract/tool-notice.js';
import type { InLine } from './line.js';
import type { PoolMember, RunningRequest } from './pool-members.js';
import {
  type GiveUpReason,
  type PoolAnswer,
  PoolFailure,
  type PoolFailureReason,
  type PoolRequest,
  type Reply,
  type RequestNotes,
} from './pool.types.js';
import type { Ending, Exchange } from './tool-process.types.js';

/** Who decides about requests; a request itself only tells what happened to it. */
export interface RequestOwner {
  answered(request: PendingRequest, reply: Reply): void;
  failed(request: PendingRequest, reason: PoolFailureReason, message: string, ending?: Ending): void;
  /** The deadline passed, the caller left, or the pool stops. */
  gaveUp(request: PendingRequest, reason: GiveUpReason): void;
}

const longestTimerMs = 2_147_483_647;
/** Milliseconds without digits that mean nothing. */
const inMicroseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000;

/** One request from its arrival to its end: one promise, and a timer while it waits. Settling it twice is harmless. */
export class PendingRequest implements Exchange, RunningRequest, InLine<PendingRequest> {
  readonly notes: RequestNotes = {};
  readonly arrivedAt = performance.now();
  /** Its place in the queue. */
  line: object | undefined;
  before: PendingRequest | undefined;
  after: PendingRequest | undefined;
  /** Set while it runs. */
  member: PoolMember | undefined;
  /** Its id on the wire of that process. */
  id = '';
  readonly answer: Promise<PoolAnswer>;
  private settle: PromiseWithResolvers<PoolAnswer> | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** By which its tool may name it. */
  readonly executionId: string | undefined;
  readonly noticed: NoticeListener | undefined;

  constructor(
    readonly request: PoolRequest,
    private readonly owner: RequestOwner,
  ) {
    this.executionId = request.executionId;
    this.noticed = request.onNotice;
    const settle = Promise.withResolvers<PoolAnswer>();
    this.answer = settle.promise;
    this.settle = settle;
  }

  /** Gives up at once when it came too late. */
  isOver(): boolean {
    if (this.request.signal?.aborted) this.handleEvent();
    else if (this.remainingMs() <= 0) this.giveUp('timeout');
    return this.settle === undefined;
  }

  remainingMs(): number {
    return this.request.deadline.remainingMs();
  }

  /** Ends it when its caller leaves or, as long as it waits, its deadline passes. */
  watch(): void {
    if (this.settle === undefined) return;
    if (!this.member) {
      this.timer = setTimeout(() => this.giveUp('timeout'), Math.min(this.remainingMs(), longestTimerMs));
    }
    this.request.signal?.addEventListener('abort', this);
  }

  /** It was written to a process. */
  begun(member: PoolMember): void {
    clearTimeout(this.timer);
    this.member = member;
    member.running.add(this);
    this.notes.queueMs = inMicroseconds(performance.now() - this.arrivedAt);
    this.notes.pid = member.process.pid;
    if (member.readyAt > this.arrivedAt) this.notes.spawnMs = inMicroseconds(member.startMs);
  }

  answered(reply: Reply, outputBytes: number, resultJson?: string): void {
    this.notes.outputBytes = outputBytes;
    if (resultJson !== undefined) this.notes.resultJson = resultJson;
    this.owner.answered(this, reply);
  }

  failed(reason: PoolFailureReason, message: string, ending?: Ending): void {
    this.owner.failed(this, reason, message, ending);
  }

  giveUp(reason: GiveUpReason): void {
    this.owner.gaveUp(this, reason);
  }

  resolve(reply: Reply): void {
    this.end()?.resolve({ reply, notes: this.notes });
  }

  /** @param written bytes of it may have reached a process */
  fail(reason: PoolFailureReason, message: string, written: boolean): void {
    this.reject(new PoolFailure(reason, message, this.notes, written));
  }

  reject(error: unknown): void {
    this.end()?.reject(error);
  }

  private end(): PendingRequest['settle'] {
    const { settle } = this;
    this.settle = undefined;
    clearTimeout(this.timer);
    this.request.signal?.removeEventListener('abort', this);
    return settle;
  }

  /**
   * The caller's signal was aborted. It may also carry the deadline; which of the two timers fires first must not
   * change the outcome.
   */
  handleEvent(): void {
    const { signal } = this.request;
    const reason = signal?.reason as { readonly name?: unknown } | undefined;
    const isTimeout = reason?.name === 'TimeoutError' || this.remainingMs() <= 1;
    this.giveUp(isTimeout ? 'timeout' : 'cancelled');
  }
}
