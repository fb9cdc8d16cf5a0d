import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';
import { type BackOff, backOff } from './back-off.js';
import { msPerTick, outOfMemoryCode, WorkerProcess } from './worker-process.js';

/** Options of a worker. `News` are messages that it sends without being asked. */
export interface WorkerCallsOptions<News> {
  /** Shown as the thread's name and in error messages. */
  readonly name: string;
  readonly workerData?: unknown;
  /** Max heap of the script, in MB. If set, the worker is a process of its own. */
  readonly heapMb?: number;
  /** Max memory of that process, in MB, including buffers outside the heap. */
  readonly processMb?: number;
  /** Heap limits of the thread, so that V8 collects its garbage in time; ignored with `heapMb`. */
  readonly resourceLimits?: ResourceLimits;
  /** Max duration of a call with the worker's start; for a process in CPU time. Absent: no limit. */
  readonly timeLimitMs?: number;
  /** Keeps a worker running from the beginning and restarts it when it dies. Absent: the next call starts one. */
  readonly restart?: BackOff;
  /** Receives the worker's messages that answer no call. */
  onNews?(news: News): void;
  /** Called when the worker died, or was ended because a call took too long. */
  onDeath?(cause: Error, restartInMs?: number): void;
}

/** The worker ended before it had answered. */
export class WorkerEnded extends Error {
  constructor(
    readonly reason: 'died' | 'timed_out' | 'stopped',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether it died because it exceeded its memory limit. */
  get isOutOfMemory(): boolean {
    return (this.cause as { code?: unknown } | undefined)?.code === outOfMemoryCode;
  }
}

/** A message to the worker. */
interface ToWorker<Request, Message> {
  /** Number of the call; absent for a message without an answer. */
  readonly id?: number;
  readonly request?: Request;
  readonly message?: Message;
}

/** A message of the worker. */
interface FromWorker<Answer, News> {
  /** Number of the call; absent for news. */
  readonly id?: number;
  readonly answer?: Answer;
  readonly error?: string;
  readonly news?: News;
}

/** A call that waits for its answer. */
interface Waiting<Request, Answer> extends PromiseWithResolvers<Answer> {
  readonly request: Request;
  timer: NodeJS.Timeout | undefined;
}

/** Max duration of a call on the clock, as a multiple of its CPU time limit: a busy machine gives CPU time later. */
const clockFactor = 4;

/** Calls to one worker, which does not keep the process alive. The script uses `answerCalls`. */
export class WorkerCalls<Request, Answer, News = never, Message = never> {
  private worker: Worker | WorkerProcess | undefined;
  /** Timer of the next start. */
  private restarting: NodeJS.Timeout | undefined;
  /** Deaths of workers in a row, without a message in between. */
  private failures = 0;
  /** Number of the last call. */
  private lastId = 0;
  private readonly waiting = new Map<number, Waiting<Request, Answer>>();

  constructor(
    /** `new URL('./x.worker.js', import.meta.url)` */
    private readonly script: URL,
    private readonly options: WorkerCallsOptions<News>,
  ) {
    if (options.restart) this.start();
  }

  /**
   * Calls the worker. While the worker is being replaced, the call waits for the next one.
   * @throws the worker's error; WorkerEnded if the worker ends first. A call that takes too long ends all calls.
   */
  call(request: Request, timeLimitMs = this.options.timeLimitMs): Promise<Answer> {
    const id = ++this.lastId;
    const waiting = { request, timer: undefined, ...Promise.withResolvers<Answer>() };
    this.waiting.set(id, waiting);
    if (timeLimitMs !== undefined) this.limit(id, waiting, timeLimitMs);
    if (this.worker) this.worker.postMessage({ id, request });
    else if (!this.restarting) this.start();
    return waiting.promise;
  }

  /** Sends a message without an answer. It is lost while the worker is being replaced. */
  tell(message: Message): void {
    this.worker?.postMessage({ message });
  }

  /** Ends the worker, even during a call. A later call starts another one. */
  async stop(): Promise<void> {
    const { worker } = this;
    this.forget(new WorkerEnded('stopped', `The ${this.options.name} thread was stopped`));
    await worker?.terminate();
  }

