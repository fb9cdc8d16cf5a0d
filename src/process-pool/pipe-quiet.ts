import type { LaunchedProcess } from './tool-process.types.js';

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
