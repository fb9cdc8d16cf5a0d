import { endsWithin } from '../../base/common/abortable.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import type { Claim, IdempotencyRepository } from './idempotency.repository.js';

/** How a claim ends: with an outcome, or as if it had never been. */
type End = { readonly outcome: string } | 'released';

interface Held {
  readonly claim: Claim;
  /** Said, and not yet stored. */
  end?: End;
}

/** How long a caller waits for its outcome to be stored, in milliseconds; later it is stored after the answer. */
const timeoutMs = 2_000;

export interface KeeperReport {
  failed(error: unknown): void;
  /** Another gateway took the key for abandoned while the call ran; what it decided stands. */
  lost(claim: Claim): void;
}

/**
 * The claims of this gateway: says of those that run that they live, and stores how they end. An outcome that cannot
 * be stored while the database is away is tried again; meanwhile nothing new can be claimed, so these do not pile up.
 */
export class ClaimKeeper {
  private readonly held = new Map<string, Held>();
  private readonly loop: IntervalLoop;

  constructor(
    private readonly store: IdempotencyRepository,
    leaseMs: number,
    private readonly report: KeeperReport,
  ) {
    this.loop = new IntervalLoop(
      () => this.beat(),
      leaseMs / 3,
      (error) => report.failed(error),
    );
  }

  start(): void {
    this.loop.start();
  }

  /** One more try for what is not stored yet. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.ended().map((held) => this.settle(held)));
  }

  hold(claim: Claim): void {
    this.held.set(claim.id, { claim });
  }

  /** Resolves when it is stored, or after a while. */
  async end(claim: Claim, end: End): Promise<void> {
    const held = { claim, end };
    this.held.set(claim.id, held);
    await endsWithin(timeoutMs, this.settle(held));
  }

  private ended(): Held[] {
    return [...this.held.values()].filter(({ end }) => end !== undefined);
  }

  private async settle({ claim, end }: Held): Promise<void> {
    try {
      if (end === 'released') await this.store.release(claim);
      else if (end && !(await this.store.end(claim, end.outcome))) this.report.lost(claim);
      this.held.delete(claim.id);
    } catch (error) {
      this.report.failed(error);
    }
  }

  private async beat(): Promise<void> {
    const claims = [...this.held.values()].map(({ claim }) => claim);
    if (claims.length === 0) return;
    await this.store.renew(claims);
    for (const held of this.ended()) await this.settle(held);
  }
}
