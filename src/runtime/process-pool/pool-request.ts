import { performance } from 'node:perf_hooks';
import { isObject, type JsonObject } from '../../base/common/json.js';
import type { AskableCaller } from './conversation.js';
import type { PoolMember } from './pool-member.js';
import {
  type Ending,
  type GiveUpReason,
  type PoolAnswer,
  PoolFailure,
  type PoolFailureReason,
  type Reply,
  type RequestNotes,
  type RequestOptions,
} from './pool.types.js';

type RequestState =
  | { readonly name: 'waiting' }
  /** A process is reserved while `begin` runs. */
  | { readonly name: 'reserved'; readonly member: PoolMember }
  /** Written to a process under this id. */
  | { readonly name: 'running'; readonly member: PoolMember; readonly id: string }
  | { readonly name: 'over' };

const waiting: RequestState = { name: 'waiting' };
const over: RequestState = { name: 'over' };

/** Max delay of a timer: Node fires one with a longer delay immediately. */
const maxTimerMs = 2_147_483_647;
/** Interval of checking a deadline that stands still. */
const recheckMs = 250;
/** Rounds milliseconds to microseconds. */
const roundMs = (ms: number): number => Math.round(ms * 1_000) / 1_000;

/** One request, the promise of its answer and its deadline. Ending it twice has no effect. */
export class PoolRequest implements AskableCaller {
  readonly notes: RequestNotes = {};
  /** Bytes that its process had written to stderr before this request. */
  private stderrBefore = 0;
  readonly answer: Promise<PoolAnswer>;
  state = waiting;
  /** Whether `begin` must still be awaited. */
  mustBegin: boolean;
  /** Whether it needs a process that has served no request. */
  readonly needsFresh: boolean;
  /** Time of arrival (performance.now()). */
  readonly arrivedAt = performance.now();
  private readonly resolvers = Promise.withResolvers<PoolAnswer>();
  private timer: NodeJS.Timeout | undefined;
  /** If the client leaves at the deadline, the request counts as late, not as cancelled. */
  private readonly onCancel = (): void =>
    this.giveUp(this.options.deadline.remainingMs() <= 1 ? 'timeout' : 'cancelled');

  /** @param onGiveUp called when the deadline passes, the caller leaves or the pool stops; must end the request */
  constructor(
    readonly options: RequestOptions,
    private readonly onGiveUp: (request: PoolRequest, reason: GiveUpReason) => void,
  ) {
    this.answer = this.resolvers.promise;
    this.mustBegin = options.begin !== undefined;
    this.needsFresh = options.fresh === true;
  }

  /** Starts the deadline timer and listens for cancellation. @returns false if it arrived too late and has ended already */
  start(): boolean {
    const { cancellation, deadline } = this.options;
    const remainingMs = deadline.remainingMs();
    if (cancellation?.isCancelled) this.onCancel();
    else if (remainingMs <= 0) this.giveUp('timeout');
    else {
      cancellation?.subscribe(this.onCancel);
      this.startTimer(remainingMs);
    }
    return this.state.name === 'waiting';
  }

  get limitMs(): number {
    return this.options.deadline.totalMs;
  }

  relay(message: JsonObject): Promise<Reply> | undefined {
    return this.options.onRequest?.(message);
  }

  noteUnasked({ params }: JsonObject): void {
    const mode = isObject(params) ? params['mode'] : undefined;
    this.notes.unasked = typeof mode === 'string' ? mode : 'form';
  }

  /** Ends the request at its deadline. A deadline that stands still is checked periodically. */
  private startTimer(ms: number): void {
    this.timer = setTimeout(
      () => {
        const { deadline } = this.options;
        const leftMs = deadline.remainingMs();
        if (leftMs === 0) this.giveUp('timeout');
        else this.startTimer(deadline.isPaused ? Math.max(leftMs, recheckMs) : leftMs);
      },
      Math.min(ms, maxTimerMs),
    );
  }

  /** Reserves the process while `begin` runs. Afterwards the request may be written, unless it is over. */
  async beginOn(member: PoolMember): Promise<void> {
    this.state = { name: 'reserved', member };
    member.running.add(this);
    try {
      await this.options.begin?.();
    } catch (error) {
      this.reject(error);
    }
    // The request may have ended meanwhile.
    if (this.state.name !== 'reserved') return;
    member.running.delete(this);
    this.state = waiting;
    this.mustBegin = false;
  }

  /** Marks the request as written to a process. */
  markRunning(member: PoolMember, id: string): void {
    this.state = { name: 'running', member, id };
    this.notes.queueMs = roundMs(performance.now() - this.arrivedAt);
    this.notes.pid = member.pid;
    this.stderrBefore = member.process.stderrBytes();
    member.running.add(this);
    const { state } = member;
    if (state.name === 'ready' && state.since > this.arrivedAt) {
      this.notes.spawnMs = roundMs(state.since - member.begunAt);
    }
  }

  /** Abandons the request, unless it has ended. */
  giveUp(reason: GiveUpReason): void {
    if (this.state.name !== 'over') this.onGiveUp(this, reason);
  }

  /** Ends the request with the tool's answer. */
  resolve(reply: Reply): void {
    // The end of stderr explains the tool's error.
    if ('error' in reply && this.state.name === 'running')
      this.notes.stderrTail = this.state.member.process.stderrTail(this.stderrBefore) || undefined;
    this.end();
    this.resolvers.resolve({ reply, notes: this.notes });
  }

  /** Ends the request with a PoolFailure. @param ending end of the process that ran it */
  fail(reason: PoolFailureReason, message: string, ending?: Ending): void {
    const written = this.state.name === 'running';
    if (this.state.name === 'running') Object.assign(this.notes, this.state.member.evidence(ending));
    this.reject(new PoolFailure(reason, message, this.notes, written));
  }

  /** Ends the request with any error. */
  reject(error: unknown): void {
    this.end();
    this.resolvers.reject(error);
  }

  private end(): void {
    if ('member' in this.state) this.state.member.running.delete(this);
    this.state = over;
    clearTimeout(this.timer);
    this.options.cancellation?.unsubscribe(this.onCancel);
  }
}
