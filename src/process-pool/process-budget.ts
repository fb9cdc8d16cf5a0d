/** A pool as the limit sees it. */
export interface BudgetUser {
  /** There is room for a process now; said once for every refused `hasRoom`. */
  freed(): void;
  /** Stops one idle process in favour of another pool. @returns false when none is idle */
  yieldIdle(): boolean;
}

/** A busy process of a full server serves this long before it makes room for a pool that has none. */
const turnMs = 1_000;

/**
 * The cap over the processes of all pools together. Whoever wants more than there is waits: pools with a waiting
 * request before work ahead, those with the fewest processes first. So that nobody waits for ever, a pool gives an idle
 * process, and one that is never idle owes a busy one to a pool that has at least two less, or none at all.
 */
export class ProcessBudget {
  private readonly users = new Set<BudgetUser>();
  private readonly held = new Map<BudgetUser, number>();
  private readonly urgent = new Set<BudgetUser>();
  private readonly patient = new Set<BudgetUser>();
  private used = 0;
  /** Processes that are about to end in favour of those who wait. */
  private promised = 0;

  constructor(private readonly maxProcesses: number) {}

  get inUse(): number {
    return this.used;
  }

  /** A request somewhere waits for a process to end, and none was promised to it yet. */
  get contended(): boolean {
    return this.urgent.size > this.promised;
  }

  /**
   * Whether one more process may be started; if not, `user` waits and is told.
   * @param urgent a request waits: an idle process of another pool makes room
   */
  hasRoom(user: BudgetUser, urgent: boolean): boolean {
    if (this.used < this.maxProcesses) return true;
    if (!urgent) this.patient.add(user);
    else if (!this.urgent.has(user)) {
      this.patient.delete(user);
      this.urgent.add(user);
      if (this.contended) this.askForIdle(user);
    }
    return false;
  }

  /** A process is started; to be called only where `hasRoom` just said so. */
  take(user: BudgetUser): void {
    this.used++;
    this.held.set(user, this.heldBy(user) + 1);
    this.withdraw(user);
  }

  /** One process of `user` is gone. */
  give(user: BudgetUser): void {
    this.used--;
    this.held.set(user, this.heldBy(user) - 1);
    this.promised = Math.max(0, this.promised - 1);
    while (this.used < this.maxProcesses) {
      const next = this.neediest() ?? first(this.patient);
      if (!next) return;
      this.withdraw(next);
      next.freed();
    }
  }

  /** `user` needs nothing any more. */
  withdraw(user: BudgetUser): void {
    this.urgent.delete(user);
    this.patient.delete(user);
  }

  /**
   * Whether `user` must let a busy process go although it has work for it.
   * @param servedMs how long that process has been ready
   */
  owes(user: BudgetUser, servedMs: number): boolean {
    if (!this.contended) return false;
    const least = Math.min(...[...this.urgent].filter((other) => other !== user).map((o) => this.heldBy(o)));
    return least + 1 < this.heldBy(user) || (least === 0 && servedMs >= turnMs);
  }

  /** A process of some pool ends so that another pool may start one. */
  promise(): void {
    this.promised++;
  }

  join(user: BudgetUser): void {
    this.users.add(user);
  }

  leave(user: BudgetUser): void {
    this.users.delete(user);
    this.held.delete(user);
    this.withdraw(user);
  }

  private heldBy(user: BudgetUser): number {
    return this.held.get(user) ?? 0;
  }

  private neediest(): BudgetUser | undefined {
    let neediest = first(this.urgent);
    for (const user of this.urgent) {
      if (neediest && this.heldBy(user) < this.heldBy(neediest)) neediest = user;
    }
    return neediest;
  }

  private askForIdle(inNeed: BudgetUser): void {
    for (const user of this.users) {
      if (user === inNeed || !user.yieldIdle()) continue;
      this.promise();
      // The one that gave goes to the end, so that the next need is met by another pool.
      this.users.delete(user);
      this.users.add(user);
      return;
    }
  }
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
