import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { ProcessSpec } from './pool.types.js';

export type LaunchEvents = {
  spawn: [];
  error: [NodeJS.ErrnoException];
  exit: [code: number | null, signal: NodeJS.Signals | null];
};

/** To be listened to, not to be piped: a chunk of `data` is good until its listeners return. */
export type OutputStream = Pick<Readable, 'on' | 'off' | 'pause' | 'resume' | 'destroy' | 'readableEnded'>;

/**
 * A process that is about to run. It says `spawn` and later `exit`, or it says `error` and nothing else (a system
 * error, whose `code` tells why it does not run); never before the launcher has returned it.
 */
export interface LaunchedProcess {
  /** From `spawn` on, and so are the streams. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  on<E extends keyof LaunchEvents>(event: E, listener: (...of: LaunchEvents[E]) => void): this;
  /** Signals its whole group, also before `spawn`; nothing after `exit`. At `exit` the rest of the group is killed. */
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts an executable as the leader of its own process group, with three pipes.
 * @throws when it cannot even be tried
 */
export type Launcher = (spec: ProcessSpec) => LaunchedProcess;

/** Starts an executable from this very process, whose event loop stands still for the time of a fork. */
export const launch: Launcher = (spec) => new DirectProcess(spec);

class DirectProcess extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  private readonly child: ChildProcessWithoutNullStreams;
  private ended = false;

  constructor({ command, args, cwd, env }: ProcessSpec) {
    super();
    this.child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.on('spawn', () => this.emit('spawn'));
    this.child.on('error', (error) => {
      if (this.pid === undefined) this.emit('error', error);
    });
    this.child.on('exit', (code, signal) => {
      this.kill('SIGKILL');
      this.ended = true;
      this.emit('exit', code, signal);
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get stdin(): Writable {
    return this.child.stdin;
  }

  get stdout(): Readable {
    return this.child.stdout;
  }

  get stderr(): Readable {
    return this.child.stderr;
  }

  /** A group that is gone, or runs as another user, is no error: the caller can do no more. */
  kill(signal: NodeJS.Signals): void {
    if (this.pid === undefined || this.ended) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // ESRCH or EPERM
    }
  }
}
