import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The pids of the direct children of a process, ended ones that were not waited for included. */
export function childrenOf(parent: number): number[] {
  const threads = existsSync(`/proc/${parent}/task`) ? readdirSync(`/proc/${parent}/task`) : [];
  return threads.flatMap((thread) =>
    readProc(parent, `task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** The pids of all processes whose command line holds `text`. */
export function processesWith(text: string): number[] {
  return allPids().filter((pid) => readProc(pid, 'cmdline').split('\0').join(' ').includes(text));
}

/** Those of them that run Node themselves: what confines a process has its command line, too. */
export function nodeProcessesWith(text: string): number[] {
  return processesWith(text).filter((pid) => {
    try {
      return basename(readlinkSync(`/proc/${pid}/exe`)) === 'node';
    } catch {
      return false;
    }
  });
}

const allPids = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
