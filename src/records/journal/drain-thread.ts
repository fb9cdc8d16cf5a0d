import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { backOff } from '../../base/common/back-off.js';
import { messageOf } from '../../base/common/message-of.js';
import { type DrainNews, type DrainSettings, JournalDrain, type RecordSink } from './journal-drain.js';
import { sqlStateOf } from '../../base/database/transient-error.js';
import { answerCalls, tellOwner, WorkerCalls } from '../../base/common/worker-calls.js';

/** Settings with which a drain is started. */
export interface DrainOrders extends DrainSettings {
  /** Pause between two reads of the journal if there was nothing to do, in milliseconds. */
  readonly intervalMs: number;
}

/**
 * `flush`: read the journal now, and answer when all its present records are committed. `finish`: the same for a journal whose
 * writer has closed; the drain then ends.
 */
export type DrainRequest = 'flush' | 'finish';

interface Asked extends PromiseWithResolvers<void> {
  readonly request: DrainRequest;
}

const retry = { firstMs: 100, maxMs: 5_000 };

/** Drains the journal until it is finished, and backs off while the database is unavailable. */
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

  /** Handles a request. @throws Error with the reason if not all is committed */
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

  /** Reads the journal to its end. @returns the reason if not all is committed */
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
 * A running drain. `call` rejects with the reason if not all is committed. `tell` sends messages to the sink, which gets them
 * before later records. `stop` ends the drain at once; the journal keeps uncommitted records.
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
/** Priority of the drain's thread on Linux: calls come first. */
const politeness = 5;

/**
 * Starts a drain in its own thread, so that it does not slow down calls. It is restarted if it dies.
 * @param script script of the journal's owner, which makes the sink and passes it to `runDrain`
 * @param sink settings of the sink; they must be cloneable
 * @param onCounted called for each name in the sink's messages
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

/** Runs the drain in its thread. @param makeSink makes the sink from the settings of `drainThread` */
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
