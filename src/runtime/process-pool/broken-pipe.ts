import { isEnding } from '../../base/common/process-identity.js';

/** Time for a process that closed a pipe to exit by itself. */
const graceMs = 200;
/** Number of extensions of that time for a process that is ending already. */
const maxExtensions = 50;

/**
 * Calls back if a process that closed a pipe keeps running. On a busy machine an exit takes long and may be reported
 * late, so a process that is ending gets extensions.
 * @param after sets a timer that the owner of the process clears at the exit
 */
export function ifStillRunning(
  pid: number | undefined,
  after: (ms: number, act: () => void) => void,
  act: () => void,
  extensions = maxExtensions,
): void {
  after(graceMs, () => {
    const isExiting = pid !== undefined && isEnding(pid);
    if (isExiting && extensions > 0) ifStillRunning(pid, after, act, extensions - 1);
    else act();
  });
}
