import { PoolFailure } from './pool.types.js';

/** A user of start slots, such as a pool. */
export interface SlotUser {
  /** Time by performance.now() since which its longest idle process is idle; Infinity if none is. */
  readonly idleSince: number;
  /** Ends its longest idle process. */
  yieldIdle(): void;
  /** Called when a slot may be free, after this user was refused one. */
  advance(): void;
}

/** Permission for one process, held from before its start until its end. */
export interface Slot {
  /** Call when the process has started or failed to, so that another one may start. Later calls have no effect. */
  readonly started: () => void;
  /** Call when the process has ended. Later calls have no effect. */
  readonly release: () => void;
}

/** A user that waits for a slot. */
interface Waiter {
  readonly user: SlotUser;
  /** Whether a request waits for the process; otherwise it is started in advance. */
  urgent: boolean;
}

/** Reasons why no slot is free. */
const reasons = {
  processes: 'the server runs as many processes as it may (CUSTOM_TOOLS_MAX_PROCESSES)',
  starts: 'as many processes as may start at a time were starting',
};

/** Time after which a start no longer counts as starting: slow starts mostly wait and use little CPU time. */
const maxStartMs = 1_000;
/** Minimum time that a busy process serves before it makes room for a user without a process. */
const minServedMs = 1_000;

/**
 * Limits the processes of all pools and their concurrent starts, because a starting interpreter takes tens of
 * milliseconds of CPU time that warm calls need. Pools wait in order of arrival, those with a waiting request first.
 * Idle processes are ended to make room for requests of other pools.
 */
export class StartSlots {
  private readonly waiters: Waiter[] = [];
  /** The user of each running process. */
  private readonly held: SlotUser[] = [];
  /** Number of processes that are starting. */
  starting = 0;
  /** Processes that are ending to make room for a request. */
  private promised = 0;

  constructor(
    private readonly maxProcesses = Infinity,
    private readonly maxStarts = Infinity,
  ) {}

  /** Number of running processes. */
  get inUse(): number {
    return this.held.length;
  }

  /** Number of users that wait. */
  get waiting(): number {
    return this.waiters.length;
  }

  /**
   * Takes a slot for a process.
   * @param urgent whether a request waits, so that the longest idle process of any user makes room
   * @returns undefined if no slot is free; `user` is notified when it should try again
   */
  take(user: SlotUser, urgent: boolean): Slot | undefined {
    if (this.reachedLimit()) {
      this.wait(user, urgent);
      return undefined;
    }
    this.withdraw(user);
    this.held.push(user);
    this.starting++;
    let isStarting = true;
    const started = (): void => {
      if (!isStarting) return;
      isStarting = false;
      clearTimeout(timer);
      this.starting--;
      this.admit();
    };
    const timer = setTimeout(started, maxStartMs).unref();
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.held.splice(this.held.indexOf(user), 1);
      this.promised = Math.max(0, this.promised - 1);
      started();
      this.admit();
    };
    return { started, release };
  }

  /** Removes `user` from the queue. */
  withdraw(user: SlotUser): void {
    const at = this.waiters.findIndex((waiter) => waiter.user === user);
    if (at >= 0) this.waiters.splice(at, 1);
  }

  /** Why `user` waits, including the setting that limits it; undefined if it does not wait. */
  whyRefused(user: SlotUser): string | undefined {
    const limit = this.waiters.some((waiter) => waiter.user === user) ? this.reachedLimit() : undefined;
    return limit && reasons[limit];
  }

  /**
   * Claims the slot of a process for a waiting request. An idle process must end at once; a busy one after its minimum
   * time, if the waiting user has no process: pools that are never idle would starve it otherwise.
   * @param busy the process, unless it is idle
   * @returns whether the process must end
   */
  claim(busy?: { readonly servedMs: number }): boolean {
    if (this.held.length < this.maxProcesses) return false;
    const hasClaim = ({ user, urgent }: Waiter): boolean =>
      urgent && (!busy || (busy.servedMs >= minServedMs && !this.held.includes(user)));
    if (this.waiters.filter(hasClaim).length <= this.promised) return false;
    this.promised++;
    return true;
  }

  /** Runs `work`, which starts and ends one process outside of any pool. @throws PoolFailure `timeout`, naming the limit */
  async run<T>(waitMs: number, work: () => Promise<T>): Promise<T> {
    const turn = Promise.withResolvers<Slot>();
    const user: SlotUser = {
      idleSince: Infinity,
      yieldIdle: () => undefined,
      advance: () => {
        const isUrgent = true;
        const slot = this.take(user, isUrgent);
        if (slot) turn.resolve(slot);
      },
    };
    const timer = setTimeout(() => {
      const why = this.whyRefused(user) ?? 'it was not its turn';
      this.withdraw(user);
      turn.reject(new PoolFailure('timeout', `No process could be started within ${waitMs} ms: ${why}`));
    }, waitMs);
    user.advance();
    const slot = await turn.promise.finally(() => clearTimeout(timer));
    return work().finally(slot.release);
  }

  /** The limit that is reached; undefined if a slot is free. */
  private reachedLimit(): keyof typeof reasons | undefined {
    if (this.held.length >= this.maxProcesses) return 'processes';
    return this.starting >= this.maxStarts ? 'starts' : undefined;
  }

  /** Puts `user` into the queue. */
  private wait(user: SlotUser, urgent: boolean): void {
    const waiter = this.waiters.find((each) => each.user === user);
    if (waiter) waiter.urgent = urgent;
    else this.waiters.push({ user, urgent });
    if (urgent) this.endLongestIdle();
  }

  /** Ends the longest idle process of all users, if a waiting request may have its slot. */
  private endLongestIdle(): void {
    let longest: SlotUser | undefined;
    for (const user of this.held) {
      if (user.idleSince < (longest?.idleSince ?? Infinity)) longest = user;
    }
    if (longest && this.claim()) longest.yieldIdle();
  }

  /** Lets waiting users take the free slots. */
  private admit(): void {
    while (!this.reachedLimit()) {
      const next = this.waiters.find(({ urgent }) => urgent) ?? this.waiters[0];
      if (!next) return;
      this.withdraw(next.user);
      next.user.advance();
    }
  }
}
