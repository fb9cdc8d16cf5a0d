import { isEnding } from '../common/process-identity.js';

/** A process that closed a pipe gets this long to exit by itself. */
const graceMs = 200;
/** Times that a process which has ended, or is ending, gets this long again. */
const looks = 50;

/**
 * Calls back when a process that closed a pipe goes on running. On a busy machine its end takes long and may be told
 * late: one that is ending is waited for, unless it is never told of at all.
 * @param after a timer of the process's owner, who stops it at the exit
 */
export function whenItRunsOn(
  pid: number | undefined,
  after: (ms: number, act: () => void) => void,
  act: () => void,
  looksLeft = looks,
): void {
  after(graceMs, () => {
    const ending = pid !== undefined && isEnding(pid);
    if (ending && looksLeft > 0) whenItRunsOn(pid, after, act, looksLeft - 1);
    else act();
  });
}
