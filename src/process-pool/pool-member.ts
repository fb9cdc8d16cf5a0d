import { performance } from 'node:perf_hooks';
import type { Launcher } from './launcher.js';
import { PoolProcess, type ProcessEvent } from './pool-process.js';
import type {
  Ending,
  PoolFailureReason,
  PoolSettings,
  RequestNotes,
  TerminationReason,
  WornBy,
} from './pool.types.js';
import type { Slot } from './start-slots.js';

type MemberState =
  /** A successor starts while the worn one that it `replaces` goes on serving. */
  | { readonly name: 'starting'; readonly replaces: PoolMember | undefined }
  | {
      readonly name: 'ready';
      readonly since: number;
      /** Its own limits of requests and of age. */
      readonly mostRequests: number;
      readonly wornAt: number;
      /** The limit it reached: a successor is to take its place. */
      worn?: WornBy;
    }
  /** It takes no more requests and ends as soon as none runs on it: gently or at once. */
  | { readonly name: 'leaving'; readonly reason: TerminationReason; readonly by: 'stop' | 'kill' };

/** A process draws its limits between this share of the pool's and all of it. */
const leastShare = 0.75;
const keptStrayLines = 5;

/** One process of a pool, from start to end. Times are those of performance.now(). */
export class PoolMember {
  readonly process: PoolProcess;
  readonly begunAt = performance.now();
  /** Ids of the requests that run on it. */
  readonly running = new Set<string>();
  state: MemberState;
  /** End of its last request, or of its predecessor's; 0 when neither has served anybody. */
  lastUsedAt = 0;
  /** Requests given to it; health checks do not count. */
  served = 0;
  /** Ids of requests that nobody waits for any more, until the tool has ended them. */
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
    say: (member: PoolMember, event: ProcessEvent) => void,
  ) {
    this.state = { name: 'starting', replaces };
    this.process = new PoolProcess(settings.spec, settings, launcher, (event) => say(this, event));
  }

  /** 0 as long as it has none. */
  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isReady(): boolean {
    return this.state.name === 'ready' && this.process.usable;
  }

  get isIdle(): boolean {
    return this.isReady && this.occupied === 0;
  }

  get isFull(): boolean {
    const { keepAlive, maxConcurrency } = this.settings;
    return this.process.congested || this.occupied >= (keepAlive ? maxConcurrency : 1);
  }

  get idleSince(): number {
    return this.lastUsedAt || (this.state.name === 'ready' ? this.state.since : this.begunAt);
  }

  /** How long it has been ready. */
  get servedMs(): number {
    return this.state.name === 'ready' ? performance.now() - this.state.since : 0;
  }

  get worn(): WornBy | undefined {
    return this.state.name === 'ready' ? this.state.worn : undefined;
  }

  /**
   * It answered `initialize`.
   * @param random 0 to 1: how near its own limits come to the pool's
   * @returns the process that it replaces
   */
  ready(random: () => number): PoolMember | undefined {
    const replaced = this.state.name === 'starting' ? this.state.replaces : undefined;
    // It has been idle for as long as its predecessor: a pool that nobody uses must still become idle.
    if (replaced) this.lastUsedAt = replaced.idleSince;
    const { keepAlive, maxRequests, maxAgeMs } = this.settings;
    const own = (limit: number): number =>
      keepAlive && limit > 0 ? limit * (leastShare + (1 - leastShare) * random()) : Infinity;
    const since = performance.now();
    const [mostRequests, ageMs] = [Math.ceil(own(maxRequests)), own(maxAgeMs)];
    this.state = { name: 'ready', since, mostRequests, wornAt: since + ageMs };
    return replaced;
  }

  /** A request was given to it. */
  used(): void {
    this.served++;
    if (this.state.name === 'ready' && this.served >= this.state.mostRequests) this.state.worn ??= 'requests';
  }

  answered(): void {
    this.answers++;
    this.lastUsedAt = performance.now();
  }

  /** Whether it ended because it had answered. */
  endsAfterAnswer({ exitCode }: Ending): boolean {
    return exitCode === 0 && this.answers === 1 && performance.now() - this.lastUsedAt < 1_000;
  }

  /** Looks at its age and, where that is limited, its memory; undefined when that cannot be known. */
  inspect(residentBytes: (pid: number) => number | undefined): void {
    const { keepAlive, maxRssBytes } = this.settings;
    if (this.state.name !== 'ready' || this.state.worn) return;
    // A process that served nobody has what it needs to start: its successor would need it, too.
    const mayBeLarge = keepAlive && maxRssBytes > 0 && this.served > 0;
    if (performance.now() >= this.state.wornAt) this.state.worn = 'age';
    else if (mayBeLarge && (residentBytes(this.pid) ?? 0) > maxRssBytes) this.state.worn = 'memory';
  }

  /** `kill` outdoes an earlier `stop`; otherwise the first reason stands. */
  leave(reason: TerminationReason, by: 'stop' | 'kill'): void {
    if (this.state.name !== 'leaving' || (this.state.by === 'stop' && by === 'kill')) {
      this.state = { name: 'leaving', reason, by };
    }
    this.endIfDone();
  }

  /** A request failed on it. */
  failed(reason: PoolFailureReason): void {
    if (reason === 'output_too_large') this.leave('output', 'kill');
    else this.leave(reason === 'protocol_error' ? 'protocol' : 'crash', 'kill');
  }

  endIfDone(): void {
    const { state } = this;
    if (state.name === 'leaving' && this.running.size === 0) this.process[state.by](state.reason);
  }

  /**
   * Has the tool end a request that was given up; it holds its slot until the tool has answered.
   * @param over called once; `inTime`: the tool answered within its grace (to the request, or in MCP to a ping), the
   * process is as good as before
   */
  cancel(id: string, givenUp: TerminationReason, over: (inTime: boolean) => void): void {
    let awaited: string | undefined = id;
    const end = (inTime: boolean): void => {
      clearTimeout(timer);
      this.cancelling.delete(id);
      if (awaited !== undefined) this.process.forget(awaited);
      this.lastUsedAt = performance.now();
      over(inTime);
    };
    const timer = setTimeout(() => end(false), this.settings.cancelGraceMs);
    this.cancelling.add(id);
    const exchange = { givenUp, answered: () => end(true), failed: () => end(false) };
    awaited = this.process.cancel(id, exchange);
    if (awaited === undefined) end(false);
  }

  stray(line: string, lines: number): void {
    this.strayLines += lines;
    this.lastStrayLines.push(line);
    if (this.lastStrayLines.length > keptStrayLines) this.lastStrayLines.shift();
  }

  /** The notes on a request that fails on this process; with `ending`, on how the process ended, too. */
  evidence(ending?: Ending): RequestNotes {
    return {
      stderrTail: ending?.stderrTail ?? this.process.stderrTail(),
      ...(ending && { exitCode: ending.exitCode, signal: ending.signal }),
      ...(this.strayLines > 0 && { strayLines: { count: this.strayLines, last: [...this.lastStrayLines] } }),
    };
  }

  /** Requests that hold a slot on it. */
  private get occupied(): number {
    return this.running.size + this.cancelling.size;
  }
}

