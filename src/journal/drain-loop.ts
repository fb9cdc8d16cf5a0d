import { backOff } from '../common/back-off.js';
import { messageOf } from '../common/message-of.js';
import { type DrainSettings, JournalDrain, type RecordSink, type Settled } from './journal-drain.js';
import type { Damage } from './segment-reader.js';

/** What a drain is started with. */
export interface DrainOrders extends DrainSettings {
  /** Pause between two looks at the journal when there was nothing more to do, in milliseconds. */
  readonly intervalMs: number;
}

/**
 * `flush`: look now, and answer when all that is in the journal by now is committed. `finish`: the same for a journal
 * whose writer has closed, and end.
 */
export type DrainRequest = 'flush' | 'finish';

/** What a drain says beside its answers. */
export type DrainNews =
  | { readonly settled: Settled }
  | { readonly retrying: { readonly error: string; readonly delayMs: number } }
  | { readonly damaged: Damage & { readonly segment: number } }
  | { readonly quarantined: { readonly id: string; readonly reason: string } }
  | { readonly removed: number }
  | { readonly replayed: { readonly records: number; readonly interrupted: number } };

interface Asked extends PromiseWithResolvers<void> {
  readonly request: DrainRequest;
}

const retry = { firstMs: 100, longestMs: 5_000 };

/** Drains the journal for as long as it lasts, backing off while the database is away. */
export class DrainLoop {
  private readonly drain: JournalDrain;
  private asked: Asked[] = [];
  private failures = 0;
  private announced = 0;
  private wake: () => void = () => undefined;

  constructor(
    private readonly orders: DrainOrders,
    sink: RecordSink,
    private readonly tell: (news: DrainNews) => void,
  ) {
    this.drain = new JournalDrain(orders, sink, {
      damaged: (segment, damage) => tell({ damaged: { segment, ...damage } }),
      quarantined: (id, reason) => tell({ quarantined: { id, reason: messageOf(reason) } }),
      removed: (segment) => tell({ removed: segment }),
      replayed: (records, interrupted) => tell({ replayed: { records, interrupted } }),
    });
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
      while (await this.drain.step()) this.announce();
      this.failures = 0;
      return undefined;
    } catch (error) {
      this.failures += 1;
      this.tell({ retrying: { error: messageOf(error), delayMs: this.delayMs() } });
      return new Error(messageOf(error));
    } finally {
      this.announce();
    }
  }

  private announce(): void {
    const { settled } = this.drain;
    if (settled.place === this.announced) return;
    this.announced = settled.place;
    this.tell({ settled });
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
