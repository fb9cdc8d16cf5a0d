import { PoolMember } from './pool-members.js';
import type { PoolShrink } from './pool-shrink.js';
import type { PoolFailure } from './pool.types.js';
import { cannotStart, refusals } from './failure-messages.js';
import { RestartPolicy } from './restart-policy.js';
import { ToolProcess } from './tool-process.js';
import type { Ending, Launcher, ProcessObserver } from './tool-process.types.js';
import type { PoolOptions, PoolParts } from './pool-parts.js';
import { PoolRenewal, type Worn } from './pool-renewal.js';
import { StartPermits } from './start-permits.js';

/** What growth asks of its pool. */
export interface GrowthHost {
  advance(): void;
  /** Nothing can be started: nobody should wait any longer. */
  giveUpWaiting(message: string): void;
}

type GrowthOptions = Pick<PoolOptions, 'launcher' | 'random' | 'longestBackOffMs'>;

interface Warmer {
  readonly resolve: () => void;
  readonly reject: (error: PoolFailure) => void;
}

/**
 * Decides when a pool starts a process, and follows each from start to end: for requests that wait, for the minimum
 * or the spare to keep, and for the trial after failed starts.
 */
export class PoolGrowth {
  private readonly policy: RestartPolicy;
  private readonly permits: StartPermits;
  private readonly renewal: PoolRenewal;
  private readonly launcher: Launcher | undefined;
  private readonly mostLive: number;
  private readonly warmers: Warmer[] = [];
  private warmed = false;
  /** keepAlive: false only: the tool is in use, so a spare process is worth its memory. */
  private primed = false;
  private stopping = false;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: PoolParts,
    private readonly shrink: PoolShrink,
    private readonly host: GrowthHost,
    { launcher, random = Math.random, longestBackOffMs }: GrowthOptions,
  ) {
    const { settings } = parts;
    this.launcher = launcher;
    this.renewal = new PoolRenewal(settings, random, (member, by) => shrink.dismiss(member, by));
    this.policy = new RestartPolicy(settings.maxFailedStarts, longestBackOffMs);
    this.mostLive = settings.keepAlive ? settings.poolSize : settings.poolSize + 1;
    this.permits = new StartPermits(parts);
  }

  /** Processes that do not end by being idle. */
  get minimum(): number {
    return this.parts.settings.keepAlive && this.warmed
      ? Math.min(this.parts.settings.minProcesses, this.parts.settings.poolSize)
      : 0;
  }

  warm(): Promise<void> {
    this.warmed = true;
    return new Promise((resolve, reject) => {
      this.warmers.push({ resolve, reject });
      this.host.advance();
    });
  }

  /** Nothing is started ahead any more. */
  stop(): void {
    this.stopping = true;
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
  }

  leave(): void {
    this.permits.leave();
  }

  used(member: PoolMember): void {
    this.renewal.used(member);
    this.primed = true;
  }

  /** Has processes replaced that are too old or, as far as `residentBytes` knows by their pid, too large. */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    const now = performance.now();
    for (const member of this.parts.members) {
      this.renewal.inspect(member, now, () => residentBytes(member.pid));
    }
    this.host.advance();
  }

  /** Nobody used a process for the idle time. */
  unused(): void {
    this.primed = false;
  }

  /** A process did what it is for. */
  answered(): void {
    this.policy.answered();
  }

  /** @returns why no request should wait for a process now, if so */
  whyHopeless(): string | undefined {
    const hopeless =
      this.policy.failed &&
      this.parts.members.live === 0 &&
      !this.policy.mayStart(performance.now(), this.parts.members.starting);
    return hopeless ? this.policy.error : undefined;
  }

  /** The probable cause of a long wait. */
  whyWaiting(): string {
    const { members, settings } = this.parts;
    if (this.policy.failedStarts > 0) return `its last start failed (${this.policy.error})`;
    if (members.ready === 0 && members.starting > 0) return 'it was still starting';
    return this.permits.whyRefused ?? `all ${settings.poolSize} were busy`;
  }

  grow(): void {
    if (this.wantsAny()) {
      // One time for all: a pause that ends between them must not be overlooked.
      const now = performance.now();
      this.startWanted(now);
      this.retryLater(now);
    } else this.permits.withdraw();
    if (this.warmers.length > 0) this.settleWarmers();
  }

  private startWanted(now: number): void {
    const { members } = this.parts;
    while (this.isWanted() && this.policy.mayStart(now, members.starting) && this.start(true));
    const mayStartAhead = (): boolean => this.policy.mayStartAhead(now, members.starting);
    while (this.isWantedAhead() && mayStartAhead() && this.start(false));
    const worn = this.worn();
    // A process that grows and grows is as urgent as a request.
    const successor = worn && mayStartAhead() ? this.start(worn.by === 'memory') : undefined;
    if (worn && successor) this.renewal.begin(worn, successor);
  }

  private wantsAny(): boolean {
    return this.isWanted() || this.isWantedAhead() || this.worn() !== undefined;
  }

  private worn(): Worn | undefined {
    return this.stopping ? undefined : this.renewal.next();
  }

  private isWanted(): boolean {
    const { anySize, freshSize } = this.parts.queue;
    if (anySize + freshSize === 0) return false;
    const processes = freshSize + Math.ceil(anySize / this.parts.concurrency);
    return processes > this.parts.members.starting && this.parts.members.live < this.mostLive;
  }

  private isWantedAhead(): boolean {
    if (this.stopping) return false;
    if (this.policy.failed && this.parts.members.live === 0) return true;
    if (this.parts.settings.keepAlive) return this.parts.members.live < this.minimum;
    return (
      this.primed &&
      this.parts.members.live === this.parts.members.full &&
      this.parts.members.live < this.mostLive
    );
  }

  private start(urgent: boolean): PoolMember | undefined {
    const started = this.permits.tryTake(urgent);
    if (!started) return undefined;
    const { settings, members, events } = this.parts;
    events.emit({ type: 'starting', pool: settings.name });
    const run = (member: PoolMember): ToolProcess =>
      new ToolProcess(settings.spec, settings, this.observe(member), this.launcher);
    const member = new PoolMember(run, started);
    members.add(member);
    return member;
  }

  /** Back-off held a start back: look again when it is over. */
  private retryLater(now: number): void {
    const delay = this.policy.delayMs(now);
    if (delay === 0 || this.retryTimer || !this.wantsAny()) return;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.host.advance();
    }, delay);
    this.retryTimer.unref();
  }

  private settleWarmers(): void {
    if (this.parts.members.starting > 0 || this.permits.refusedBy === 'gate') return;
    if (this.policy.failed && !this.stopping) {
      const failure = refusals.cannotStart(this.parts.settings.name, this.policy.error);
      for (const { reject } of this.warmers.splice(0)) reject(failure);
    } else if (this.policy.failedStarts === 0 || this.stopping) {
      for (const { resolve } of this.warmers.splice(0)) resolve();
    }
  }

  private observe(member: PoolMember): ProcessObserver {
    return {
      ready: () => this.ready(member),
      startFailed: (error) => this.startFailed(member, error),
      noise: (line) => {
        member.stray.add(line);
        this.parts.events.emit({
          type: 'noise',
          pool: this.parts.settings.name,
          pid: member.pid,
          line,
        });
      },
      log: (notice, executionId) => {
        const { pid } = member;
        this.parts.events.emit({ type: 'log', pool: this.parts.settings.name, pid, notice, executionId });
      },
      stderr: (chunk) => {
        const pool = this.parts.settings.name;
        this.parts.events.emit({ type: 'stderr', pool, pid: member.pid, chunk });
      },
      drained: () => this.changed(member),
      // What takes its place is decided when it has ended and it is known how.
      broken: () => this.shrink.place(member),
      ended: (ending) => this.ended(member, ending),
    };
  }

  private changed(member: PoolMember): void {
    this.shrink.place(member);
    this.host.advance();
  }

  private ready(member: PoolMember): void {
    const pool = this.parts.settings.name;
    member.readyAt = performance.now();
    member.started();
    this.renewal.ready(member);
    const recovered = this.policy.failed;
    this.policy.started();
    this.parts.events.emit({ type: 'spawn', pool, pid: member.pid, durationMs: member.startMs });
    if (recovered) this.parts.events.emit({ type: 'recovered', pool });
    this.changed(member);
  }

  private startFailed(member: PoolMember, why: string): void {
    const stderr = member.process.stderrTail();
    const error = stderr === '' ? why : `${why}; its stderr ends with: ${stderr}`;
    const pool = this.parts.settings.name;
    const counted = this.policy.startFailed(performance.now(), member.begunAt, error);
    const failures = this.policy.failedStarts;
    this.parts.members.move(member, 'leaving');
    member.started();
    this.parts.events.emit({ type: 'start_failed', pool, error, failures });
    if (counted && failures === this.parts.settings.maxFailedStarts)
      this.parts.events.emit({ type: 'failed', pool, error });
    if (this.policy.failed && this.parts.members.ready === 0) {
      this.host.giveUpWaiting(cannotStart(pool, error));
    }
    this.host.advance();
  }

  private ended(member: PoolMember, ending: Ending): void {
    const now = performance.now();
    const ofItself = ending.reason === 'exit' || ending.reason === 'crash';
    if (ofItself && member.served === 0) this.policy.diedUnused(now, now - member.readyAt);
    this.parts.members.remove(member);
    this.renewal.ended(member);
    member.started();
    const { pid } = member.process;
    if (pid !== undefined)
      this.parts.events.emit({ type: 'terminate', pool: this.parts.settings.name, pid, ...ending });
    this.permits.give();
    this.host.advance();
  }
}
