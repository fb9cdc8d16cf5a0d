export interface Tally {
  /** Calls or processes that have begun and not ended. */
  live: number;
  /** The tool is gone; its counts go with the last that lives. */
  forgotten: boolean;
}

/**
 * Counts by tool: plain numbers that prom-client gets only when it scrapes. With the histogram this costs 0.3 µs a call
 * where prom-client's own counters and gauges cost 1.5 µs (it hashes the labels each time, also for a kept child).
 */
export class ToolTallies<T extends Tally> {
  private readonly byTool = new Map<string, T>();

  constructor(
    private readonly create: () => T,
    private readonly onDelete: (tool: string) => void = () => undefined,
  ) {}

  of(tool: string): T {
    let tally = this.byTool.get(tool);
    if (!tally) this.byTool.set(tool, (tally = this.create()));
    return tally;
  }

  has(tool: string): boolean {
    return this.byTool.has(tool);
  }

  begin(tool: string): T {
    const tally = this.of(tool);
    tally.live += 1;
    tally.forgotten = false;
    return tally;
  }

  end(tool: string): T {
    const tally = this.of(tool);
    tally.live = Math.max(0, tally.live - 1);
    if (tally.forgotten && tally.live === 0) this.delete(tool);
    return tally;
  }

  /** Ends the series of a deleted tool: at once, or when its last call or process has ended. */
  forget(tool: string): void {
    const tally = this.byTool.get(tool);
    if (tally && tally.live > 0) tally.forgotten = true;
    else if (tally) this.delete(tool);
  }

  entries(): Iterable<[string, T]> {
    return this.byTool.entries();
  }

  private delete(tool: string): void {
    this.byTool.delete(tool);
    this.onDelete(tool);
  }
}
