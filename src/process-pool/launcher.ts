import { spawn } from 'node:child_process';
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
  /** Known from `spawn` on, as the streams are. */
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
export const launch: Launcher = ({ command, args, cwd, env }) => {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const { pid } = child;
  let ended = pid === undefined;
  const kill = (signal: NodeJS.Signals): boolean => {
    try {
      return !ended && process.kill(-(pid ?? NaN), signal);
    } catch {
      // ESRCH or EPERM: a group that is gone, or runs as another user, is no error. The caller can do no more.
      return false;
    }
  };
  child.on('exit', () => {
    kill('SIGKILL');
    ended = true;
  });
  return Object.assign(child, { kill }) as LaunchedProcess;
};
