import { readFileSync } from 'node:fs';

/** `<pid>-<start time>`: the pid alone may be given to another process later, the pair never. */
export type ProcessIdentity = string;

const [stateField, flagsField, startTimeField] = [0, 6, 19];
/** Of the kernel's flags of a process: it runs no more of its program, and is about to close its files. */
const exitingFlag = 0x4;

/** The identity of a process, or undefined where it has ended; a zombie has ended. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  return identityIn(pid, statOf(pid));
}

function identityIn(pid: number, fields: readonly string[]): ProcessIdentity | undefined {
  const startTime = fields[startTimeField];
  return startTime === undefined || fields[stateField] === 'Z' ? undefined : `${pid}-${startTime}`;
}

export function lives(identity: ProcessIdentity): boolean {
  return identityOf(Number.parseInt(identity, 10)) === identity;
}

/** It has ended, or is on its way: others see its files closed before its parent hears of its end. */
export function isEnding(pid: number): boolean {
  const fields = statOf(pid);
  return identityIn(pid, fields) === undefined || (Number(fields[flagsField]) & exitingFlag) !== 0;
}

/** The arguments a process was started with; empty where it has ended. */
export function commandLineOf(pid: number): string[] {
  return readProc(pid, 'cmdline').split('\0');
}

/** From the state on. The name before it stands in brackets and may itself hold brackets and spaces. */
function statOf(pid: number): string[] {
  const stat = readProc(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

const readProc = (pid: number, file: string): string => readText(`/proc/${pid}/${file}`);

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
