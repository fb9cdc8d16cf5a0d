import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface FoundProcess {
  readonly pid: number;
  readonly environment: string;
}

/** Every living process with this text in its environment. */
export function processesMarked(mark: string): FoundProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const environment = read(pid, 'environ');
    return environment.includes(mark) ? [{ pid, environment }] : [];
  });
}

/** The same process, not another one that was given its pid; ended ones that nobody waited for count as living. */
export function livesSince(pid: number, startedAt: string): boolean {
  const stat = read(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] === startedAt;
}

/** Open descriptors of a process, TCP connections aside: those are its clients' and its database's. */
export function descriptorsOf(pid: number): number {
  const tcp = new Set([...tcpInodes('tcp'), ...tcpInodes('tcp6')]);
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
    return inode === undefined || !tcp.has(inode);
  }).length;
}

/** The smallest number that a new descriptor of the process would get. */
export function lowestFreeDescriptor(pid: number): number {
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (taken.has(free)) free++;
  return free;
}

function tcpInodes(file: 'tcp' | 'tcp6'): string[] {
  const [, ...lines] = readFileSync(`/proc/net/${file}`, 'utf8').trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/)[9] ?? '');
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
