import { endsWithin } from '../../base/common/abortable.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import type { Claim, IdempotencyRepository } from './idempotency.repository.js';

/** End of a claim: an outcome as JSON, or a release that makes the key usable again. */
export type ClaimEnd = { readonly outcome: string } | 'released';

interface HeldClaim {
  readonly claim: Claim;
  /** Set if the end is not stored yet. */
  end?: ClaimEnd;
}

/** Max wait of a caller for its outcome to be stored, in milliseconds; later it is stored after the answer. */
const maxStoreMs = 2_000;

export interface KeeperReport {
  /** Called if the database could not be reached; the keeper tries again. */
  failed(error: unknown): void;
  /** Called if another replica took over the key while the call ran; its outcome is the valid one. */
  lost(claim: Claim): void;
}

/**
 * Renews the leases of this replica's claims and stores their ends. An end that cannot be stored is retried. Without the
 * database, ends do not accumulate, because new claims need the database, too.
 */
export class ClaimKeeper {
  private readonly held = new Map<string, HeldClaim>();
  private readonly loop: IntervalLoop;

  constructor(
    private readonly store: IdempotencyRepository,
    leaseMs: number,
    private readonly report: KeeperReport,
  ) {
    this.loop = new IntervalLoop(
      () => this.renewAndStore(),
      leaseMs / 3,
      (error) => report.failed(error),
    );
  }

  start(): void {
    this.loop.start();
  }

  /** Stops, after one more attempt to store the remaining ends. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.withEnd().map((held) => this.storeEnd(held)));
  }

  /** Renews the lease of a claim until its end. */
  hold(claim: Claim): void {
    this.held.set(claim.id, { claim });
  }

  /** Ends a claim. Resolves when the end is stored, or after `maxStoreMs`. */
  async end(claim: Claim, end: ClaimEnd): Promise<void> {
    const held = { claim, end };
    this.held.set(claim.id, held);
    await endsWithin(maxStoreMs, this.storeEnd(held));
  }

  /** Claims whose end is not stored yet. */
  private withEnd(): HeldClaim[] {
    return [...this.held.values()].filter(({ end }) => end !== undefined);
  }

  /** Stores the end of a claim. Never rejects: an end that could not be stored stays for the next try. */
  private async storeEnd({ claim, end }: HeldClaim): Promise<void> {
    try {
      if (end === 'released') await this.store.release(claim);
      else if (end && !(await this.store.end(claim, end.outcome))) this.report.lost(claim);
      this.held.delete(claim.id);
    } catch (error) {
      this.report.failed(error);
    }
  }

  private async renewAndStore(): Promise<void> {
    const claims = [...this.held.values()].map(({ claim }) => claim);
    if (claims.length === 0) return;
    await this.store.renew(claims);
    for (const held of this.withEnd()) await this.storeEnd(held);
  }
}
