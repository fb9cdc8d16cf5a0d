/**
 * How many lines of a tool's output may still be logged: `perSecond` on average, as many at once. One that is spent
 * opens again when it is half full, so that a flood leaves stretches that can be read and not single lines.
 */
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

  take(): boolean {
    const now = this.now();
    this.left = Math.min(this.perSecond, this.left + ((now - this.at) / 1_000) * this.perSecond);
    this.at = now;
    if (this.spent && this.left < Math.max(1, this.perSecond / 2)) return false;
    this.spent = this.left < 1;
    if (this.spent) return false;
    this.left--;
    return true;
  }
}
