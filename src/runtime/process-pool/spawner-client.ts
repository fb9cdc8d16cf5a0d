import { EventEmitter } from 'node:events';
import { accessSync, closeSync, constants as fsConstants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { TypedEvents } from '../../base/common/typed-events.js';
import { type LaunchedProcess, type Launcher, type LaunchEvents, launch } from './launcher.js';
import { encodeRelease, encodeSignal, encodeSpawn, systemError, type ToolReply } from './spawner-protocol.js';
import { Spawner, type SpawnerOptions } from './spawner.js';

/** State of the spawner and of its processes. */
interface SpawnerStats {
  /** false if processes are started directly. */
  readonly usable: boolean;
  readonly pid: number | undefined;
  /** Number of times that a dead spawner was replaced. */
  readonly restarts: number;
  /** Starts that the spawner has not answered. */
  readonly waiting: number;
  readonly running: number;
}

/** Troubles of the spawner. */
export type SpawnerEvent =
  /** The spawner died, and `running` tools with it. */
  | {
      readonly type: 'died';
      readonly pid: number | undefined;
      readonly why: string;
      readonly running: number;
    }
  /** The spawner does not work on this host: processes are started directly from now on. */
  | { readonly type: 'unusable'; readonly why: string };

/** A start is retried once if the spawner dies before answering. */
const maxAttempts = 2;

/** Length of the buffer for the output of processes. */
const readBufferBytes = 65_536;

/** The spawner that native/build.sh built for this platform below `root`; undefined if there is none, or it cannot run. */
export function findSpawner(root: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const binary = join(root, 'native', 'bin', `spawner-${process.arch}`);
  try {
    accessSync(binary, fsConstants.X_OK);
    return binary;
  } catch {
    return undefined;
  }
}

/**
 * Starts processes through a small native program (native/spawner.c), because forking this large process would block
 * the event loop. If the spawner dies, its tools die with it and are reported as exited; pending starts are sent to
 * its successor.
 */
export class SpawnerClient {
  readonly events = new TypedEvents<SpawnerEvent>(() => undefined);
  private readonly spawner: Spawner;
  private readonly processes = new Map<number, SpawnedProcess>();
  /** One buffer for all processes, because chunks are handled synchronously. */
  private readonly readBuffer = new Uint8Array(readBufferBytes);
  private lastId = 0;
  private closed = false;
  private isUnusable = false;

  constructor(options: SpawnerOptions) {
    this.spawner = new Spawner(options, {
      ready: () => this.advance(),
      reply: (reply) => this.handleReply(reply),
      lost: (pid, why) => this.onLost(pid, why),
      unusable: (why) => this.giveUp(why),
    });
  }

  /** Starts the spawner ahead of the first launch. */
  start(): void {
    this.spawner.start();
  }

  /** false if processes are started directly. */
  get usable(): boolean {
    return !this.isUnusable;
  }

  stats(): SpawnerStats {
    const { pid, restarts } = this.spawner;
    const running = this.inStage('running').length;
    return { usable: this.usable, pid, restarts, waiting: this.processes.size - running, running };
  }

  /** Ends all processes and the spawner; resolves when they are gone. Later launches throw. */
  async close(): Promise<void> {
    this.closed = true;
    for (const process of this.inStage('queued')) this.fail(process, stoppingError());
    await this.spawner.close();
  }

  /** @throws Error while the spawner is being closed; the errors of `encodeSpawn` */
  readonly launch: Launcher = (spec) => {
    if (this.closed) throw stoppingError();
    if (this.isUnusable) return launch(spec);
    const id = ++this.lastId;
    const process = new SpawnedProcess(id, spec.command, encodeSpawn(id, spec), (signal) =>
      this.signal(process, signal),
    );
    this.processes.set(id, process);
    this.spawner.start();
    this.advance();
    return process;
  };

  private inStage(stage: Stage): SpawnedProcess[] {
    return [...this.processes.values()].filter((process) => process.stage === stage);
  }

  /** Sends all queued starts if the spawner is ready. */
  private advance(): void {
    if (!this.spawner.ready) return;
    let isReplyDue = false;
    for (const process of this.processes.values()) {
      if (process.stage === 'queued') {
        process.stage = 'asked';
        process.attempts++;
        this.spawner.send(process.request);
      }
      if (process.stage === 'asked') isReplyDue = true;
    }
    this.spawner.setReplyDue(isReplyDue);
  }

  private signal(process: SpawnedProcess, signal: NodeJS.Signals): void {
    if (process.stage !== 'queued') return this.spawner.send(encodeSignal(process.id, signal));
    if (!this.processes.delete(process.id)) return;
    // Deferred, like all other ends.
    setImmediate(() => this.fail(process, cancelledError(process)));
  }

  private handleReply(reply: ToolReply): void {
    const process = this.processes.get(reply.id);
    switch (reply.kind) {
      case 'started':
        return this.onStarted(process, reply);
      case 'failed':
        if (process) this.fail(process, systemError(reply.errno, process.command));
        return;
      case 'exited':
        this.processes.delete(reply.id);
        process?.exited(reply.code, reply.signal);
    }
  }

  private onStarted(process: SpawnedProcess | undefined, { id, pid, fds }: Started): void {
    // The spawner died meanwhile, and the tool with it: `onLost` reports its end.
    if (!process || this.spawner.pid === undefined || !this.spawner.ready) return;
    let pipes: Pipes;
    try {
      pipes = openPipes(this.spawner.pid, fds, this.readBuffer);
    } catch (error) {
      return this.onPipesNotOpened(process, error as NodeJS.ErrnoException);
    }
    this.spawner.send(encodeRelease(id));
    process.started(pid, pipes);
    this.advance();
  }

  private onPipesNotOpened(process: SpawnedProcess, error: NodeJS.ErrnoException): void {
    // The spawner is dying: `onLost` reports the end of the process.
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return;
    this.spawner.send(encodeSignal(process.id, 'SIGKILL'));
    this.spawner.send(encodeRelease(process.id));
    this.fail(process, new Error(`its pipes cannot be opened: ${error.message}`));
    if (error.code === 'EACCES' || error.code === 'EPERM') this.giveUp(error.message);
  }

  private fail(process: SpawnedProcess, error: NodeJS.ErrnoException): void {
    this.processes.delete(process.id);
    process.failed(error);
    this.advance();
  }

  private onLost(pid: number | undefined, why: string): void {
    const running = this.inStage('running');
    const unanswered = this.inStage('asked');
    if (!this.closed) this.events.emit({ type: 'died', pid, why, running: running.length });
    for (const process of unanswered) {
      const isRetried = !this.closed && !process.cancelled && process.attempts < maxAttempts;
      if (isRetried) process.stage = 'queued';
      else this.fail(process, process.cancelled ? cancelledError(process) : new Error(`the spawner ${why}`));
    }
    for (const process of running) {
      this.processes.delete(process.id);
      process.exited(null, 'SIGKILL');
    }
    this.advance();
  }

  /** From now on, processes are started directly. */
  private giveUp(why: string): void {
    if (this.isUnusable) return;
    this.isUnusable = true;
    this.events.emit({ type: 'unusable', why });
    for (const process of this.inStage('queued')) this.fail(process, new Error(`the spawner ${why}`));
  }
}

type Started = Extract<ToolReply, { kind: 'started' }>;

const stoppingError = (): Error => new Error('the server is stopping');

const cancelledError = ({ command }: SpawnedProcess): Error =>
  systemError(-constants.errno.ECANCELED, command);

/** queued: not sent to a spawner · asked: not answered by it · running · ended: exited or never started. */
type Stage = 'queued' | 'asked' | 'running' | 'ended';

/** A process started by the spawner, from the request to the exit. */
class SpawnedProcess extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  /** Set by the owner and by `started`, `failed` and `exited`. */
  stage: Stage = 'queued';
  /** Number of start requests sent to a spawner. */
  attempts = 0;
  /** Whether it was killed before it ran. */
  cancelled = false;
  pid: number | undefined;
  /** The three streams are set from `spawn` on. */
  stdin!: Writable;
  stdout!: Readable;
  stderr!: Readable;

  constructor(
    readonly id: number,
    readonly command: string,
    /** The encoded start request. */
    readonly request: Buffer,
    private readonly signal: (signal: NodeJS.Signals) => void,
  ) {
    super();
  }

  kill(signal: NodeJS.Signals): void {
    if (this.stage === 'ended') return;
    if (this.stage !== 'running') this.cancelled = true;
    this.signal(signal);
  }

  started(pid: number, pipes: Pipes): void {
    this.stage = 'running';
    Object.assign(this, pipes, { pid });
    this.emit('spawn');
  }

  failed(error: NodeJS.ErrnoException): void {
    this.stage = 'ended';
    this.emit('error', error);
  }

  exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.stage = 'ended';
    this.emit('exit', code, signal);
  }
}

