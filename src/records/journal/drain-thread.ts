import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { backOff } from '../../base/common/back-off.js';
import { collectWhenIdle } from '../../base/common/idle-collection.js';
import { messageOf } from '../../base/common/message-of.js';
import { type DrainNews, type DrainSettings, JournalDrain, type RecordSink } from './journal-drain.js';
import { sqlStateOf } from '../../base/database/transient-error.js';
import { answerCalls, tellOwner, WorkerCalls } from '../../base/common/worker-calls.js';

/** Settings with which a drain is started. */
interface DrainOrders extends DrainSettings {
  /** Pause between two reads of the journal if there was nothing to do, in milliseconds. */
  readonly intervalMs: number;
}

/** `flush`: read the journal, and answer when its records are committed. `finish`: the same for a closed journal, then end. */
type DrainRequest = 'flush' | 'finish';

/** A request that is not answered yet. */
interface OpenRequest extends PromiseWithResolvers<void> {
  readonly request: DrainRequest;
}

/** Delays before records that could not be stored are sent again. */
const retry = { firstMs: 100, maxMs: 5_000 };

/** Drains the journal until it is finished, and backs off while the database is unavailable. */
export class DrainLoop {
  private readonly drain: JournalDrain;
  private openRequests: OpenRequest[] = [];
  /** Number of batches that were read, for `collectWhenIdle`; none is in work while the thread is idle. */
  begun = 0;
  readonly count = 0;
  /** Number of failed rounds since the last good one. */
  private failures = 0;
  /** Ends the pause between two rounds. */
  private wake: () => void = () => undefined;

  constructor(
    private readonly orders: DrainOrders,
    sink: RecordSink,
    private readonly report: (news: DrainNews) => void,
  ) {
    this.drain = new JournalDrain(orders, sink, report);
  }

  /** Requests a round, and resolves after it. @throws Error with the reason if not all is committed */
  ask(request: DrainRequest): Promise<void> {
    const openRequest = { request, ...Promise.withResolvers<void>() };
    this.openRequests.push(openRequest);
    this.wake();
    return openRequest.promise;
  }

  /** Runs rounds until a `finish` is answered. */
  async run(): Promise<void> {
    for (;;) {
      const { openRequests } = this;
      this.openRequests = [];
      const failure = await this.round();
      const ends = openRequests.some(({ request }) => request === 'finish');
      if (ends && !failure) this.drain.finish();
      for (const { resolve, reject } of openRequests) {
        if (failure) reject(failure);
        else resolve();
      }
      if (ends) return;
      if (this.openRequests.length === 0) await this.pause();
    }
  }

  /** Reads the journal to its end. @returns the reason if not all is committed */
  private async round(): Promise<Error | undefined> {
    try {
      while (await this.drain.step()) this.begun += 1;
      this.failures = 0;
      return undefined;
    } catch (error) {
      this.failures += 1;
      const state = sqlStateOf(error);
      this.report({ event: 'retrying', error: messageOf(error), state, delayMs: this.delayMs() });
      return new Error(messageOf(error));
    }
  }

  /** Length of the next pause. */
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

/** A sink's message to the journal's owner: names to count, for example of tools. */
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

/** Starts the drain of a journal. */
export type StartDrain = (orders: DrainOrders, report: (news: DrainNews) => void) => RunningDrain;

/** Delays before a drain that died is started again. */
const restart = { firstMs: 1_000, maxMs: 1_000 };
/** Nice value of the drain's thread on Linux, so that calls come first. */
const niceness = 5;

/**
 * Starts a drain in its own thread, so that it does not slow down calls. It is restarted if it dies.
 * @param script script of the journal's owner, which makes the sink and passes it to `runDrain`
 * @param sink settings of the sink; they must be cloneable
 * @param onCounted called for each name in the sink's messages
 */
export const drainThread =
  (script: URL, sink: unknown, onCounted?: (name: string) => void): StartDrain =>
  (orders, report): DrainCalls =>
    new WorkerCalls(script, {
      name: 'journal drain',
      workerData: { drain: orders, sink },
      restart,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
      onNews: (news) => {
        if (news.event !== 'counted') report(news);
        else for (const name of news.names) onCounted?.(name);
      },
      onDeath: (cause, restartInMs = 0) =>
        report({ event: 'drain_ended', error: messageOf(cause), restartInMs }),
    });

/** Runs the drain in its thread. @param makeSink makes the sink from the settings of `drainThread` */
export function runDrain<Settings>(makeSink: (settings: Settings) => DrainSink): void {
  const { drain, sink: settings } = workerData as { drain: DrainOrders; sink: Settings };
  setPriority(niceness);
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
  collectWhenIdle(loop);
  void loop.run();
}
