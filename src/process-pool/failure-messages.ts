import { type GiveUpReason, PoolFailure } from './pool.types.js';

/** What a caller reads when its request ran and was given up after `totalMs`. */
export function givenUpRunning(reason: GiveUpReason, totalMs: number): string {
  switch (reason) {
    case 'timeout':
      return `The tool did not answer within ${totalMs} ms`;
    case 'cancelled':
      return 'The caller left while the tool ran';
    case 'shutting_down':
      return 'The server stopped while the tool ran';
  }
}

/** The same for a request that never reached a process; `why` is the probable cause of the wait. */
export function givenUpWaiting(reason: GiveUpReason, totalMs: number, why: string): string {
  switch (reason) {
    case 'timeout':
      return `No process of the tool was free within ${totalMs} ms: ${why}`;
    case 'cancelled':
      return 'The caller left before a process was free';
    case 'shutting_down':
      return 'The server stopped before a process was free';
  }
}

export const allBusy = (poolSize: number): string =>
  poolSize === 1 ? 'its one process was busy' : `all ${poolSize} of its processes were busy`;

/** What a caller reads when no process can be had. */
export const cannotStart = (tool: string, error: string): string =>
  `Tool "${tool}" cannot be started: ${error}`;

/** Requests that a pool does not take at all. */
export const refusals = {
  queueFull: (tool: string, capacity: number) =>
    new PoolFailure('queue_full', `Tool "${tool}" has ${capacity} calls running and waiting already`),
  stopping: (tool: string) => new PoolFailure('shutting_down', `Tool "${tool}" is stopping`),
  cannotStart: (tool: string, error: string) => new PoolFailure('spawn_failed', cannotStart(tool, error)),
};
