/** Lines of a tool's stdout that were no messages: how many, and the end of the last few. */
export interface StrayLinesReport {
  readonly count: number;
  readonly last: readonly string[];
}

const keptLines = 5;

/** What one process wrote to stdout beside the protocol. A line comes cut to a few hundred characters. */
export class StrayLines {
  private count = 0;
  private readonly last: string[] = [];

  add(line: string): void {
    this.count++;
    this.last.push(line);
    if (this.last.length > keptLines) this.last.shift();
  }

  /** @returns undefined when there was none */
  report(): StrayLinesReport | undefined {
    return this.count === 0 ? undefined : { count: this.count, last: [...this.last] };
  }
}
