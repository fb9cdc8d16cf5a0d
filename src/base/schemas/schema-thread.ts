import { CallerSlots } from '../common/caller-slots.js';
import { WorkerCalls, WorkerEnded } from '../common/worker-calls.js';
import type { ReadSchema } from './schema-reader.js';
import type { Verdict } from './schema-repair.js';

/** Asks to compile a schema (JSON), and to estimate the cost of an input. */
export interface TestRequest {
  readonly schema: string;
  /** Whether it is an output schema, which clients compile, too. */
  readonly isOutput?: boolean;
}

/** Asks to validate or repair an input (JSON). */
export interface ValidationRequest {
  readonly schema: string;
  readonly input: string;
  /** Whether up to twenty problems are reported instead of the first. */
  readonly allErrors: boolean;
}

/** The result of a test: the usable schema, and the cost of its inputs. */
export interface TestResult extends ReadSchema {
  /** Cost of an input per byte; Infinity if it has to be checked in the thread. */
  readonly cost: number;
}

export type SchemaAnswer = TestResult | Verdict;

/** The thread is busy or does not start, which is not the fault of the schema or input. */
export class ThreadBusy extends Error {
  override readonly name = 'ThreadBusy';
}

/** Timeout of one answer. */
export const limitMs = 2_000;
/** Heap limit of the thread; its compiler alone takes 20 MB. */
export const heapMb = 128;
/** Timeout of the thread's start. */
const startMs = 30_000;

/**
 * A thread that compiles and runs untrusted schemas. It handles one request at a time, so that a request with too much time or
 * memory affects no other.
 */
export class SchemaThread {
  private readonly worker: WorkerCalls<TestRequest | ValidationRequest, SchemaAnswer>;
  /** The thread's start; undefined while it does not run. */
  private started: Promise<unknown> | undefined;
  /** Ends with the last request. */
  private last: Promise<unknown> = Promise.resolve();
  private isStopped = false;
  /** Waiting requests. */
  private readonly waiting: CallerSlots;

  /** @param maxPerCaller max waiting requests of one caller @param maxWaiting of all */
  constructor(
    private readonly name: string,
    maxPerCaller = Infinity,
    maxWaiting = Infinity,
  ) {
    this.waiting = new CallerSlots(maxPerCaller, maxWaiting);
    this.worker = new WorkerCalls(new URL('./schema.worker.js', import.meta.url), {
      name,
      heapMb,
      onDeath: () => (this.started = undefined),
    });
  }

  /**
   * Sends a request to the thread.
   * @throws Error for an invalid schema; ThreadBusy; WorkerEnded if it takes too much time or memory, or was stopped
   */
  send(request: TestRequest, caller?: string): Promise<TestResult>;
  send(request: ValidationRequest, caller?: string): Promise<Verdict>;
  async send(request: TestRequest | ValidationRequest, caller = ''): Promise<SchemaAnswer> {
    const release = this.waiting.take(caller);
    if (!release)
      throw new ThreadBusy(
        `${this.waiting.maxPerCaller} of one caller, or ${this.waiting.maxOfAll}, inputs that take long to validate wait already`,
      );
    const answer = this.last.then(async () => {
      // A tool that is loaded during the shutdown must not start the thread again.
      if (this.isStopped) throw new WorkerEnded('stopped', `The ${this.name} thread was stopped`);
      await (this.started ??= this.start());
      return this.worker.call(request, limitMs);
    });
    this.last = answer.catch(() => undefined);
    return answer.finally(release);
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return this.worker.stop();
  }

  /** Starts the thread and waits for a first answer, so that the start does not count against a request's timeout. */
  private async start(): Promise<void> {
    try {
      await this.worker.call({ schema: '{}' }, startMs);
    } catch (error) {
      if (!(error instanceof WorkerEnded && error.reason === 'timed_out')) throw error;
      throw new ThreadBusy(`The ${this.name} thread did not start within ${startMs} ms`);
    }
  }
}
