import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { ResourceLimits } from 'node:worker_threads';
import { statFieldsOf } from './process-identity.js';

/** Node's error code for a thread that exceeds its memory limit. */
export const outOfMemoryCode = 'ERR_WORKER_OUT_OF_MEMORY';
/** Exit code of a worker process that exceeds its memory limit; Node does not use it. */
export const tooLargeExit = 97;

/** The script that a worker's host starts, and its limits. */
export interface HostedWorker {
  /** URL of its script. */
  readonly script: string;
  readonly workerData: unknown;
  readonly resourceLimits: ResourceLimits;
  /** Memory of the process, in MB. */
  readonly processMb: number | undefined;
}

/** A message of the host: one of its script, or the error with which the script has ended. */
interface FromHost {
  readonly message?: unknown;
  readonly error?: { readonly message: string; readonly code?: string };
}

/**
 * Node flags of a worker process. The server's own ones suit the event loop; a worker shall give memory back. The compiler
 * Maglev takes gigabytes beside the heap for one very long function, such as the validator of a long schema.
 */
const flags = ['--min-semi-space-size=1', '--max-semi-space-size=8', '--no-maglev'];
/** Environment of a worker process: it needs none of the server's secrets. */
const variables = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' };
/** Milliseconds of a unit in which Linux counts the CPU time of processes. */
export const msPerTick = 10;
/** CPU times of a process, in these units, among its `statFieldsOf`. */
const [userTimeField, systemTimeField] = [11, 12];

/**
 * A `Worker` in a process of its own, with the same events and methods. If a script exceeds its heap by much in one step,
 * V8 ends the whole process; with a thread that would be the server.
 */
export class WorkerProcess extends EventEmitter {
  private readonly host: ChildProcess;

  /**
   * @param limits `heapMb`: heap of the script; the process takes some 50 MB more. `processMb`: the whole process, for scripts
   *   that may fill buffers, which are not on the heap
   */
  constructor(
    script: URL,
    limits: { readonly workerData: unknown; readonly heapMb: number; readonly processMb: number | undefined },
  ) {
    super();
    const { workerData, heapMb, processMb } = limits;
    this.host = fork(new URL('./worker-host.js', import.meta.url), [], {
      execArgv: [...process.execArgv, ...flags],
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

  /** CPU time of the process so far, in milliseconds; undefined if it is not known. */
  cpuMs(): number | undefined {
    try {
      const fields = statFieldsOf(this.host.pid ?? 0);
      if (fields.length <= systemTimeField) return undefined;
      return (Number(fields[userTimeField]) + Number(fields[systemTimeField])) * msPerTick;
    } catch {
      return undefined;
    }
  }

  postMessage(message: unknown): void {
    if (this.host.connected) this.host.send(message as object);
  }

  /** Lets this process end without waiting for the worker, which then ends, too. */
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