/** The gateway's ends of a tool's pipes. */
interface Pipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Opens the gateway's ends of a tool's pipes through the spawner's /proc entries. Each end is a separate open file, so
 * O_NONBLOCK affects only the gateway, and the spawner may close its own. Synchronous, because three system calls of a
 * few microseconds are faster than Node's thread pool.
 * @param buffer receives all reads. Listeners must copy a chunk that they keep. A buffer per read would add half of
 * the cost of reading, and more memory than the data itself during a flood.
 * @throws a system error; nothing is left open
 */
function openPipes(
  spawnerPid: number,
  fds: readonly [number, number, number],
  buffer: Uint8Array<ArrayBuffer>,
): Pipes {
  const opened: number[] = [];
  try {
    const modes = [fsConstants.O_WRONLY, fsConstants.O_RDONLY, fsConstants.O_RDONLY];
    for (const [n, fd] of fds.entries()) {
      opened.push(openSync(`/proc/${spawnerPid}/fd/${fd}`, (modes[n] ?? 0) | fsConstants.O_NONBLOCK));
    }
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
  const [stdin, stdout, stderr] = opened as [number, number, number];
  const input = (fd: number): Readable => {
    const callback = (bytes: number): boolean => {
      socket.emit('data', Buffer.from(buffer.buffer, 0, bytes));
      return true;
    };
    const socket: Socket = new Socket({ fd, readable: true, writable: false, onread: { buffer, callback } });
    return socket;
  };
  return {
    stdin: new Socket({ fd: stdin, readable: false, writable: true }),
    stdout: input(stdout),
    stderr: input(stderr),
  };
}
