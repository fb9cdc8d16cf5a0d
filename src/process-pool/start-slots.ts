import { PoolFailure, type Release } from './pool.types.js';

/** A pool that starts processes, as the slots see it. */
export interface SlotUser {
  /** Since when its longest idle process has been idle (performance.now()); Infinity: none is. */
  readonly idleSince: number;
  /** Ends that process. */
  yieldIdle(): void;
  /** There may be a slot now: said to a user that was refused one. */
  advance(): void;
}

/** Leave for one process, from before its start until it has ended. */
export interface Slot {
  /** It has started, or failed to: another one may start. */
  readonly started: Release;
  /** It has ended. */
  readonly release: Release;
}

interface Waiter {
  readonly user: SlotUser;
  /** A request waits for the process; otherwise it is started ahead. */
  urgent: boolean;
}

const reasons = {
  processes: 'the server runs as many processes as it may (CUSTOM_TOOLS_MAX_PROCESSES)',
  starts: 'as many processes as may start at a time were starting',
};

/** A start that takes longer mostly waits: it costs hardly any processor time that others need. */
const longestStartMs = 1_000;
/** A busy process serves this long before it makes room for a user that has none. */
const turnMs = 1_000;

/**
 * Bounds the processes of all pools: how many there are, and how many start at the same time (an interpreter that
 * starts costs tens of milliseconds of processor time that warm calls need). A pool that is refused waits: requests
 * before starts ahead, each in the order of arrival. Idle processes make room for requests of other pools.
 */
export class StartSlots {
  private readonly waiters: Waiter[] = [];
  /** The user of each process that lives. */
  private readonly held: SlotUser[] = [];
  private starts = 0;
  /** Processes that are about to end in favour of a request. */
  private promised = 0;

  constructor(
    private readonly maxProcesses = Infinity,
    private readonly maxStarts = Infinity,
  ) {}

  /** Processes that live. */
  get inUse(): number {
    return this.held.length;
  }

  get starting(): number {
    return this.starts;
  }

  get waiting(): number {
    return this.waiters.length;
  }

  /**
   * @param urgent a request waits: the longest idle process makes room, whosever it is
   * @returns undefined when there is none: `user` waits, and is told to try again
   */
  take(user: SlotUser, urgent: boolean): Slot | undefined {
    if (this.lack()) {
      this.wait(user, urgent);
      return undefined;
    }
    this.withdraw(user);
    return this.slotFor(user);
  }

  /** `user` wants to start nothing any more. */
  withdraw(user: SlotUser): void {
    const at = this.waiters.findIndex((waiter) => waiter.user === user);
    if (at >= 0) this.waiters.splice(at, 1);
  }

  /** The reason why `user` waits, if it does, with the setting that bounds it. */
  whyRefused(user: SlotUser): string | undefined {
    const lack = this.waiters.some((waiter) => waiter.user === user) ? this.lack() : undefined;
    return lack && reasons[lack];
  }

  /**
   * Whether a process has to end because a request waits for its slot. An idle one has to at once; one with more to do
   * only after its turn, and for a user that has no process: else whatever is never idle would starve it.
   */
  claims(idle: boolean, servedMs = 0): boolean {
    if (this.held.length < this.maxProcesses) return false;
    const isServed = ({ user, urgent }: Waiter): boolean =>
      urgent && (idle || (servedMs >= turnMs && !this.held.includes(user)));
    if (this.waiters.filter(isServed).length <= this.promised) return false;
    this.promised++;
    return true;
  }

  /**
   * Runs `work`, which starts one process that belongs to no pool and ends with it. It waits for its slot as a request
   * does.
   * @throws PoolFailure `timeout`, with the limit that was in the way, when there was none within `waitMs`
   */
  async run<T>(waitMs: number, work: () => Promise<T>): Promise<T> {
    const turn = Promise.withResolvers<Slot>();
    const user: SlotUser = {
      idleSince: Infinity,
      yieldIdle: () => undefined,
      advance: () => {
        const slot = this.take(user, true);
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

  private lack(): keyof typeof reasons | undefined {
    if (this.held.length >= this.maxProcesses) return 'processes';
    return this.starts >= this.maxStarts ? 'starts' : undefined;
  }

  private wait(user: SlotUser, urgent: boolean): void {
    let waiter = this.waiters.find((each) => each.user === user);
    if (!waiter) this.waiters.push((waiter = { user, urgent }));
    waiter.urgent = urgent;
    if (urgent) this.askForIdle();
  }

  private askForIdle(): void {
    let longest: SlotUser | undefined;
    for (const user of this.held) {
      if (user.idleSince < (longest?.idleSince ?? Infinity)) longest = user;
    }
    if (longest && this.claims(true)) longest.yieldIdle();
  }

  private slotFor(user: SlotUser): Slot {
    this.held.push(user);
    this.starts++;
    const started = once(() => {
      clearTimeout(timer);
      this.starts--;
      this.admit();
    });
    const timer = setTimeout(started, longestStartMs).unref();
    const release = once(() => {
      this.held.splice(this.held.indexOf(user), 1);
      this.promised = Math.max(0, this.promised - 1);
      started();
      this.admit();
    });
    return { started, release };
  }

  private admit(): void {
    while (!this.lack()) {
      const next = this.waiters.find(({ urgent }) => urgent) ?? this.waiters[0];
      if (!next) return;
      this.withdraw(next.user);
      next.user.advance();
    }
  }
}

function once(act: () => void): Release {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}
