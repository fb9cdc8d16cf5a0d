import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

/** Node's own code for a thread that needs more memory than it may have. */
export const outOfMemoryCode = 'ERR_WORKER_OUT_OF_MEMORY';

/** The exit code of a process that has grown too large; none of Node's own. */
export const tooLargeExit = 97;

export interface HostedWorker {
  /** URL of its script. */
  readonly script: string;
  readonly workerData: unknown;
  readonly resourceLimits: { readonly maxOldGenerationSizeMb: number };
  /** Of the process, in MB. */
  readonly processMb: number | undefined;
}

/** What the worker says, or why it ends. */
export interface FromHost {
  readonly message?: unknown;
  readonly error?: { readonly message: string; readonly code?: string };
}

/**
 * The server's own flags for new objects and malloc are made for the event loop: here memory is to be given back. The
 * compiler Maglev takes gigabytes beside the heap for one very long function, such as the validator of a long schema.
 */
const flags = ['--min-semi-space-size=1', '--max-semi-space-size=8', '--no-maglev'];
const variables = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' };

/**
 * A `Worker` in a process of its own, with the same events and methods. V8 ends the whole process when one step of a
 * script overruns its heap by more than a little: a thread would take the server along.
 */
export class WorkerProcess extends EventEmitter {
  private readonly host: ChildProcess;

  /**
   * @param heapMb of the script; the process takes some 50 MB beside it
   * @param processMb of all of it, where the script may fill buffers, which are not on the heap
   */
  constructor(
    script: URL,
    {
      workerData,
      heapMb,
      processMb,
    }: { workerData?: unknown; heapMb: number; processMb?: number | undefined },
  ) {
    super();
    this.host = fork(new URL('./worker-host.js', import.meta.url), [], {
      execArgv: [...process.execArgv, ...flags],
      // It has no business with the server's secrets.
      env: variables,
      serialization: 'advanced',
      stdio: 'ignore',
    });
    this.host.on('message', ({ message, error }: FromHost) => {
      if (error === undefined) this.emit('message', message);
      else this.emit('error', Object.assign(new Error(error.message), { code: error.code }));
    });
    this.host.on('error', (error) => this.emit('error', error));
    this.host.on('exit', (code, signal) => {
      if (signal === 'SIGABRT') this.emit('error', outOfMemory(heapMb));
      if (code === tooLargeExit) this.emit('error', outOfMemory(processMb));
      this.emit('exit');
    });
    const resourceLimits = { maxOldGenerationSizeMb: heapMb };
    this.postMessage({ script: script.href, workerData, resourceLimits, processMb } satisfies HostedWorker);
  }

  postMessage(message: unknown): void {
    if (this.host.connected) this.host.send(message as object);
  }

  /** The end of this process does not wait for it: it ends when its owner is gone. */
  unref(): void {
    this.host.unref();
    this.host.channel?.unref();
  }

  async terminate(): Promise<void> {
    if (this.host.exitCode !== null || this.host.signalCode !== null) return;
    const ended = once(this.host, 'exit');
    this.host.kill('SIGKILL');
    await ended;
  }
}

const outOfMemory = (mb: number | undefined): Error =>
  Object.assign(new Error(`reached its memory limit of ${mb} MB`), { code: outOfMemoryCode });
