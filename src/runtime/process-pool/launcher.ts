import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { ProcessSpec } from './pool.types.js';

export type LaunchEvents = {
  spawn: [];
  error: [NodeJS.ErrnoException];
  exit: [code: number | null, signal: NodeJS.Signals | null];
};

/** Must not be piped: the buffer of a `data` chunk is reused after its listeners return. */
export type OutputStream = Pick<Readable, 'on' | 'off' | 'pause' | 'resume' | 'destroy' | 'readableEnded'>;

/** A process being started. Emits `spawn`, later `exit`; or only `error` with a `code`. Nothing before the launcher returns. */
export interface LaunchedProcess {
  /** Set from `spawn` on, like the streams. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  on<E extends keyof LaunchEvents>(event: E, listener: (...args: LaunchEvents[E]) => void): this;
  /** Signals the process group, even before `spawn` but not after `exit`. The rest of the group is killed at `exit`. */
  kill(signal: NodeJS.Signals): void;
}

/** Starts an executable as the leader of its own process group, with three pipes. @throws if the start cannot be attempted */
export type Launcher = (spec: ProcessSpec) => LaunchedProcess;

/** Starts an executable directly, without the spawner. Forking this large process blocks the event loop for milliseconds. */
export const launch: Launcher = ({ command, args, cwd, env }) => {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const { pid } = child;
  let ended = false;
  const kill = (signal: NodeJS.Signals): void => {
    if (ended || pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // ESRCH or EPERM: the group has ended or runs as another user. There is nothing else to do.
    }
  };
  child.on('exit', () => {
    kill('SIGKILL');
    ended = true;
  });
  return Object.assign(child, { kill }) as LaunchedProcess;
};
