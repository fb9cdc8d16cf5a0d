import type { Release } from '../tool-contract/tool.js';
import type { Cancellation } from './cancellation.js';
import type { GiveUpReason, PoolStats, RequestNotes, TerminationReason, WornBy } from './pool.types.js';
import { StrayLines } from './stray-lines.js';
import type { ToolProcess } from './tool-process.js';
import type { Ending } from './tool-process.types.js';

/** A request as the process that runs it sees it. */
export interface RunningRequest {
  remainingMs(): number;
  giveUp(reason: GiveUpReason): void;
}

/**
 * starting: not ready yet · free: takes a request · full: takes none for now · leaving: ending, takes none any more.
 */
export type MemberState = 'starting' | 'free' | 'full' | 'leaving';

/** One process of a pool, from start to end. Times are those of performance.now(). */
export class PoolMember {
  readonly running = new Set<RunningRequest>();
  /** Requests that nobody waits for any more, until the tool has ended them. */
  readonly cancelling = new Set<Cancellation>();
  readonly stray = new StrayLines();
  readonly begunAt = performance.now();
  readonly process: ToolProcess;
  readyAt = 0;
  /** End of its last request, or of its predecessor's; 0 when neither has served anybody. */
  lastUsedAt = 0;
  /** Requests given to it; health checks do not count. */
  served = 0;
  /** Its own limits of `served` and of age. */
  mostRequests = Infinity;
  wornAt = Infinity;
  /** The limit it reached: a successor is to take its place. */
  worn: WornBy | undefined;
  /** Why it is killed as soon as nobody else waits for it. */
  condemned: TerminationReason | undefined;
  /** Why it is stopped as soon as nobody waits for it. */
  dismissed: TerminationReason | undefined;

  constructor(
    start: (member: PoolMember) => ToolProcess,
    /** Gives its place among those that start back. */
    readonly started: Release,
    /** Changed by PoolMembers.move only. */
    public state: MemberState = 'starting',
  ) {
    this.process = start(this);
  }

  /** 0 as long as it has none. */
  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** Requests that hold a place on it. */
  get occupied(): number {
    return this.running.size + this.cancelling.size;
  }

  get idleSince(): number {
    return this.lastUsedAt || this.readyAt;
  }

  get startMs(): number {
    return this.readyAt - this.begunAt;
  }

  /** What is known of a request that fails on it; with `ending` of how the process ended, too. */
  evidence(ending?: Ending): RequestNotes {
    const strayLines = this.stray.report();
    return {
      stderrTail: ending?.stderrTail ?? this.process.stderrTail(),
      ...(ending && { exitCode: ending.exitCode, signal: ending.signal }),
      ...(strayLines && { strayLines }),
    };
  }
}

/** The processes of one pool by state; `free` is kept in the order of last use. */
export class PoolMembers {
  private readonly all = new Set<PoolMember>();
  private readonly free: PoolMember[] = [];
  private readonly counts: Record<MemberState, number> = { starting: 0, free: 0, full: 0, leaving: 0 };

  get size(): number {
    return this.all.size;
  }

  get starting(): number {
    return this.counts.starting;
  }

  get full(): number {
    return this.counts.full;
  }

  get ready(): number {
    return this.counts.free + this.counts.full;
  }

  get leavingCount(): number {
    return this.counts.leaving;
  }

  /** All but those that leave. */
  get live(): number {
    return this.counts.starting + this.ready;
  }

  add(member: PoolMember): void {
    this.all.add(member);
    this.counts[member.state]++;
  }

  /** The one place where a process changes its state. */
  move(member: PoolMember, to: MemberState): void {
    if (member.state === to) return;
    this.counts[member.state]--;
    this.counts[to]++;
    if (member.state === 'free') this.takeOut(member);
    member.state = to;
    if (to === 'free') this.putIn(member);
  }

  remove(member: PoolMember): void {
    this.move(member, 'leaving');
    this.all.delete(member);
    this.counts.leaving--;
  }

  /** The most recently used one that takes a request. */
  mostRecent(): PoolMember | undefined {
    return this.free[this.free.length - 1];
  }

  /** One that has served nobody and serves nobody now. */
  unused(): PoolMember | undefined {
    return this.free.find((member) => member.served === 0 && member.occupied === 0);
  }

  /** Idle ones, the least recently used first. */
  idle(): PoolMember[] {
    return this.free.filter((member) => member.occupied === 0);
  }

  /** Those that leave and have nobody waiting for them, the oldest first. */
  leaving(): PoolMember[] {
    return [...this.all].filter((member) => member.state === 'leaving' && member.running.size === 0);
  }

  /** All requests that run, on those that leave, too. */
  running(): RunningRequest[] {
    return [...this.all].flatMap((member) => [...member.running]);
  }

  [Symbol.iterator](): Iterator<PoolMember> {
    return [...this.all].values();
  }

  stats(waiting: number): PoolStats {
    const idle = this.idle().length;
    const pids = [...this.all].map(({ pid }) => pid).filter((pid) => pid > 0);
    return { starting: this.starting, idle, busy: this.ready - idle, waiting, pids };
  }

  private putIn(member: PoolMember): void {
    const last = this.mostRecent();
    if (!last || last.lastUsedAt <= member.lastUsedAt) this.free.push(member);
    else
      this.free.splice(
        this.free.findIndex((other) => other.lastUsedAt > member.lastUsedAt),
        0,
        member,
      );
  }

  private takeOut(member: PoolMember): void {
    if (this.mostRecent() === member) this.free.pop();
    else this.free.splice(this.free.indexOf(member), 1);
  }
}
