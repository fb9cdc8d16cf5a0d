import { Logger } from '@nestjs/common';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { readProc, statOf } from '../../base/common/process-identity.js';

const lookEveryMs = 250;
/** While a group grows by more than an eighth of its limit between two looks. */
const lookAgainMs = 50;
/** Looks after which processes are listed again even if those that are known did nothing. */
const looksPerListing = 8;
const threadsPerTurn = 32;

/** A process and its descendants. */
interface Group {
  /** Pid of the process, which leads a process group. */
  readonly leader: number;
  readonly maxMB: number;
  readonly over: (why: string) => void;
  pids: readonly number[];
  /** CPU time and page faults of `pids` at the last look. */
  activity: string;
  /** Upper bound of the memory in use: includes pages of files, and shared pages once for each process. */
  residentMB: number;
}

/** Limits memory in use where there is no cgroup. One timer serves all tools; without tools it does not run. */
export class MemoryWatch {
  private readonly groups = new Set<Group>();
  private readonly logger = new Logger(MemoryWatch.name);
  private readonly loop = new IntervalLoop(
    () => this.look(),
    lookEveryMs,
    (error, again) => again || this.logger.error(error),
  );
  private looks = 0;

  /** Calls `over` once if the group of a process uses more memory, until the returned function is called. */
  add(leader: number, maxMB: number, over: Group['over']): () => void {
    const group = { leader, maxMB, over, pids: [], activity: '', residentMB: 0 };
    this.groups.add(group);
    this.loop.start();
    return () => void this.remove(group);
  }

  private remove(group: Group): boolean {
    const removed = this.groups.delete(group);
    if (this.groups.size === 0) void this.loop.stop();
    return removed;
  }

  private async look(): Promise<void> {
    const listing = this.looks++ % looksPerListing === 0;
    for (const group of this.groups) {
      await nextTurn();
      const { residentMB: before, maxMB } = group;
      if (hasWorked(group) || listing) {
        group.pids = await this.processesOf(group.leader);
        hasWorked(group);
      }
      if (group.residentMB - before > maxMB / 8) this.loop.hasten(lookAgainMs);
      let used = group.residentMB > maxMB ? await usedMB(group) : 0;
      // A process that forks while the others are read counts shared pages twice.
      if (used > maxMB) used = Math.ceil(Math.min(used, await usedMB(group)));
      if (used > maxMB && this.remove(group))
        group.over(
          `The tool was ended: it used ${used} MB of memory, more than ${maxMB} MB (sandbox.maxMemoryMB)`,
        );
    }
  }

  /** Includes orphans: the spawner adopts them, and without namespaces they stay in their process group. */
  private async processesOf(leader: number): Promise<number[]> {
    const parent = Number(statOf(leader)[1]);
    const adopted = parent === process.pid ? [] : childrenOf(parent, parent);
    const leaders = new Set([...this.groups].map((group) => group.leader));
    const orphans = adopted.filter((pid) => !leaders.has(pid) && Number(statOf(pid)[2]) === leader);
    const pids = new Set([leader, ...orphans]);
    let threads = 0;
    for (const _thread of descendants(pids)) if (++threads % threadsPerTurn === 0) await nextTurn();
    return [...pids];
  }
}

/** Adds what processes started to them, one thread at a time. */
function* descendants(pids: Set<number>): Generator<string> {
  for (const pid of pids)
    for (const thread of threadsOf(pid)) {
      for (const child of childrenOf(pid, thread)) pids.add(child);
      yield thread;
    }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** The children that one thread of a process started. */
const childrenOf = (pid: number, thread: number | string): number[] =>
  readProc(pid, `task/${thread}/children`).split(' ').filter(Boolean).map(Number);

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

/** Deduced from two counts of the same memory: /proc counts in pages, whose size depends on the kernel. */
const pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / Number(statOf(process.pid)[21])));

/** A process that has ended has none, waited for or not. */
const residentIn = (stats: readonly string[][]): number =>
  sumOf(stats.map((fields) => Number(fields[21] ?? 0))) * pageBytes;

/**
 * Resident memory in bytes of a process and everything below it: a sandboxed tool sits under its launcher.
 * @returns undefined if the process is gone
 */
export function residentBytes(pid: number): number | undefined {
  const pids = new Set([pid]);
  void [...descendants(pids)];
  const stats = [...pids].map(statOf);
  return stats[0]?.[0] ? residentIn(stats) : undefined;
}

/** Updates a group. @returns whether any of its processes ran since the last look, so that it may have started others */
function hasWorked(group: Group): boolean {
  const stats = group.pids.map(statOf);
  const before = group.activity;
  group.activity = stats.map((fields) => fields.slice(7, 13).join()).join();
  group.residentMB = residentIn(stats) / 1_048_576;
  return before !== group.activity || before === '';
}

/** Memory in use. A page that several processes share counts once, if this server may read that. */
async function usedMB({ pids, maxMB }: Group): Promise<number> {
  const own = pids.map((pid) => megabytes(readProc(pid, 'status'), /^Rss(?:Anon|Shmem):\s+(\d+)/gm));
  if (sumOf(own) <= maxMB) return 0;
  const shares = pids.map(async (pid, n) => {
    // Needs CAP_SYS_PTRACE for processes of another user.
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
    return rollup === '' ? (own[n] ?? 0) : megabytes(rollup, /^Pss_(?:Anon|Shmem):\s+(\d+)/gm);
  });
  return sumOf(await Promise.all(shares));
}

const megabytes = (text: string, lines: RegExp): number =>
  sumOf([...text.matchAll(lines)].map(([, kilobytes]) => Number(kilobytes))) / 1_024;
