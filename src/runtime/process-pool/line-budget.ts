/** A token bucket for lines: `perSecond` on average, with bursts of the same size. */
export class LineBudget {
  private left: number;
  private at: number;
  private spent = false;

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.left = perSecond;
    this.at = now();
  }

  /**
   * Reserves one line before it is written. A spent budget reopens when it is half full, so that a flood leaves readable
   * blocks rather than single lines.
   */
  take(): boolean {
    this.refill();
    if (this.spent && this.left < Math.max(1, this.perSecond / 2)) return false;
    this.spent = this.left < 1;
    if (this.spent) return false;
    this.left--;
    return true;
  }

  /**
   * Charges lines that were written already, which may overdraw the budget. A negative number is a refund.
   * @returns milliseconds until the budget is no longer overdrawn; 0 if it is not
   */
  charge(lines: number): number {
    if (lines <= 0 && this.left === this.perSecond) return 0;
    this.refill();
    this.left = Math.min(this.perSecond, this.left - lines);
    return (Math.max(0, -this.left) / this.perSecond) * 1_000;
  }

  private refill(): void {
    const now = this.now();
    this.left = Math.min(this.perSecond, this.left + ((now - this.at) / 1_000) * this.perSecond);
    this.at = now;
  }
}
