import { EventEmitter } from 'node:events';
import { accessSync, constants as fsConstants } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { TypedEvents } from '../common/typed-events.js';
import type { ProcessSpec } from './pool.types.js';
import { type LaunchedProcess, type Launcher, type LaunchEvents, launch } from './launcher.js';
import { Spawner, type SpawnerOptions } from './spawner.js';
import {
  encodeRelease,
  encodeSignal,
  encodeSpawn,
  openPipes,
  type Pipes,
  systemError,
  type ToolReply,
} from './spawner-protocol.js';

export interface SpawnerStats {
  /** false: processes are started directly. */
  readonly usable: boolean;
  readonly pid: number | undefined;
  /** Spawners that took the place of one that died. */
  readonly restarts: number;
  /** Starts that it has not answered. */
  readonly waiting: number;
  readonly running: number;
}

export type SpawnerEvent =
  /** `running` tools died with it. */
  | {
      readonly type: 'died';
      readonly pid: number | undefined;
      readonly why: string;
      readonly running: number;
    }
  /** It cannot work here: processes are started directly from now on. */
  | { readonly type: 'unusable'; readonly why: string };

/** A start is asked for once more when its spawner died over it. */
const mostAttempts = 2;

const readBufferBytes = 65_536;

/**
 * The spawner that native/build.sh made for this machine.
 * @param root the folder that holds native/
 * @returns undefined where there is none, or it may not be executed
 */
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
 * Starts processes through a small program of our own (native/spawner.c), so that the event loop does not stand still
 * while this process, with all its memory, is forked. When a spawner dies, its tools are said to have exited, as they
 * have, and starts that it owed are asked of the next one.
 */
export class SpawnerClient {
  readonly events = new TypedEvents<SpawnerEvent>(() => undefined);
  readonly launch: Launcher = (spec) => this.begin(spec);
  private readonly spawner: Spawner;
  private readonly processes = new Map<number, SpawnedProcess>();
  /** Reading is synchronous: one serves all processes. */
  private readonly readBuffer = new Uint8Array(readBufferBytes);
  private lastId = 0;
  private closed = false;
  private unusable = false;

  constructor(options: SpawnerOptions) {
    this.spawner = new Spawner(options, {
      ready: () => this.advance(),
      reply: (reply) => this.reply(reply),
      lost: (pid, why) => this.lost(pid, why),
      unusable: (why) => this.giveUp(why),
    });
  }

  /** Starts the spawner ahead of the first launch. */
  start(): void {
    this.spawner.start();
  }

  stats(): SpawnerStats {
    return {
      usable: !this.unusable,
      pid: this.spawner.pid,
      restarts: this.spawner.restarts,
      waiting: this.processes.size - this.at('running').length,
      running: this.at('running').length,
    };
  }

  /** Ends every process that it started, and the spawner; resolves when they are gone. Nothing is started afterwards. */
  async close(): Promise<void> {
    this.closed = true;
    for (const process of this.at('queued')) this.fail(process, stopped());
    await this.spawner.close();
  }

  private begin(spec: ProcessSpec): LaunchedProcess {
    if (this.closed) throw stopped();
    if (this.unusable) return launch(spec);
    const id = ++this.lastId;
    const process = new SpawnedProcess(id, spec.command, encodeSpawn(id, spec), (signal) =>
      this.signal(process, signal),
    );
    this.processes.set(id, process);
    this.spawner.start();
    this.advance();
    return process;
  }

  private at(stage: Stage): SpawnedProcess[] {
    return [...this.processes.values()].filter((process) => process.stage === stage);
  }

  /** Asks for all starts that wait for a spawner. */
  private advance(): void {
    if (this.spawner.ready)
      for (const process of this.at('queued')) {
        process.stage = 'asked';
        process.attempts++;
        this.spawner.send(process.request);
      }
    this.spawner.owes(this.at('asked').length > 0);
  }

  private signal(process: SpawnedProcess, signal: NodeJS.Signals): void {
    if (process.stage !== 'queued') return this.spawner.send(encodeSignal(process.id, signal));
    if (!this.processes.delete(process.id)) return;
    // Said later, as every other end is.
    setImmediate(() => this.fail(process, cancelled(process)));
  }

  private reply(reply: ToolReply): void {
    const process = this.processes.get(reply.id);
    switch (reply.kind) {
      case 'started':
        return this.started(process, reply);
      case 'failed':
        if (process) this.fail(process, systemError(reply.errno, process.command));
        return;
      case 'exited':
        this.processes.delete(reply.id);
        process?.exited(reply.code, reply.signal);
    }
  }

  private started(process: SpawnedProcess | undefined, { id, pid, fds }: Started): void {
    // A spawner that died meanwhile took the tool along; its end will be said.
    if (!process || this.spawner.pid === undefined || !this.spawner.ready) return;
    let pipes: Pipes;
    try {
      pipes = openPipes(this.spawner.pid, fds, this.readBuffer);
    } catch (error) {
      return this.notOpened(process, error as NodeJS.ErrnoException);
    }
    this.spawner.send(encodeRelease(id));
    process.started(pid, pipes);
    this.advance();
  }

  private notOpened(process: SpawnedProcess, error: NodeJS.ErrnoException): void {
    // It is dying: as above.
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

  private lost(pid: number | undefined, why: string): void {
    const running = this.at('running');
    const owed = this.at('asked');
    if (!this.closed) this.events.emit({ type: 'died', pid, why, running: running.length });
    for (const process of owed) {
      const again = !this.closed && !process.cancelled && process.attempts < mostAttempts;
      if (again) process.stage = 'queued';
      else this.fail(process, process.cancelled ? cancelled(process) : new Error(`the spawner ${why}`));
    }
    for (const process of running) {
      this.processes.delete(process.id);
      process.exited(null, 'SIGKILL');
    }
    this.advance();
  }

  private giveUp(why: string): void {
    if (this.unusable) return;
    this.unusable = true;
    this.events.emit({ type: 'unusable', why });
    for (const process of this.at('queued')) this.fail(process, new Error(`the spawner ${why}`));
  }
}

type Started = Extract<ToolReply, { kind: 'started' }>;

const stopped = (): Error => new Error('the server is stopping');

const cancelled = ({ command }: SpawnedProcess): Error => systemError(-constants.errno.ECANCELED, command);

/**
 * queued: not asked for yet · asked: the spawner has not answered · running · ended: also when it never ran.
 */
type Stage = 'queued' | 'asked' | 'running' | 'ended';

/** A process that the spawner starts, from the wish to the end. */
class SpawnedProcess extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  /** Changed by the owner, and by `started`, `failed` and `exited`. */
  stage: Stage = 'queued';
  /** How often a spawner was asked to start it. */
  attempts = 0;
  /** It was told to end before it ran. */
  cancelled = false;
  pid: number | undefined;
  /** Set from `spawn` on, as the other two. */
  stdin!: Writable;
  stdout!: Readable;
  stderr!: Readable;

  constructor(
    readonly id: number,
    readonly command: string,
    /** The frame that asks for it. */
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
