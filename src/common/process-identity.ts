import { readFileSync } from 'node:fs';

/** `<pid>-<start time>`: the pid alone may be given to another process later, the pair never. */
export type ProcessIdentity = string;

const [stateField, flagsField, startTimeField] = [0, 6, 19];
/** The kernel's flag (PF_EXITING) of a process that runs no more of its program and is about to close its files. */
const exitingFlag = 0x4;

/**
 * The identity of a process, or undefined where it has ended; a zombie has ended.
 * @throws Error when that cannot be told, for want of a file descriptor, say
 */
export function identityOf(pid: number): ProcessIdentity | undefined {
  return identityIn(pid, statOf(pid));
}

function identityIn(pid: number, fields: readonly string[]): ProcessIdentity | undefined {
  const startTime = fields[startTimeField];
  return startTime === undefined || fields[stateField] === 'Z' ? undefined : `${pid}-${startTime}`;
}

/** A process that is taken for dead loses what it owns to others: where it cannot be told, the process lives. */
export function lives(identity: ProcessIdentity): boolean {
  try {
    return identityOf(Number.parseInt(identity, 10)) === identity;
  } catch {
    return true;
  }
}

/**
 * It has ended, or is on its way: others see its files closed before its parent hears of its end. Also where that
 * cannot be told, since the caller then waits.
 */
export function isEnding(pid: number): boolean {
  try {
    const fields = statOf(pid);
    return identityIn(pid, fields) === undefined || (Number(fields[flagsField]) & exitingFlag) !== 0;
  } catch {
    return true;
  }
}

/**
 * The arguments a process was started with; empty where it has ended.
 * @throws Error when that cannot be told
 */
export function commandLineOf(pid: number): string[] {
  return readProc(pid, 'cmdline').split('\0');
}

/** The fields of `stat` from the state on. The name before it is in brackets and may itself hold brackets and spaces. */
function statOf(pid: number): string[] {
  const stat = readProc(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (!gone.has((error as NodeJS.ErrnoException).code)) throw error;
    return '';
  }
}

/** No such process, or one that ended while it was looked at. Every other failure says nothing about it. */
const gone: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ESRCH']);
