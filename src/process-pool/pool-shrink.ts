import { Cancellation } from './cancellation.js';
import type { PendingRequest } from './pending-request.js';
import type { PoolMember } from './pool-members.js';
import type { PoolParts } from './pool-parts.js';
import type { GiveUpReason, PoolFailureReason, TerminationReason } from './pool.types.js';

/** Why a process ends after a request failed on it. */
export function endingAfter(failure: PoolFailureReason): TerminationReason {
  if (failure === 'output_too_large') return 'output';
  return failure === 'protocol_error' ? 'protocol' : 'crash';
}

/** What shrinking asks of its pool. */
export interface ShrinkHost {
  advance(): void;
  /** A process ended because nobody needed it. */
  idled(): void;
}

/** Decides what becomes of a process between two requests, and when it ends. */
export class PoolShrink {
  private idleTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: PoolParts,
    private readonly host: ShrinkHost,
  ) {}

  /** Finds the state of a process that is ready, whatever happened to it. */
  place(member: PoolMember): void {
    const { members, settings, concurrency } = this.parts;
    const idle = member.occupied === 0;
    if (member.state === 'leaving') {
      if (member.running.size === 0) this.end(member);
    } else if (!member.process.usable) {
      members.move(member, 'leaving');
    } else if (idle && member.served > 0 && !settings.keepAlive) {
      this.retire(member, 'one_shot');
    } else if (idle && member.process.congested) {
      // It answered without having read the request: what it reads next would be a torn line.
      this.condemn(member, 'protocol');
    } else if (member.process.congested || member.occupied >= concurrency) {
      members.move(member, 'full');
    } else {
      members.move(member, 'free');
      this.yieldIfContended(idle, member);
    }
  }

  /**
   * A running request was given up: the answer may still come, so its process is used again only when the tool has
   * been asked to end the call and has done so in time.
   */
  abandon(member: PoolMember, { id, request }: PendingRequest, reason: GiveUpReason): void {
    if (reason === 'shutting_down') return this.retire(member, 'stop');
    const { cancelGraceMs } = this.parts.settings;
    if (request.method !== 'execute' || cancelGraceMs === 0) return this.condemn(member, reason);
    const cancellation = new Cancellation(reason, cancelGraceMs, (inTime) => {
      member.process.forget(id);
      member.cancelling.delete(cancellation);
      member.lastUsedAt = performance.now();
      if (inTime) this.place(member);
      else this.condemn(member, reason);
      this.host.advance();
    });
    if (!member.process.cancel(id, cancellation)) return cancellation.failed();
    member.cancelling.add(cancellation);
    this.place(member);
  }

  /** Kills a process as soon as none of its other requests runs; it takes no more. */
  condemn(member: PoolMember, reason: TerminationReason): void {
    this.parts.members.move(member, 'leaving');
    member.condemned ??= reason;
    this.place(member);
  }

  /** Ends a process gently as soon as none of its requests runs; it takes no more. */
  dismiss(member: PoolMember, reason: TerminationReason): void {
    if (member.state === 'leaving') return;
    member.dismissed = reason;
    this.parts.members.move(member, 'leaving');
    this.place(member);
  }

  /** Ends an idle process gently; it takes no more. */
  retire(member: PoolMember, reason: TerminationReason): void {
    const { members, settings } = this.parts;
    members.move(member, 'leaving');
    member.process.stop(reason);
    // Processes that ignore the end of their input must not pile up during their grace.
    if (members.leavingCount <= settings.poolSize + 1) return;
    const leaving = members.leaving();
    for (const surplus of leaving.slice(0, Math.max(0, leaving.length - settings.poolSize - 1))) {
      surplus.process.kill(reason);
    }
  }

  /** Used processes leave where a fresh one is wanted and the pool is full. */
  makeRoomForFresh(): void {
    const { members, queue, settings } = this.parts;
    if (queue.freshSize === 0 || !settings.keepAlive) return;
    const surplus = queue.freshSize - members.starting - (settings.poolSize - members.live);
    if (surplus <= 0) return;
    for (const member of members.idle().slice(0, surplus)) this.retire(member, 'idle');
  }

  /** Ends the least recently used idle process. @returns false when none is idle */
  yieldIdle(): boolean {
    const [member] = this.parts.members.idle();
    if (member) this.retire(member, 'idle');
    return member !== undefined;
  }

  /**
   * One timer for the whole pool, due when the least recently used process has been idle for long enough.
   * @param minimum processes that stay
   */
  watchIdle(minimum: number): void {
    const { members, settings } = this.parts;
    if (this.idleTimer || members.live <= minimum) return;
    const [oldest] = members.idle();
    if (!oldest) return;
    const dueIn = oldest.idleSince + settings.idleTimeoutMs - performance.now();
    this.idleTimer = setTimeout(() => this.retireIdle(minimum), Math.max(1, dueIn));
    this.idleTimer.unref();
  }

  stop(): void {
    clearTimeout(this.idleTimer);
  }

  private retireIdle(minimum: number): void {
    const { members, settings } = this.parts;
    this.idleTimer = undefined;
    const before = performance.now() - settings.idleTimeoutMs;
    for (const member of members.idle()) {
      if (member.idleSince > before || members.live <= minimum) continue;
      this.host.idled();
      this.retire(member, 'idle');
    }
    this.host.advance();
  }

  private end(member: PoolMember): void {
    if (member.condemned) member.process.kill(member.condemned);
    else if (member.dismissed && member.occupied === 0) this.retire(member, member.dismissed);
  }

  /** On a full server an idle process makes room for another pool, and a busy one where this pool has more than others. */
  private yieldIfContended(idle: boolean, member: PoolMember): void {
    const { budget, queue, user } = this.parts;
    if (!budget.contended) return;
    const spare = idle && queue.size === 0;
    if (!spare && !budget.owes(user, performance.now() - member.readyAt)) return;
    budget.promise();
    this.dismiss(member, member.worn ?? 'idle');
  }
}
