import { JournalDrain, type RowSink } from './journal-drain.js';
import type { DrainNews, DrainOrders, DrainRequest } from './drain-messages.js';

const minRetryMs = 100;
const maxRetryMs = 5_000;

/** Drains the journal for as long as it lasts, backing off while the database is away. */
export class DrainLoop {
  private readonly drain: JournalDrain;
  private readonly requests: DrainRequest[] = [];
  private failures = 0;
  private announced = 0;
  private wake: () => void = () => undefined;

  constructor(
    private readonly orders: Pick<DrainOrders, 'drain' | 'intervalMs'>,
    sink: RowSink,
    private readonly tell: (news: DrainNews) => void,
  ) {
    this.drain = new JournalDrain(orders.drain, sink, {
      damaged: (segment, damage) => tell({ damaged: { segment, ...damage } }),
      quarantined: ({ metricId, toolName }, reason) =>
        tell({ quarantined: { executionId: metricId, tool: toolName, reason: messageOf(reason) } }),
      removed: (segment) => tell({ removed: segment }),
      replayed: (rows, interrupted) => tell({ replayed: { rows, interrupted } }),
    });
  }

  ask(request: DrainRequest): void {
    this.requests.push(request);
    this.wake();
  }

  /** Ends after a `finish` was answered. */
  async run(): Promise<void> {
    for (;;) {
      const requests = this.requests.splice(0);
      const error = await this.round();
      const ends = requests.some((request) => 'finish' in request);
      if (ends && error === undefined) this.drain.finish();
      for (const request of requests) this.answer('flush' in request ? request.flush : request.finish, error);
      if (ends) return;
      if (this.requests.length === 0) await this.pause();
    }
  }

  /** @returns why not all is committed */
  private async round(): Promise<string | undefined> {
    try {
      while (await this.drain.step()) this.announce();
      this.announce();
      this.failures = 0;
      return undefined;
    } catch (error) {
      this.announce();
      this.failures += 1;
      this.tell({ retrying: { error: messageOf(error), delayMs: this.delayMs() } });
      return messageOf(error);
    }
  }

  private answer(id: number, error: string | undefined): void {
    this.tell({ flushed: id, ...(error !== undefined && { error }) });
  }

  private announce(): void {
    const { settled } = this.drain;
    if (settled.place === this.announced) return;
    this.announced = settled.place;
    this.tell({ settled });
  }

  private delayMs(): number {
    if (this.failures === 0) return this.orders.intervalMs;
    return Math.min(maxRetryMs, minRetryMs * 2 ** Math.min(this.failures - 1, 10));
  }

  private async pause(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, this.delayMs());
    });
    clearTimeout(timer);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
