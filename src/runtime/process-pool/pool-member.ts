import { performance } from 'node:perf_hooks';
import type { Launcher } from './launcher.js';
import { PoolProcess, type ProcessEvent } from './pool-process.js';
import type {
  Ending,
  ExpiryReason,
  PoolFailureReason,
  PoolSettings,
  RequestNotes,
  TerminationReason,
} from './pool.types.js';
import type { Slot } from './start-slots.js';

type MemberState =
  /** Starting; the expired process that it `replaces`, if any, keeps serving meanwhile. */
  | { readonly name: 'starting'; readonly replaces: PoolMember | undefined }
  | {
      readonly name: 'ready';
      readonly since: number;
      /** Its own limits of requests and age. */
      readonly maxRequests: number;
      readonly expiresAt: number;
      /** The limit that it reached, so that it must be replaced. */
      expired?: ExpiryReason;
    }
  /** Takes no more requests and ends after the running ones, by `stop` or `kill`. */
  | { readonly name: 'leaving'; readonly reason: TerminationReason; readonly by: 'stop' | 'kill' };

/** A process draws its limits between this share and the whole of the pool's limits. */
const minShare = 0.75;
/** Max unparsed lines to keep for the metadata of a failed call. */
const maxStrayLines = 5;

/** A process that exits within this time after its first answer handles only one request. */
const maxEndAfterAnswerMs = 1_000;

/** One process of a pool, from start to end. Times are those of performance.now(). */
export class PoolMember {
  readonly process: PoolProcess;
  readonly begunAt = performance.now();
  /** Requests that run on it or are about to. */
  readonly running = new Set<object>();
  state: MemberState;
  /** End of its last request or of its predecessor's; 0 if there was none. */
  lastUsedAt = 0;
  /** Number of requests assigned to it, without health checks. */
  served = 0;
  /** Ids of abandoned requests that the tool has not ended yet. */
  private readonly cancelling = new Set<string>();
  /** Calls that it answered. */
  answers = 0;
  private strayLines = 0;
  private readonly lastStrayLines: string[] = [];

  constructor(
    private readonly settings: PoolSettings,
    launcher: Launcher,
    readonly slot: Slot,
    replaces: PoolMember | undefined,
    emit: (member: PoolMember, event: ProcessEvent) => void,
  ) {
    this.state = { name: 'starting', replaces };
    this.process = new PoolProcess(settings.spec, settings, launcher, (event) => emit(this, event));
  }

  /** 0 until the process has a pid. */
  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isReady(): boolean {
    return this.state.name === 'ready' && this.process.usable;
  }

  get isIdle(): boolean {
    return this.isReady && this.occupied === 0;
  }

  /** Whether it can take no further request now. */
  get isFull(): boolean {
    const { keepAlive, maxConcurrency } = this.settings;
    return this.process.congested || this.occupied >= (keepAlive ? maxConcurrency : 1);
  }

  /** End of its last request, else the time of its start. */
  get idleSince(): number {
    return this.lastUsedAt || (this.state.name === 'ready' ? this.state.since : this.begunAt);
  }

  /** Milliseconds for which it has been ready. */
  get servedMs(): number {
    return this.state.name === 'ready' ? performance.now() - this.state.since : 0;
  }

  /** The limit that it reached, so that it must be replaced. */
  get expired(): ExpiryReason | undefined {
    return this.state.name === 'ready' ? this.state.expired : undefined;
  }

  /** Marks the process as ready. @param random 0 to 1, scales its own limits @returns the process that it replaces */
  markReady(random: () => number): PoolMember | undefined {
    const replaced = this.state.name === 'starting' ? this.state.replaces : undefined;
    // Inherits the idle time of its predecessor, so that replacements do not keep an unused pool alive.
    if (replaced) this.lastUsedAt = replaced.idleSince;
    const { keepAlive, maxRequests, maxAgeMs } = this.settings;
    const scaled = (limit: number): number =>
      keepAlive && limit > 0 ? limit * (minShare + (1 - minShare) * random()) : Infinity;
    const since = performance.now();
    const expiresAt = since + scaled(maxAgeMs);
    this.state = { name: 'ready', since, maxRequests: Math.ceil(scaled(maxRequests)), expiresAt };
    return replaced;
  }

  /** Counts an assigned request. */
  countRequest(): void {
    this.served++;
    if (this.state.name === 'ready' && this.served >= this.state.maxRequests)
      this.state.expired ??= 'requests';
  }

  /** Counts an answered call. */
  countAnswer(): void {
    this.answers++;
    this.lastUsedAt = performance.now();
  }

  /** Whether it exited right after its first answer, like a tool that handles only one request. */
  endsAfterAnswer({ exitCode }: Ending): boolean {
    return exitCode === 0 && this.answers === 1 && performance.now() - this.lastUsedAt < maxEndAfterAnswerMs;
  }

