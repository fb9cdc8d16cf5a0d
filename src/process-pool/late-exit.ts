import { identityOf } from '../common/process-identity.js';

/** A process that closed a pipe gets this long to exit by itself. */
const graceMs = 200;
/** So often a process that is gone is waited for as long again. */
const looks = 50;

/**
 * Calls back when a process that closed a pipe goes on running. On a busy machine its exit may be told late: one that
 * is gone is waited for, unless it is never told of at all.
 * @param after a timer of the process's owner, who stops it at the exit
 */
export function whenItRunsOn(
  pid: number | undefined,
  after: (ms: number, act: () => void) => void,
  act: () => void,
  looksLeft = looks,
): void {
  after(graceMs, () => {
    const gone = pid !== undefined && identityOf(pid) === undefined;
    if (gone && looksLeft > 0) whenItRunsOn(pid, after, act, looksLeft - 1);
    else act();
  });
}
