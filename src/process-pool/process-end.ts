import { isEnding } from '../common/process-identity.js';
import type { LaunchedProcess } from './launcher.js';

/** A process that closed a pipe gets this long to exit by itself. */
const graceMs = 200;
/** So often a process that has ended, or is ending, is waited for as long again. */
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

/** Turns of the event loop without output after which an ended process has nothing more in its pipes. */
const quietTurns = 2;
/** A grandchild that goes on writing must not hold an ended process for ever. */
const maxTurns = 256;

/**
 * What a process wrote before it ended still counts. Its pipes are read until they are quiet, not until they close:
 * a grandchild may hold them open. Every turn polls them once, so that what the kernel holds is seen.
 */
export function whenQuiet({ stdout, stderr }: LaunchedProcess, done: () => void): void {
  let heard = false;
  let quiet = 0;
  let turns = 0;
  const hear = (): void => {
    heard = true;
  };
  stdout.on('data', hear);
  stderr.on('data', hear);
  const turn = (): void => {
    quiet = heard ? 0 : quiet + 1;
    heard = false;
    const closed = stdout.readableEnded && stderr.readableEnded;
    if (!closed && quiet <= quietTurns && ++turns < maxTurns) return void setImmediate(turn);
    stdout.off('data', hear);
    stderr.off('data', hear);
    done();
  };
  turn();
}
