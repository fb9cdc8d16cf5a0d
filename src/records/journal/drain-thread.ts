import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { backOff } from '../../base/common/back-off.js';
import { messageOf } from '../../base/common/message-of.js';
import { type DrainNews, type DrainSettings, JournalDrain, type RecordSink } from './journal-drain.js';
import { sqlStateOf } from '../../base/database/transient-error.js';
import { answerCalls, tellOwner, WorkerCalls } from '../../base/common/worker-calls.js';

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

const retry = { firstMs: 100, maxMs: 5_000 };

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
      const state = sqlStateOf(error);
      this.tell({ event: 'retrying', error: messageOf(error), state, delayMs: this.delayMs() });
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

/** A sink's own message to the journal's owner. */
export type SinkNews = { readonly event: 'counted'; readonly names: readonly string[] };

type DrainCalls = WorkerCalls<DrainRequest, void, DrainNews | SinkNews, readonly unknown[]>;

/**
 * `call` rejects with why not all that was in the journal is committed. `tell` sends messages for the sink, which it has
 * before records that are appended later. `stop` ends it wherever it is; the journal keeps what is not committed.
 */
export type RunningDrain = Pick<DrainCalls, 'call' | 'tell' | 'stop'>;

/** A sink in a thread of its own. */
export interface DrainSink extends RecordSink {
  close(): Promise<void>;
  /** Receives the messages of the journal's owner. */
  receive?(message: unknown): void;
}

export type StartDrain = (orders: DrainOrders, tell: (news: DrainNews) => void) => RunningDrain;

const restart = { firstMs: 1_000, maxMs: 1_000 };
/** On Linux the priority of the calling thread alone: calls come first, their records follow. */
const politeness = 5;

/**
 * A drain in a thread of its own, so that writing records costs the thread of calls nothing; restarted when it dies.
 * @param script of the journal's owner: it makes the sink and hands it to `runDrain`
 * @param sink what the owner's script needs for that; it must be cloneable
 * @param onCounted is called for each name in the sink's own messages
 */
export const drainThread =
  (script: URL, sink: unknown, onCounted?: (name: string) => void): StartDrain =>
  (orders, tell): DrainCalls =>
    new WorkerCalls(script, {
      name: 'journal drain',
      workerData: { drain: orders, sink },
      restart,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
      onNews: (news) => (news.event === 'counted' ? onCounted && news.names.forEach(onCounted) : tell(news)),
      onDeath: (cause, restartInMs = 0) =>
        tell({ event: 'drain_ended', error: messageOf(cause), restartInMs }),
    });

/** Drains, in that thread, into the sink that is made of the settings given to `drainThread`. */
export function runDrain<Settings>(makeSink: (settings: Settings) => DrainSink): void {
  const { drain, sink: settings } = workerData as { drain: DrainOrders; sink: Settings };
  setPriority(politeness);
  const sink = makeSink(settings);
  const loop = new DrainLoop(drain, sink, (news) => tellOwner(news));
  answerCalls<DrainRequest, void, readonly unknown[]>(
    async (request) => {
      await loop.ask(request);
      if (request === 'finish') await sink.close();
    },
    (messages) => {
      for (const message of messages) sink.receive?.(message);
    },
  );
  void loop.run();
}
