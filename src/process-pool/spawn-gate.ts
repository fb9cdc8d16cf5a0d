import type { Release } from '../tool-contract/tool.js';

/** A pool as the gate sees it. */
export interface GateUser {
  /** A start may begin now; said once for every refused `tryEnter`. */
  opened(): void;
}

/**
 * Bounds how many processes start at the same time, over all pools: an interpreter that starts costs tens of
 * milliseconds of processor time that warm calls need. Pools wait in turn, those with a waiting request first. One pool
 * cannot hold the gate: its last place goes only to a pool that has none, and a start that takes long gives its place
 * back after `holdMs`, because by then it mostly waits.
 */
export class SpawnGate {
  private readonly urgent = new Set<GateUser>();
  private readonly patient = new Set<GateUser>();
  private readonly inside = new Map<GateUser, number>();
  private taken = 0;

  constructor(
    private readonly limit: number,
    private readonly holdMs = 1_000,
  ) {}

  /** Places taken. */
  get starting(): number {
    return this.taken;
  }

  get waiting(): number {
    return this.urgent.size + this.patient.size;
  }

  /**
   * @param urgent a request waits for the process
   * @returns gives the place back, harmless when called twice; undefined when `user` has to wait until it is told
   */
  tryEnter(user: GateUser, urgent: boolean): Release | undefined {
    this.withdraw(user);
    if (!this.admits(user)) {
      (urgent ? this.urgent : this.patient).add(user);
      return undefined;
    }
    this.count(user, 1);
    const leave = (): void => {
      if (!inside) return;
      inside = false;
      clearTimeout(timer);
      this.count(user, -1);
      this.open();
    };
    let inside = true;
    const timer = setTimeout(leave, this.holdMs).unref();
    return leave;
  }

  /** `user` wants to start nothing any more. */
  withdraw(user: GateUser): void {
    this.urgent.delete(user);
    this.patient.delete(user);
  }

  private admits(user: GateUser): boolean {
    const left = this.limit - this.taken;
    return left > 1 || (left === 1 && (this.limit === 1 || !this.inside.has(user)));
  }

  private count(user: GateUser, change: 1 | -1): void {
    const places = (this.inside.get(user) ?? 0) + change;
    if (places > 0) this.inside.set(user, places);
    else this.inside.delete(user);
    this.taken += change;
  }

  private open(): void {
    for (const user of [...this.urgent, ...this.patient]) {
      if (!this.admits(user)) continue;
      this.withdraw(user);
      user.opened();
    }
  }
}
