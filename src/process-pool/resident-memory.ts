import { readFileSync } from 'node:fs';

/**
 * Resident memory in bytes of a process and everything below it: a sandboxed tool sits under its launcher.
 * VmRSS is in kB whatever the page size, which statm's pages are not.
 * @returns undefined when the process is gone
 */
export function residentBytes(pid: number): number | undefined {
  const status = read(`/proc/${pid}/status`);
  if (status === undefined) return undefined;
  const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  const children = read(`/proc/${pid}/task/${pid}/children`) ?? '';
  return children
    .split(' ')
    .filter(Boolean)
    .reduce((sum, child) => sum + (residentBytes(Number(child)) ?? 0), own);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
