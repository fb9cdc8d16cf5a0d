import { backOff } from '../../common/back-off.js';
import { messageOf } from '../../common/message-of.js';
import { type DrainNews, type DrainSettings, JournalDrain, type RecordSink } from './journal-drain.js';

/** The settings that a drain is started with. */
export interface DrainOrders extends DrainSettings {
  /** Pause between two looks at the journal when there was nothing more to do, in milliseconds. */
  readonly intervalMs: number;
}

/**
 * `flush`: look now, and answer when all that is in the journal by now is committed. `finish`: the same for a journal
 * whose writer has closed, and end.
 */
export type DrainRequest = 'flush' | 'finish';

interface Asked extends PromiseWithResolvers<void> {
  readonly request: DrainRequest;
}

const retry = { firstMs: 100, longestMs: 5_000 };

/** Drains the journal for as long as it lasts, backing off while the database is away. */
export class DrainLoop {
  private readonly drain: JournalDrain;
  private asked: Asked[] = [];
  private failures = 0;
  private wake: () => void = () => undefined;

  constructor(
    private readonly orders: DrainOrders,
    sink: RecordSink,
    private readonly tell: (news: DrainNews) => void,
  ) {
    this.drain = new JournalDrain(orders, sink, tell);
  }

  /** @throws Error why not all is committed */
  ask(request: DrainRequest): Promise<void> {
    const asked = { request, ...Promise.withResolvers<void>() };
    this.asked.push(asked);
    this.wake();
    return asked.promise;
  }

  /** Ends after a `finish` was answered. */
  async run(): Promise<void> {
    for (;;) {
      const { asked } = this;
      this.asked = [];
      const failure = await this.round();
      const ends = asked.some(({ request }) => request === 'finish');
      if (ends && !failure) this.drain.finish();
      for (const { resolve, reject } of asked) {
        if (failure) reject(failure);
        else resolve();
      }
      if (ends) return;
      if (this.asked.length === 0) await this.pause();
    }
  }

  /** @returns why not all is committed */
  private async round(): Promise<Error | undefined> {
    try {
      while (await this.drain.step());
      this.failures = 0;
      return undefined;
    } catch (error) {
      this.failures += 1;
      this.tell({ event: 'retrying', error: messageOf(error), delayMs: this.delayMs() });
      return new Error(messageOf(error));
    }
  }

  private delayMs(): number {
    return this.failures === 0 ? this.orders.intervalMs : backOff(this.failures, retry);
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