/** The processes of one pool, from the oldest to the newest, and how many are in which state. */
export class MemberList extends Set<PoolMember> {
  get starting(): number {
    return this.count(({ state }) => state.name === 'starting');
  }

  get ready(): number {
    return this.count(({ isReady }) => isReady);
  }

  /** Ready, but taking no request now. */
  get full(): number {
    return this.count((member) => member.isReady && member.isFull);
  }

  /** All but those that are about to end. */
  get live(): number {
    return this.count((member) => member.state.name === 'starting' || member.isReady);
  }

  get pids(): number[] {
    return [...this].map(({ pid }) => pid).filter((pid) => pid > 0);
  }

  /** Those that serve nobody, the longest idle first. */
  idle(): PoolMember[] {
    return [...this].filter(({ isIdle }) => isIdle).sort((a, b) => a.idleSince - b.idleSince);
  }

  /** The most recently used one that takes a request. @param fresh it has served nobody */
  pick(fresh: boolean): PoolMember | undefined {
    let best: PoolMember | undefined;
    for (const member of this) {
      const fits = member.isReady && !member.isFull && (!fresh || (member.isIdle && member.served === 0));
      if (fits && (!best || member.lastUsedAt >= best.lastUsedAt)) best = member;
    }
    return best;
  }

  /** One that has reached a limit and has no successor; none while the successor of another one starts. */
  nextWorn(): PoolMember | undefined {
    const isChanging = [...this].some(
      ({ state }) => state.name === 'starting' && state.replaces?.isReady === true,
    );
    return isChanging ? undefined : [...this].find((member) => member.isReady && member.worn);
  }

  /** Those that were told to end by themselves and have nothing more to do. */
  stopping(): PoolMember[] {
    return [...this].filter(
      ({ state, running }) => state.name === 'leaving' && state.by === 'stop' && running.size === 0,
    );
  }

  private count(is: (member: PoolMember) => boolean): number {
    let count = 0;
    for (const member of this) if (is(member)) count++;
    return count;
  }
}