  private start(): void {
    const { name, workerData, heapMb, processMb, resourceLimits = {} } = this.options;
    const worker =
      heapMb === undefined
        ? new Worker(this.script, { name, workerData, resourceLimits })
        : new WorkerProcess(this.script, { workerData, heapMb, processMb });
    worker.unref();
    let cause: Error | undefined;
    worker.on('error', (error: Error) => (cause = error));
    worker.on('message', (reply: FromWorker<Answer, News>) => this.received(worker, reply));
    worker.on('messageerror', (error: Error) => {
      cause = error;
      void worker.terminate();
    });
    worker.on('exit', () => {
      const why = cause ? `: ${cause.message}` : '';
      if (this.worker === worker)
        this.replace(new WorkerEnded('died', `The ${name} thread ended${why}`, { cause }));
    });
    this.worker = worker;
    this.restarting = undefined;
    for (const [id, { request }] of this.waiting) worker.postMessage({ id, request });
  }

  /** Handles a message. A worker whose message cannot be read is replaced, so that it does not end the server. */
  private received(worker: Worker | WorkerProcess, reply: FromWorker<Answer, News>): void {
    if (this.worker !== worker) return;
    try {
      this.handle(reply);
    } catch (cause) {
      const message = `The ${this.options.name} thread sent an unreadable message`;
      this.replace(new WorkerEnded('died', message, { cause }));
      void worker.terminate();
    }
  }

  private handle({ id, answer, error, news }: FromWorker<Answer, News>): void {
    this.failures = 0;
    if (id === undefined) return this.options.onNews?.(news as News);
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    clearTimeout(waiting?.timer);
    if (error === undefined) waiting?.resolve(answer as Answer);
    else waiting?.reject(new Error(error));
  }

  /** Ends the worker if the call takes too long: by the CPU time of a process if it is known, else by the clock. */
  private limit(id: number, waiting: Waiting<Request, Answer>, timeLimitMs: number): void {
    const { worker } = this;
    const cpuMs = (): number | undefined => (worker instanceof WorkerProcess ? worker.cpuMs() : undefined);
    const before = cpuMs();
    const latest = performance.now() + clockFactor * timeLimitMs;
    const check = (): void => {
      const now = cpuMs();
      const leftMs = before === undefined || now === undefined ? 0 : timeLimitMs - (now - before);
      if (leftMs > msPerTick && performance.now() < latest) waiting.timer = setTimeout(check, leftMs).unref();
      else this.endLate(id, timeLimitMs);
    };
    waiting.timer = setTimeout(check, timeLimitMs).unref();
  }

  /** Ends the worker because of a call that takes too long. Without a worker, only the call ends. */
  private endLate(id: number, timeLimitMs: number): void {
    const message = `The ${this.options.name} thread took longer than ${timeLimitMs} ms`;
    const error = new WorkerEnded('timed_out', message);
    const { worker } = this;
    if (worker) {
      this.replace(error);
      void worker.terminate();
    } else {
      this.waiting.get(id)?.reject(error);
      this.waiting.delete(id);
    }
  }

  /** Rejects all calls, and starts another worker after a pause if the options ask for it. */
  private replace(error: WorkerEnded): void {
    const { restart } = this.options;
    this.forget(error);
    if (!restart) return this.options.onDeath?.(error);
    const pauseMs = backOff(++this.failures, restart);
    this.restarting = setTimeout(() => this.start(), pauseMs).unref();
    this.options.onDeath?.(error, pauseMs);
  }

  /** Forgets the worker and rejects all calls. */
  private forget(error: WorkerEnded): void {
    this.worker = undefined;
    clearTimeout(this.restarting);
    this.restarting = undefined;
    const calls = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject, timer } of calls) {
      clearTimeout(timer);
      reject(error);
    }
  }
}

/** Answers calls in a worker. Each begins at once, so asynchronous ones overlap. The caller gets the errors of `answer`. */
export function answerCalls<Request, Answer, Message = never>(
  answer: (request: Request) => Answer | Promise<Answer>,
  onMessage: (message: Message) => void = () => undefined,
): void {
  const answerOne = async (id: number, request: Request): Promise<void> => {
    try {
      post({ id, answer: await answer(request) });
    } catch (error) {
      post({ id, error: (error as Error).message });
    }
  };
  parentPort?.on('message', ({ id, request, message }: ToWorker<Request, Message>) => {
    if (id === undefined) onMessage(message as Message);
    else void answerOne(id, request as Request);
  });
}

/** Sends news from a worker to its owner, beside the answers. */
export const tellOwner = <News>(news: News): void => post({ news });

const post = (reply: FromWorker<unknown, unknown>): void => parentPort?.postMessage(reply);
