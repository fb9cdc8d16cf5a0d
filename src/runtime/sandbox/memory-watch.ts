import { Logger } from '@nestjs/common';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { readProc, statFieldsOf } from '../../base/common/process-identity.js';

const checkEveryMs = 250;
/** Interval while a group grows by more than an eighth of its limit between two checks. */
const recheckMs = 50;
/** Checks after which processes are listed again even if the known ones were idle. */
const checksPerListing = 8;
/** Threads that are read per event loop turn. */
const threadsPerTurn = 32;

/** Positions in what `statFieldsOf` returns: fields of /proc/<pid>/stat after the name. */
const statField = { state: 0, parent: 1, group: 2, residentPages: 21 };
/** Page faults and CPU time among these fields. */
const activityFields = [7, 13] as const;

/** A process and its descendants. */
interface Group {
  /** Pid of the process, which leads a process group. */
  readonly leader: number;
  readonly maxMB: number;
  /** Called with the reason if the group uses more memory. */
  readonly onExceeded: (why: string) => void;
  pids: readonly number[];
  /** CPU time and page faults of `pids` at the last check. */
  activity: string;
  /** Upper bound of the memory in use. Includes pages of files, and shared pages once per process. */
  residentMB: number;
}

/** Limits the memory of tools on hosts without cgroups. One timer serves all tools; without tools it does not run. */
export class MemoryWatch {
  private readonly groups = new Set<Group>();
  private readonly logger = new Logger(MemoryWatch.name);
  private readonly loop = new IntervalLoop(
    () => this.check(),
    checkEveryMs,
    (error, again) => again || this.logger.error(error),
  );
  private checks = 0;

  /**
   * Watches a process and its descendants. Calls `onExceeded` once if they use more memory.
   * @returns ends the watching
   */
  add(leader: number, maxMB: number, onExceeded: Group['onExceeded']): () => void {
    const group = { leader, maxMB, onExceeded, pids: [], activity: '', residentMB: 0 };
    this.groups.add(group);
    this.loop.start();
    return () => void this.remove(group);
  }

  /** @returns whether the group was still watched */
  private remove(group: Group): boolean {
    const wasWatched = this.groups.delete(group);
    if (this.groups.size === 0) void this.loop.stop();
    return wasWatched;
  }

  /** Measures all groups and reports those over their limit. */
  private async check(): Promise<void> {
    const isListing = this.checks++ % checksPerListing === 0;
    for (const group of this.groups) {
      await nextTurn();
      const { residentMB: before, maxMB } = group;
      const hasRun = refresh(group);
      if (hasRun || isListing) {
        group.pids = await this.processesOf(group.leader);
        refresh(group);
      }
      if (group.residentMB - before > maxMB / 8) this.loop.hasten(recheckMs);
      let used = group.residentMB > maxMB ? await usedMB(group) : 0;
      // Measured twice, because a process that forks meanwhile makes shared pages count twice.
      if (used > maxMB) used = Math.ceil(Math.min(used, await usedMB(group)));
      if (used > maxMB && this.remove(group))
        group.onExceeded(
          `The tool was ended: it used ${used} MB of memory, more than ${maxMB} MB (sandbox.maxMemoryMB)`,
        );
    }
  }

  /** All processes of a group, with orphans: the spawner adopts these, and they stay in their process group. */
  private async processesOf(leader: number): Promise<number[]> {
    const parent = Number(statFieldsOf(leader)[statField.parent]);
    const adopted = parent === process.pid ? [] : childrenOf(parent, parent);
    const leaders = new Set([...this.groups].map((group) => group.leader));
    const orphans = adopted.filter(
      (pid) => !leaders.has(pid) && Number(statFieldsOf(pid)[statField.group]) === leader,
    );
    const pids = new Set([leader, ...orphans]);
    let threads = 0;
    for (const _thread of descendants(pids)) if (++threads % threadsPerTurn === 0) await nextTurn();
    return [...pids];
  }
}

/** Adds all descendants to a set of processes, and yields each thread that was read. */
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

/** The kernel's page size, from the same memory in bytes and in pages. */
const pageBytes =
  2 **
  Math.round(
    Math.log2(process.memoryUsage.rss() / Number(statFieldsOf(process.pid)[statField.residentPages])),
  );

/** Resident bytes of processes. Ended ones have none. */
const residentIn = (stats: readonly string[][]): number =>
  sumOf(stats.map((fields) => Number(fields[statField.residentPages] ?? 0))) * pageBytes;

/**
 * Resident memory in bytes of a process and all its descendants: a sandboxed tool runs below its launcher.
 * @returns undefined if the process is gone
 */
export function residentBytes(pid: number): number | undefined {
  const pids = new Set([pid]);
  // Reading all threads adds all descendants to the set.
  Array.from(descendants(pids));
  const stats = [...pids].map(statFieldsOf);
  return stats[0]?.[statField.state] ? residentIn(stats) : undefined;
}

/** Measures a group. @returns whether any process ran since the last check, so that it may have started others */
function refresh(group: Group): boolean {
  const stats = group.pids.map(statFieldsOf);
  const before = group.activity;
  group.activity = stats.map((fields) => fields.slice(...activityFields).join()).join();
  group.residentMB = residentIn(stats) / 1_048_576;
  return before !== group.activity || before === '';
}

/** Memory in use. Shared pages count once, if this server may read the needed files. */
async function usedMB({ pids, maxMB }: Group): Promise<number> {
  const own = pids.map((pid) => megabytes(readProc(pid, 'status'), /^Rss(?:Anon|Shmem):\s+(\d+)/gm));
  if (sumOf(own) <= maxMB) return 0;
  const shares = pids.map(async (pid, n) => {
    // Requires CAP_SYS_PTRACE for processes of other users.
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
    return rollup === '' ? (own[n] ?? 0) : megabytes(rollup, /^Pss_(?:Anon|Shmem):\s+(\d+)/gm);
  });
  return sumOf(await Promise.all(shares));
}

/** The sum of the kilobytes that a pattern finds, in megabytes. */
const megabytes = (text: string, lines: RegExp): number =>
  sumOf([...text.matchAll(lines)].map(([, kilobytes]) => Number(kilobytes))) / 1_024;
