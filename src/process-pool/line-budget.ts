/** The lines that a writer may still write: `perSecond` on average, as many at once. */
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
   * Takes a line before it is written. A budget that is spent opens again when it is half full, so that a flood leaves
   * stretches that can be read and not single lines.
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
   * Charges lines that stand there already, which may overdraw it; fewer than none are given back.
   * @returns milliseconds until it is overdrawn no more; 0: it is not
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
