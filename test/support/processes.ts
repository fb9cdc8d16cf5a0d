import { readFileSync, readdirSync } from 'node:fs';

/** The pids of the direct children of a process, ended ones that were not waited for included. */
export function childrenOf(parent: number): number[] {
  return allPids().filter((pid) => parentOf(pid) === parent);
}

/** The pids of all processes whose command line holds `text`. */
export function processesWith(text: string): number[] {
  return allPids().filter((pid) => readProc(pid, 'cmdline').split('\0').join(' ').includes(text));
}

function parentOf(pid: number): number {
  const stat = readProc(pid, 'stat');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

const allPids = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
