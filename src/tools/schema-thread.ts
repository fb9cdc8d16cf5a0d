import type { FieldProblem } from '../common/errors.js';
import { WorkerCalls } from '../common/worker-calls.js';

/** How long does it take to compile this schema (JSON) and to try it out? */
export interface SchemaTrial {
  readonly schema: string;
}

/** A question to the thread: in which ways does this input (JSON) break the schema? */
export interface SchemaPass {
  readonly schema: string;
  readonly input: string;
  /** Up to twenty problems instead of the first. */
  readonly allErrors: boolean;
}

/** More work waits for the thread than may. */
export class ThreadBusy extends Error {
  override readonly name = 'ThreadBusy';
}

/** The heap of the thread alone; with its compiler it takes 20. */
export const heapMb = 256;
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
    name: string,
    private readonly limitMs: number,
    private readonly mostWaiting: number,
  ) {
    this.worker = new WorkerCalls(new URL('./schema.worker.js', import.meta.url), {
      name,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      onDeath: () => (this.started = undefined),
    });
  }

  /**
   * @returns milliseconds of processor time @throws Error what is wrong with the schema; WorkerEnded when it takes too
   * much
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
    if (this.waiting >= this.mostWaiting) throw new ThreadBusy(`${this.mostWaiting} wait already`);
    this.waiting += 1;
    const answer = this.last.then(() => this.run(request));
    this.last = answer.catch(() => undefined);
    return answer.finally(() => (this.waiting -= 1));
  }

  private async run(request: SchemaTrial | SchemaPass): Promise<unknown> {
    await (this.started ??= this.worker.call({ schema: '{}' }, startMs));
    return this.worker.call(request, this.limitMs);
  }
}
