/** What the suite did and what was wrong. */
export class Findings {
  private readonly injected = new Map<string, number>();
  readonly problems: string[] = [];
  readonly notRun = new Map<string, string>();

  /** A fault of a kind was injected and looked at. */
  count(kind: string): void {
    this.injected.set(kind, (this.injected.get(kind) ?? 0) + 1);
  }

  /** @param what undefined says nothing */
  wrong(where: string, what: string | undefined): void {
    if (what !== undefined) this.problems.push(`${where}: ${what}`);
  }

  /** A kind that cannot be injected here, and why. */
  skip(kind: string, why: string): void {
    this.notRun.set(kind, why);
  }

  get total(): number {
    return [...this.injected.values()].reduce((sum, count) => sum + count, 0);
  }

  countOf(kind: string): number {
    return this.injected.get(kind) ?? 0;
  }

  table(): string {
    const rows = [...this.injected].sort(([a], [b]) => a.localeCompare(b));
    const lines = rows.map(([kind, count]) => `  ${kind.padEnd(24)} ${String(count).padStart(5)}`);
    const missing = [...this.notRun].map(([kind, why]) => `  ${kind.padEnd(24)}     – ${why}`);
    return [...lines, ...missing, `  ${'all'.padEnd(24)} ${String(this.total).padStart(5)}`].join('\n');
  }
}