  /** Checks its age and, if limited, its memory. @param residentBytes returns undefined if unknown */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    const { keepAlive, maxRssBytes } = this.settings;
    if (this.state.name !== 'ready' || this.state.expired) return;
    // An unused process has only the memory of a start, which its successor would need, too.
    const mayBeLarge = keepAlive && maxRssBytes > 0 && this.served > 0;
    if (performance.now() >= this.state.expiresAt) this.state.expired = 'age';
    else if (mayBeLarge && (residentBytes(this.pid) ?? 0) > maxRssBytes) this.state.expired = 'memory';
  }

  /** Ends the process when no request runs on it. `kill` overrides an earlier `stop`; otherwise the first reason is kept. */
  leave(reason: TerminationReason, by: 'stop' | 'kill'): void {
    if (this.state.name !== 'leaving' || (this.state.by === 'stop' && by === 'kill')) {
      this.state = { name: 'leaving', reason, by };
    }
    this.endIfDone();
  }

  /** Ends the process after a failed request. */
  endAfterFailure(reason: PoolFailureReason): void {
    if (reason === 'output_too_large') this.leave('output', 'kill');
    else this.leave(reason === 'protocol_error' ? 'protocol' : 'crash', 'kill');
  }

  /** Ends a leaving process once no request runs on it. */
  endIfDone(): void {
    const { state } = this;
    if (state.name === 'leaving' && this.running.size === 0) this.process[state.by](state.reason);
  }

  /**
   * Cancels an abandoned request, which holds its slot until the tool has answered.
   * @param done called once; `inTime`: the tool answered within the grace period (to the request, or in MCP to a ping),
   * so that the process can be reused
   */
  cancel(id: string, givenUp: TerminationReason, done: (inTime: boolean) => void): void {
    /** Id of the answer that shows that the tool has ended the call. */
    let awaited: string | undefined = id;
    const finish = (inTime: boolean): void => {
      clearTimeout(timer);
      this.cancelling.delete(id);
      if (awaited !== undefined) this.process.forget(awaited);
      this.lastUsedAt = performance.now();
      done(inTime);
    };
    const timer = setTimeout(() => finish(false), this.settings.cancelGraceMs);
    this.cancelling.add(id);
    const exchange = { givenUp, answered: () => finish(true), failed: () => finish(false) };
    awaited = this.process.cancel(id, exchange);
    if (awaited === undefined) finish(false);
  }

  /** Notes unparsed output. @param lines their number, of which `line` is the last */
  noteUnparsed(line: string, lines: number): void {
    this.strayLines += lines;
    this.lastStrayLines.push(line);
    if (this.lastStrayLines.length > maxStrayLines) this.lastStrayLines.shift();
  }

  /** Notes for a request that failed on this process; with `ending`, also how the process ended. */
  evidence(ending?: Ending): RequestNotes {
    return {
      stderrTail: ending?.stderrTail ?? this.process.stderrTail(),
      ...(ending && { exitCode: ending.exitCode, signal: ending.signal }),
      ...(this.strayLines > 0 && { strayLines: { count: this.strayLines, last: [...this.lastStrayLines] } }),
    };
  }

  /** Number of requests that hold a slot. */
  private get occupied(): number {
    return this.running.size + this.cancelling.size;
  }
}

/** The processes of one pool, oldest first, with counts by state. */
export class MemberList extends Set<PoolMember> {
  get starting(): number {
    return this.count(({ state }) => state.name === 'starting');
  }

  get ready(): number {
    return this.count(({ isReady }) => isReady);
  }

  /** Number of ready processes without a free slot. */
  get full(): number {
    return this.count((member) => member.isReady && member.isFull);
  }

  /** Number of processes that are not ending. */
  get live(): number {
    return this.count((member) => member.state.name === 'starting' || member.isReady);
  }

  get pids(): number[] {
    return [...this].map(({ pid }) => pid).filter((pid) => pid > 0);
  }

  /** Idle processes, longest idle first. */
  idle(): PoolMember[] {
    return [...this].filter(({ isIdle }) => isIdle).sort((a, b) => a.idleSince - b.idleSince);
  }

  /** The most recently used process with a free slot. @param fresh only a process that has served no request */
  pick(fresh: boolean): PoolMember | undefined {
    let best: PoolMember | undefined;
    for (const member of this) {
      const fits = member.isReady && !member.isFull && (!fresh || (member.isIdle && member.served === 0));
      if (fits && (!best || member.lastUsedAt >= best.lastUsedAt)) best = member;
    }
    return best;
  }

  /** An expired process without a successor; undefined while the successor of another one starts. */
  nextExpired(): PoolMember | undefined {
    const isChanging = [...this].some(
      ({ state }) => state.name === 'starting' && state.replaces?.isReady === true,
    );
    return isChanging ? undefined : [...this].find((member) => member.isReady && member.expired);
  }

  /** Stopped processes without running requests. */
  stopping(): PoolMember[] {
    return [...this].filter(
      ({ state, running }) => state.name === 'leaving' && state.by === 'stop' && running.size === 0,
    );
  }

  private count(matches: (member: PoolMember) => boolean): number {
    let count = 0;
    for (const member of this) if (matches(member)) count++;
    return count;
  }
}
