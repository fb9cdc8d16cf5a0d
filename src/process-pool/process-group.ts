import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { ProcessSpec } from './pool.types.js';
import type { LaunchedProcess, Launcher, LaunchEvents } from './tool-process.types.js';

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
