import { spawn } from 'node:child_process';
import type { Launcher } from './tool-process.types.js';

/** Starts an executable as the leader of a process group of its own. */
export const launch: Launcher = ({ command, args, cwd, env }) =>
  spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });

/** Signals a whole process group. A group that is gone, or runs as another user, is no error: the caller can do no more. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch {
    // ESRCH or EPERM
  }
}
