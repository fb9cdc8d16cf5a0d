import { readFileSync } from 'node:fs';

/**
 * Resident memory in bytes of a process and everything below it: a sandboxed tool sits under its launcher.
 * VmRSS is in kB whatever the page size, which statm's pages are not.
 * @returns undefined when the process is gone
 */
export function residentBytes(pid: number): number | undefined {
  const status = read(`/proc/${pid}/status`);
  return status === '' ? undefined : total(pid, status);
}

/** A process that has ended, waited for or not, has no VmRSS. */
function total(pid: number, status: string): number {
  const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.reduce((sum, child) => sum + total(child, read(`/proc/${child}/status`)), own);
}

/** Empty when the process is gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
