import type { FieldProblem } from '../common/errors.js';
import { WorkerCalls, WorkerEnded } from '../common/worker-calls.js';

/** How long does it take to compile this schema (JSON) and to try it out? */
export interface SchemaTrial {
  readonly schema: string;
  /** Clients compile it, too. */
  readonly isOutput?: boolean;
}

/** A question to the thread: in which ways does this input (JSON) break the schema? */
export interface SchemaPass {
  readonly schema: string;
  readonly input: string;
  /** Up to twenty problems instead of the first. */
  readonly allErrors: boolean;
  /** The time that the pass may take, in milliseconds. The thread measures it: its waits are not the input's fault. */
  readonly withinMs: number;
}

/** The thread has no time, by no fault of what is asked: more work waits than may, or it does not come to run. */
export class ThreadBusy extends Error {
  override readonly name = 'ThreadBusy';
}

/** The heap of the thread alone; with its compiler it takes 20. */
export const heapMb = 128;
/** A thread that has not begun by then will not. */
const startMs = 30_000;

/**
 * A thread in which the schemas of strangers are compiled and run. It does one thing at a time, so that whatever takes
 * too long or too much memory is ended alone; the thread's own start is not counted.
 */
export class SchemaThread {
  private readonly worker: WorkerCalls<SchemaTrial | SchemaPass, number | readonly FieldProblem[]>;
  private started: Promise<unknown> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(
    private readonly name: string,
    private readonly limitMs: number,
    private readonly mostWaiting: number,
  ) {
    this.worker = new WorkerCalls(new URL('./schema.worker.js', import.meta.url), {
      name,
      heapMb,
      onDeath: () => (this.started = undefined),
    });
  }

  /**
   * @returns milliseconds of processor time
   * @throws Error what is wrong with the schema; ThreadBusy; WorkerEnded when it takes too much
   */
  try(trial: SchemaTrial): Promise<number> {
    return this.ask(trial) as Promise<number>;
  }

  /** @throws ThreadBusy; WorkerEnded when it takes too much */
  pass(pass: SchemaPass): Promise<readonly FieldProblem[]> {
    return this.ask(pass) as Promise<readonly FieldProblem[]>;
  }

  stop(): Promise<void> {
    this.started = undefined;
    return this.worker.stop();
  }

  private async ask(request: SchemaTrial | SchemaPass): Promise<unknown> {
    if (this.waiting >= this.mostWaiting)
      throw new ThreadBusy(`${this.mostWaiting} inputs that take long to validate wait already`);
    this.waiting += 1;
    const answer = this.last.then(() => this.run(request));
    this.last = answer.catch(() => undefined);
    return answer.finally(() => (this.waiting -= 1));
  }

  private async run(request: SchemaTrial | SchemaPass): Promise<unknown> {
    await (this.started ??= this.start());
    return this.worker.call(request, this.limitMs);
  }

  private async start(): Promise<void> {
    try {
      await this.worker.call({ schema: '{}' }, startMs);
    } catch (error) {
      if (!(error instanceof WorkerEnded && error.reason === 'timed_out')) throw error;
      throw new ThreadBusy(`The ${this.name} thread did not start within ${startMs} ms`);
    }
  }
}
