import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { answerCalls, tellOwner, WorkerCalls } from '../../common/worker-calls.js';
import { DrainLoop, type DrainOrders, type DrainRequest } from './drain-loop.js';
import type { DrainNews, RecordSink } from './journal-drain.js';

export interface DrainListener {
  news(news: DrainNews): void;
  /** The drain ended by itself and is started again. */
  died(cause: Error, restartInMs: number): void;
}

export interface RunningDrain {
  /** @throws Error why not all that was in the journal is committed */
  ask(request: DrainRequest): Promise<void>;
  /** Messages for the sink, which it has before records that are appended later. */
  tell(messages: readonly unknown[]): void;
  /** Ends it wherever it is; the journal keeps what is not committed. */
  stop(): Promise<void>;
}

/** A sink in a thread of its own. */
export interface DrainSink extends RecordSink {
  close(): Promise<void>;
  /** Receives the messages of the journal's owner. */
  receive?(message: unknown): void;
}

export type StartDrain = (orders: DrainOrders, listener: DrainListener) => RunningDrain;

const restart = { firstMs: 1_000, longestMs: 1_000 };
/** On Linux the priority of the calling thread alone: calls come first, their records follow. */
const politeness = 5;

/**
 * A drain in a thread of its own, so that writing records costs the thread of calls nothing; restarted when it dies.
 * @param script of the journal's owner: it makes the sink and hands it to `runDrain`
 * @param sink what the owner's script needs for that; it must be cloneable
 */
export const drainThread =
  (script: URL, sink: unknown): StartDrain =>
  (orders, listener) => {
    const calls = new WorkerCalls<DrainRequest, void, DrainNews, readonly unknown[]>(script, {
      name: 'journal drain',
      workerData: { drain: orders, sink },
      restart,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
      onNews: (news) => listener.news(news),
      onDeath: (cause, restartInMs = 0) => listener.died(cause, restartInMs),
    });
    return {
      ask: (request) => calls.call(request),
      tell: (messages) => calls.tell(messages),
      stop: () => calls.stop(),
    };
  };

/** In that thread: drains into the sink that the owner makes of what it gave to `drainThread`. */
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
