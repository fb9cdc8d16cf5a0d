/** Signals a whole process group. A group that is gone, or runs as another user, is no error: the caller can do no more. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch {
    // ESRCH or EPERM
  }
}
