import { PoolMember } from './pool-members.js';
import type { PoolFailure } from './pool.types.js';
import { refusals } from './failure-messages.js';
import { RestartPolicy } from './restart-policy.js';
import { ToolProcess } from './tool-process.js';
import type { Ending, Launcher, ProcessObserver } from './tool-process.types.js';
import type { BudgetUser } from './process-budget.js';
import type { PoolParts } from './pool-parts.js';

/** What growth asks of its pool. */
export interface GrowthHost {
  advance(): void;
  /** A process became ready, or something about a ready one changed. */
  place(member: PoolMember): void;
  /** Nothing can be started: nobody should wait any longer. */
  giveUpWaiting(message: string): void;
  yieldIdle(): boolean;
}

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
  private readonly user: BudgetUser;
  private readonly mostLive: number;
  private readonly warmers: Warmer[] = [];
  private warmed = false;
  /** keepAlive: false only: the tool is in use, so a spare process is worth its memory. */
  private primed = false;
  private stopping = false;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: PoolParts,
    private readonly host: GrowthHost,
    private readonly launcher: Launcher | undefined,
  ) {
    const { settings, budget } = parts;
    this.policy = new RestartPolicy(settings.maxFailedStarts);
    this.mostLive = settings.keepAlive ? settings.poolSize : settings.poolSize + 1;
    this.user = { freed: () => host.advance(), yieldIdle: () => host.yieldIdle() };
    budget.join(this.user);
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
    this.parts.budget.leave(this.user);
  }

  used(member: PoolMember): void {
    member.served++;
    this.primed = true;
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
    if (this.policy.failedStarts > 0) return `its last start failed (${this.policy.error})`;
    if (this.parts.members.ready === 0 && this.parts.members.starting > 0) return 'it was still starting';
    if (this.parts.members.live < this.parts.settings.poolSize)
      return 'the server runs as many processes as it may';
    return `all ${this.parts.settings.poolSize} were busy`;
  }

  grow(): void {
    if (this.isWanted() || this.isWantedAhead()) {
      // One time for both: a pause that ends between them must not be overlooked.
      const now = performance.now();
      this.startWanted(now);
      this.retryLater(now);
    }
    this.settleWarmers();
  }

  private startWanted(now: number): void {
    const { members } = this.parts;
    while (this.isWanted() && this.policy.mayStart(now, members.starting) && this.start(true));
    while (this.isWantedAhead() && this.policy.mayStartAhead(now, members.starting) && this.start(false));
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

  private start(urgent: boolean): boolean {
    if (!this.parts.budget.tryTake(this.user, urgent)) return false;
    const { spec, name } = this.parts.settings;
    this.parts.events.emit({ type: 'starting', pool: name });
    this.parts.members.add(
      new PoolMember(
        (member) => new ToolProcess(spec, this.parts.settings, this.observe(member), this.launcher),
      ),
    );
    return true;
  }

  /** Back-off held a start back: look again when it is over. */
  private retryLater(now: number): void {
    const delay = this.policy.delayMs(now);
    if (delay === 0 || this.retryTimer || !(this.isWanted() || this.isWantedAhead())) return;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.host.advance();
    }, delay);
    this.retryTimer.unref();
  }

  private settleWarmers(): void {
    if (this.warmers.length === 0 || this.parts.members.starting > 0) return;
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
        this.parts.events.emit({
          type: 'noise',
          pool: this.parts.settings.name,
          pid: member.process.pid ?? 0,
          line,
        });
      },
      stderr: (chunk) => {
        const pool = this.parts.settings.name;
        this.parts.events.emit({ type: 'stderr', pool, pid: member.process.pid ?? 0, chunk });
      },
      drained: () => this.changed(member),
      // What takes its place is decided when it has ended and it is known how.
      broken: () => this.host.place(member),
      ended: (ending) => this.ended(member, ending),
    };
  }

  private changed(member: PoolMember): void {
    this.host.place(member);
    this.host.advance();
  }

  private ready(member: PoolMember): void {
    const pool = this.parts.settings.name;
    member.readyAt = performance.now();
    const recovered = this.policy.failed;
    this.policy.started();
    this.parts.events.emit({ type: 'spawn', pool, pid: member.process.pid ?? 0, durationMs: member.startMs });
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
    this.parts.events.emit({ type: 'start_failed', pool, error, failures });
    if (counted && failures === this.parts.settings.maxFailedStarts)
      this.parts.events.emit({ type: 'failed', pool, error });
    if (this.policy.failed && this.parts.members.ready === 0) {
      this.host.giveUpWaiting(refusals.cannotStart(pool, error).message);
    }
    this.host.advance();
  }

  private ended(member: PoolMember, ending: Ending): void {
    const now = performance.now();
    const ofItself = ending.reason === 'exit' || ending.reason === 'crash';
    if (ofItself && member.served === 0) this.policy.diedUnused(now, now - member.readyAt);
    this.parts.members.remove(member);
    const { pid } = member.process;
    if (pid !== undefined)
      this.parts.events.emit({ type: 'terminate', pool: this.parts.settings.name, pid, ...ending });
    this.parts.budget.give();
    this.host.advance();
  }
}
