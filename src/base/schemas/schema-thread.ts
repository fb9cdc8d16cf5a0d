import type { CallerSlots } from '../common/caller-slots.js';
import { WorkerCalls, WorkerEnded } from '../common/worker-calls.js';
import type { ReadSchema } from './schema-reader.js';
import type { Verdict } from './schema-repair.js';

/** Asks how a schema (JSON) is read, and what an input may cost with it. */
export interface SchemaTest {
  readonly schema: string;
  /** Clients compile it, too. */
  readonly isOutput?: boolean;
}

/** Asks in which ways an input (JSON) breaks a schema, or what it stands for. */
export interface SchemaPass {
  readonly schema: string;
  readonly input: string;
  /** Up to twenty problems instead of the first. */
  readonly allErrors: boolean;
}

export interface SchemaTrial extends ReadSchema {
  /** Cost of an input per byte; Infinity if it has to be checked in the thread. */
  readonly cost: number;
}

export type SchemaAnswer = SchemaTrial | Verdict;

/** The thread is busy or does not start, by no fault of the schema or the input. */
export class ThreadBusy extends Error {
  override readonly name = 'ThreadBusy';
}

/** The time that one answer may take. */
export const limitMs = 2_000;
/** The heap of the thread alone; with its compiler it takes 20. */
export const heapMb = 128;
const startMs = 30_000;

/**
 * A thread that compiles and runs schemas of strangers. It answers one question at a time, so that one which takes too
 * long or too much memory ends alone.
 */
export class SchemaThread {
  private readonly worker: WorkerCalls<SchemaTest | SchemaPass, SchemaAnswer>;
  private started: Promise<unknown> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly name: string,
    /** Questions of one caller, and of all, that may wait. */
    private readonly waiting: CallerSlots,
  ) {
    this.worker = new WorkerCalls(new URL('./schema.worker.js', import.meta.url), {
      name,
      heapMb,
      onDeath: () => (this.started = undefined),
    });
  }

  /** @throws Error for an invalid schema; ThreadBusy; WorkerEnded if it takes too much time or memory, or was stopped */
  ask(question: SchemaTest, caller?: string): Promise<SchemaTrial>;
  ask(question: SchemaPass, caller?: string): Promise<Verdict>;
  async ask(question: SchemaTest | SchemaPass, caller = ''): Promise<SchemaAnswer> {
    const release = this.waiting.take(caller);
    const { ofCaller, ofAll } = this.waiting;
    if (!release)
      throw new ThreadBusy(
        `${ofCaller} of one caller, or ${ofAll}, inputs that take long to validate wait already`,
      );
    const answer = this.last.then(async () => {
      // A tool that is loaded while the server stops would start the thread once more.
      if (this.stopped) throw new WorkerEnded('stopped', `The ${this.name} thread was stopped`);
      await (this.started ??= this.start());
      return this.worker.call(question, limitMs);
    });
    this.last = answer.catch(() => undefined);
    return answer.finally(release);
  }

  stop(): Promise<void> {
    this.stopped = true;
    return this.worker.stop();
  }

  /** Waits for the first answer, so that no question pays for the start. */
  private async start(): Promise<void> {
    try {
      await this.worker.call({ schema: '{}' }, startMs);
    } catch (error) {
      if (!(error instanceof WorkerEnded && error.reason === 'timed_out')) throw error;
      throw new ThreadBusy(`The ${this.name} thread did not start within ${startMs} ms`);
    }
  }
}
