import { Worker } from 'node:worker_threads';
import type { DrainNews, DrainOrders, DrainRequest } from './drain-messages.js';
import type { Settled } from './journal-drain.js';

export interface ThreadReport {
  /** What the drain says beside its answers. */
  news(news: Exclude<DrainNews, { flushed: number }>): void;
  /** The thread ended by itself and is started again. */
  ended(error: unknown, restartInMs: number): void;
}

interface Waiter {
  readonly request: DrainRequest;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const restartMs = 1_000;

/** The journal's drain in a thread of its own: writing rows costs the calls' thread nothing. Restarted if it dies. */
export class DrainThread {
  private worker: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private nextId = 1;
  private readonly waiters = new Map<number, Waiter>();
  private last: Settled = { place: 0, endedAt: 0 };
  private onReplayed: () => void = () => undefined;

  /** Resolves when everything of earlier gateways is in the database. */
  readonly replayed: Promise<void>;

  constructor(
    private readonly script: string | URL,
    private readonly orders: DrainOrders,
    private readonly report: ThreadReport,
  ) {
    this.replayed =
      orders.drain.replayThrough === 0
        ? Promise.resolve()
        : new Promise((resolve) => (this.onReplayed = resolve));
    this.start();
  }

  get settled(): Settled {
    return this.last;
  }

  /** @throws Error why not all that was in the journal is committed */
  flush(): Promise<void> {
    return this.ask((flush) => ({ flush }));
  }

  /**
   * For a journal whose writer has closed: drains what is left and ends the thread.
   * @throws Error why something is left
   */
  async finish(): Promise<void> {
    this.stopped = true;
    await this.ask((finish) => ({ finish }));
  }

  /** Ends the thread wherever it is; the journal keeps what is not committed. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.worker?.terminate();
  }

  private ask(requestOf: (id: number) => DrainRequest): Promise<void> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const request = requestOf(id);
      this.waiters.set(id, { request, resolve, reject });
      this.worker?.postMessage(request);
    });
  }

  private start(): void {
    const worker = new Worker(this.script, { workerData: this.orders, name: 'journal drain' });
    let failure: unknown = new Error('The thread ended');
    worker.on('message', (news: DrainNews) => this.hear(news));
    worker.on('error', (error: unknown) => (failure = error));
    worker.on('exit', () => {
      this.worker = undefined;
      this.rejectAll(failure);
      if (this.stopped) return;
      this.report.ended(failure, restartMs);
      this.timer = setTimeout(() => this.start(), restartMs);
      this.timer.unref();
    });
    // The gateway's end does not wait for it: what it has not done is in the journal.
    worker.unref();
    this.worker = worker;
  }

  private hear(news: DrainNews): void {
    if ('flushed' in news) {
      const waiter = this.waiters.get(news.flushed);
      this.waiters.delete(news.flushed);
      if (news.error === undefined) waiter?.resolve();
      else waiter?.reject(new Error(news.error));
      return;
    }
    if ('settled' in news) this.last = news.settled;
    if ('replayed' in news) this.onReplayed();
    this.report.news(news);
  }

  private rejectAll(failure: unknown): void {
    for (const { reject } of this.waiters.values()) {
      reject(new Error('The drain of the journal ended', { cause: failure }));
    }
    this.waiters.clear();
  }
}
