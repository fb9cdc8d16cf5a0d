import type { PoolMember } from './pool-member.js';

/** The processes of one pool, from the oldest to the newest, and how many are in which state. */
export class MemberList {
  private all: readonly PoolMember[] = [];

  get size(): number {
    return this.all.length;
  }

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
    return this.all.map(({ pid }) => pid).filter((pid) => pid > 0);
  }

  /** The list may change while this goes over it. */
  [Symbol.iterator](): Iterator<PoolMember> {
    return this.all.values();
  }

  add(member: PoolMember): void {
    this.all = [...this.all, member];
  }

  remove(member: PoolMember): void {
    this.all = this.all.filter((other) => other !== member);
  }

  /** Those that serve nobody, the longest idle first. */
  idle(): PoolMember[] {
    return this.all.filter(({ isIdle }) => isIdle).sort((a, b) => a.idleSince - b.idleSince);
  }

  /** The most recently used one that takes a request. @param fresh it has served nobody */
  pick(fresh: boolean): PoolMember | undefined {
    let best: PoolMember | undefined;
    for (const member of this.all) {
      const fits = member.isReady && !member.isFull && (!fresh || (member.isIdle && member.served === 0));
      if (fits && (!best || member.lastUsedAt >= best.lastUsedAt)) best = member;
    }
    return best;
  }

  /** One that has reached a limit and has no successor; none while the successor of another one starts. */
  nextWorn(): PoolMember | undefined {
    const isChanging = this.all.some(
      ({ state }) => state.name === 'starting' && state.replaces?.isReady === true,
    );
    return isChanging ? undefined : this.all.find((member) => member.isReady && member.worn);
  }

  /** Those that were told to end by themselves and have nothing more to do. */
  stopping(): PoolMember[] {
    return this.all.filter(
      ({ state, running }) => state.name === 'leaving' && state.by === 'stop' && running.size === 0,
    );
  }

  private count(is: (member: PoolMember) => boolean): number {
    let count = 0;
    for (const member of this.all) if (is(member)) count++;
    return count;
  }
}
