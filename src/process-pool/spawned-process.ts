import { Buffer } from 'node:buffer';
import { EventEmitter } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { LaunchedProcess, LaunchEvents } from './launcher.js';

export interface Pipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * queued: not asked for yet · asked: the spawner has not answered · running · ended: also when it never ran.
 */
export type Stage = 'queued' | 'asked' | 'running' | 'ended';

/** A process that the spawner starts, from the wish to the end. */
export class SpawnedProcess extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  /** Changed by the owner, and by `started`, `failed` and `exited`. */
  stage: Stage = 'queued';
  /** How often a spawner was asked to start it. */
  attempts = 0;
  /** It was told to end before it ran. */
  cancelled = false;
  private running: (Pipes & { readonly pid: number }) | undefined;

  constructor(
    readonly id: number,
    readonly command: string,
    /** The frame that asks for it. */
    readonly request: Buffer,
    private readonly signal: (signal: NodeJS.Signals) => void,
  ) {
    super();
  }

  get pid(): number | undefined {
    return this.running?.pid;
  }

  get stdin(): Writable {
    return this.pipes.stdin;
  }

  get stdout(): Readable {
    return this.pipes.stdout;
  }

  get stderr(): Readable {
    return this.pipes.stderr;
  }

  kill(signal: NodeJS.Signals): void {
    if (this.stage === 'ended') return;
    if (this.stage !== 'running') this.cancelled = true;
    this.signal(signal);
  }

  started(pid: number, pipes: Pipes): void {
    this.stage = 'running';
    this.running = { pid, ...pipes };
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

  private get pipes(): Pipes {
    if (!this.running) throw new Error('The process has no streams before "spawn"');
    return this.running;
  }
}

/**
 * Opens the gateway's ends of a tool's pipes at the spawner. Each end is open for itself (O_NONBLOCK concerns
 * nobody else) and independent of what the spawner closes afterwards. Three system calls of a few microseconds: handing
 * them to Node's thread pool would take longer.
 * @param buffer everything is read into it: a chunk is good until its listeners return, and who keeps it copies it. A
 * buffer for each read costs half of what reading does, and a flood of them more memory than the flood itself.
 * @throws a system error; then nothing is left open
 */
export function openPipes(
  spawnerPid: number,
  fds: readonly [number, number, number],
  buffer: Uint8Array<ArrayBuffer>,
): Pipes {
  const opened: number[] = [];
  try {
    const modes = [constants.O_WRONLY, constants.O_RDONLY, constants.O_RDONLY];
    for (const [n, fd] of fds.entries()) {
      opened.push(openSync(`/proc/${spawnerPid}/fd/${fd}`, (modes[n] ?? 0) | constants.O_NONBLOCK));
    }
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
  const [stdin, stdout, stderr] = opened as [number, number, number];
  const input = (fd: number): Readable => {
    const callback = (bytes: number, { buffer }: Uint8Array): boolean => {
      socket.emit('data', Buffer.from(buffer, 0, bytes));
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
