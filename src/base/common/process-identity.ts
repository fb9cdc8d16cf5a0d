import { readFileSync } from 'node:fs';

/** `<pid>-<start time>`. A pid alone may be reused by another process, the pair cannot. */
export type ProcessIdentity = string;

/** Fields of a process, by their index in `statFieldsOf`. */
const [stateField, flagsField, startTimeField] = [0, 6, 19];
/** The kernel's flag (PF_EXITING) of a process that runs no more of its program and is about to close its files. */
const exitingFlag = 0x4;
/** Error codes for a process that does not exist or ended during the check. Other errors do not prove its end. */
const endedCodes: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ESRCH']);

/**
 * The identity of a process; undefined if it has ended or is a zombie.
 * @throws Error if that cannot be determined, for example without a free file descriptor
 */
export function identityOf(pid: number): ProcessIdentity | undefined {
  return identityIn(pid, statFieldsOf(pid));
}

/** The identity in the fields of a process. */
function identityIn(pid: number, fields: readonly string[]): ProcessIdentity | undefined {
  const startTime = fields[startTimeField];
  return startTime === undefined || fields[stateField] === 'Z' ? undefined : `${pid}-${startTime}`;
}

/** Whether a process lives. True if unknown, because others take over the resources of a dead process. */
export function lives(identity: ProcessIdentity): boolean {
  try {
    return identityOf(Number.parseInt(identity, 10)) === identity;
  } catch {
    return true;
  }
}

/** Whether a process has ended or is exiting: its files close before its parent is notified. True if unknown: callers wait. */
export function isEnding(pid: number): boolean {
  try {
    const fields = statFieldsOf(pid);
    return identityIn(pid, fields) === undefined || (Number(fields[flagsField]) & exitingFlag) !== 0;
  } catch {
    return true;
  }
}

/** The command line of a process; empty if it has ended. @throws Error if that cannot be determined */
export function commandLineOf(pid: number): string[] {
  return readProc(pid, 'cmdline').split('\0');
}

/** The fields of `stat` from the state on. The name before it is in brackets and may contain brackets and spaces. */
export function statFieldsOf(pid: number): string[] {
  const stat = readProc(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** A file of a process; empty if the process has ended. */
export function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (!endedCodes.has((error as NodeJS.ErrnoException).code)) throw error;
    return '';
  }
}
