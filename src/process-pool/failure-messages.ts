import { statSync } from 'node:fs';
import { type GiveUpReason, PoolFailure, type ProcessSpec } from './pool.types.js';

/** Characters of a line in a message. It stands at the end, so that a secret which is cut off there can be told. */
export const quotedChars = 200;

/** The message to a caller whose request ran and was given up after `totalMs`. */
export const givenUpRunning = (reason: GiveUpReason, totalMs: number, unread = ''): string =>
  ({
    timeout: `The tool did not answer within ${totalMs} ms${unread}`,
    cancelled: 'The caller left while the tool ran',
    shutting_down: 'The server stopped while the tool ran',
  })[reason];

/** The same for a request that never reached a process; `why` is the probable cause of the wait. */
export const givenUpWaiting = (reason: GiveUpReason, totalMs: number, why: string): string =>
  ({
    timeout: `No process of the tool was free within ${totalMs} ms: ${why}`,
    cancelled: 'The caller left before a process was free',
    shutting_down: 'The server stopped before a process was free',
  })[reason];

export const allBusy = (poolSize: number): string =>
  poolSize === 1 ? 'its one process was busy' : `all ${poolSize} of its processes were busy`;

/** Adds the last line that was no message: an answer may have got lost in it. */
export const lastUnread = (line: string | undefined): string =>
  line === undefined ? '' : `; the last line that it wrote is no message: ${line.slice(0, quotedChars)}`;

export const lateStart = (ms: number, unread: string | undefined): string =>
  `It did not answer "initialize" within ${ms} ms${lastUnread(unread)}`;

/** The message to a caller when no process can be had. */
export const cannotStart = (tool: string, error: string): string =>
  `Tool "${tool}" cannot be started: ${error}`;

/** Requests that a pool does not take at all. */
export const refusals = {
  queueFull: (tool: string, capacity: number) =>
    new PoolFailure('queue_full', `Tool "${tool}" has ${capacity} calls running and waiting already`),
  stopping: (tool: string) => new PoolFailure('shutting_down', `Tool "${tool}" is stopping`),
  cannotStart: (tool: string, error: string) => new PoolFailure('spawn_failed', cannotStart(tool, error)),
};

/** One sentence for whoever registered the executable. */
export function whyNotStarted(error: NodeJS.ErrnoException, { command, cwd }: ProcessSpec): string {
  // The system says ENOENT for a missing folder, a missing command and a missing interpreter alike.
  if (!isFolder(cwd)) return `The working directory "${cwd}" does not exist`;
  switch (error.code) {
    case 'ENOENT':
      return `The command "${command}" was not found, or the interpreter in its first line was not`;
    case 'EACCES':
      return `The command "${command}" is not executable`;
    default:
      return `The command "${command}" could not be started: ${error.message}`;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
