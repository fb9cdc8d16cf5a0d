/** A token bucket for lines: `perSecond` on average, with bursts of the same size. */
export class LineBudget {
  private remaining: number;
  private refilledAt: number;
  private isSpent = false;

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.remaining = perSecond;
    this.refilledAt = now();
  }

  /**
   * Takes one line from the budget before the line is written. A spent budget reopens when it is half full, so that a
   * flood leaves readable blocks rather than single lines. @returns whether the line may be written
   */
  take(): boolean {
    this.refill();
    if (this.isSpent && this.remaining < Math.max(1, this.perSecond / 2)) return false;
    this.isSpent = this.remaining < 1;
    if (this.isSpent) return false;
    this.remaining--;
    return true;
  }

  /**
   * Charges lines that were written already, which may overdraw the budget. A negative number is a refund.
   * @returns milliseconds until the budget is no longer overdrawn; 0 if it is not
   */
  charge(lines: number): number {
    if (lines <= 0 && this.remaining === this.perSecond) return 0;
    this.refill();
    this.remaining = Math.min(this.perSecond, this.remaining - lines);
    return (Math.max(0, -this.remaining) / this.perSecond) * 1_000;
  }

  private refill(): void {
    const now = this.now();
    const refill = ((now - this.refilledAt) / 1_000) * this.perSecond;
    this.remaining = Math.min(this.perSecond, this.remaining + refill);
    this.refilledAt = now;
  }
}
