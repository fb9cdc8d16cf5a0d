import { readFileSync } from 'node:fs';

/** `<pid>-<start time>`: the pid alone may be given to another process later, the pair never. */
export type ProcessIdentity = string;

const [stateField, startTimeField] = [0, 19];

/** The identity of a process, or undefined where it has ended; a zombie has ended. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = readProc(pid, 'stat');
  // The name stands in brackets and may itself hold brackets and spaces: the fields begin after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = fields[startTimeField];
  return startTime === undefined || fields[stateField] === 'Z' ? undefined : `${pid}-${startTime}`;
}

export function lives(identity: ProcessIdentity): boolean {
  return identityOf(Number.parseInt(identity, 10)) === identity;
}

/** The arguments a process was started with; empty where it has ended. */
export function commandLineOf(pid: number): string[] {
  return readProc(pid, 'cmdline').split('\0');
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
