/** A pool as the limit sees it. */
export interface BudgetUser {
  /** A process may be started now; called once for every refused urgent `tryTake`. */
  freed(): void;
  /** Stops one idle process in favour of another pool. @returns false when none is idle */
  yieldIdle(): boolean;
}

/** The cap over the processes of all pools together: how many may still be started. */
export class ProcessBudget {
  private readonly users = new Set<BudgetUser>();
  private readonly waiting = new Set<BudgetUser>();
  private used = 0;

  constructor(private readonly maxProcesses: number) {}

  get inUse(): number {
    return this.used;
  }

  /** A pool waits for a process to end: whoever has an idle one should stop it. */
  get contended(): boolean {
    return this.waiting.size > 0;
  }

  /**
   * @param urgent a request waits: if nothing is left, an idle process of another pool makes room and `user` is told
   */
  tryTake(user: BudgetUser, urgent: boolean): boolean {
    if (this.used < this.maxProcesses) {
      this.used++;
      this.waiting.delete(user);
      return true;
    }
    if (urgent && !this.waiting.has(user)) {
      this.waiting.add(user);
      this.askForIdle(user);
    }
    return false;
  }

  /** One process is gone. */
  give(): void {
    this.used--;
    for (const user of this.waiting) {
      if (this.used >= this.maxProcesses) return;
      this.waiting.delete(user);
      user.freed();
    }
  }

  join(user: BudgetUser): void {
    this.users.add(user);
  }

  leave(user: BudgetUser): void {
    this.users.delete(user);
    this.waiting.delete(user);
  }

  private askForIdle(inNeed: BudgetUser): void {
    for (const user of this.users) {
      if (user === inNeed || !user.yieldIdle()) continue;
      // The one that gave goes to the end, so that the next need is met by another pool.
      this.users.delete(user);
      this.users.add(user);
      return;
    }
  }
}
