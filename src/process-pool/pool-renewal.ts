import type { PoolMember } from './pool-members.js';
import type { PoolSettings, TerminationReason, WornBy } from './pool.types.js';

/** A process draws its limits between this share of the pool's and all of it. */
const leastShare = 0.75;

/** A process that reached one of its limits. */
export interface Worn {
  readonly old: PoolMember;
  readonly by: WornBy;
}

/**
 * Replaces processes that have served, lived or grown enough, one after the other. The successor starts first; until
 * it is ready the worn process goes on serving, then it takes no more requests and ends with its last one.
 */
export class PoolRenewal {
  private readonly worn = new Map<PoolMember, Worn>();
  private change: (Worn & { readonly successor: PoolMember }) | undefined;

  constructor(
    private readonly settings: Pick<PoolSettings, 'keepAlive' | 'maxRequests' | 'maxAgeMs' | 'maxRssBytes'>,
    private readonly random: () => number,
    private readonly dismiss: (member: PoolMember, reason: TerminationReason) => void,
  ) {}

  /** The process whose successor is to be started now. */
  next(): Worn | undefined {
    if (this.worn.size === 0 || this.change) return undefined;
    for (const worn of this.worn.values()) {
      if (worn.old.state !== 'leaving') return worn;
    }
    return undefined;
  }

  /** The successor has been idle for as long as its predecessor: a pool that nobody uses must still become idle. */
  begin(worn: Worn, successor: PoolMember): void {
    this.change = { ...worn, successor };
    successor.lastUsedAt = worn.old.idleSince;
  }

  /** A process became ready. */
  ready(member: PoolMember): void {
    const { keepAlive, maxRequests, maxAgeMs } = this.settings;
    if (keepAlive) {
      if (maxRequests > 0) member.mostRequests = Math.ceil(maxRequests * this.share());
      if (maxAgeMs > 0) member.wornAt = member.readyAt + maxAgeMs * this.share();
    }
    if (this.change?.successor !== member) return;
    const { old, by } = this.change;
    this.change = undefined;
    member.lastUsedAt = old.idleSince;
    this.dismiss(old, by);
  }

  /** A request was given to a process. */
  used(member: PoolMember): void {
    if (++member.served >= member.mostRequests) this.wear(member, 'requests');
  }

  /**
   * Looks at the age and the memory of a process.
   * @param residentBytes asked only where memory is limited; undefined when it cannot be known
   */
  inspect(member: PoolMember, now: number, residentBytes: () => number | undefined): void {
    const { keepAlive, maxRssBytes } = this.settings;
    if (member.state === 'leaving' || member.worn) return;
    if (now >= member.wornAt) this.wear(member, 'age');
    // A process that served nobody has what it needs to start: its successor would need it, too.
    else if (keepAlive && maxRssBytes > 0 && member.served > 0 && (residentBytes() ?? 0) > maxRssBytes) {
      this.wear(member, 'memory');
    }
  }

  /** A process has ended, however. */
  ended(member: PoolMember): void {
    this.worn.delete(member);
    if (this.change?.old === member || this.change?.successor === member) this.change = undefined;
  }

  private wear(member: PoolMember, by: WornBy): void {
    if (member.worn) return;
    member.worn = by;
    this.worn.set(member, { old: member, by });
  }

  private share(): number {
    return leastShare + (1 - leastShare) * this.random();
  }
}
