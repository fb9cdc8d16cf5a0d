import { type BackOff, backOff } from '../../../base/common/back-off.js';
import type { ToolRow } from '../state/custom-tools.repository.js';

/** State of one tool in a round: what its row and its files ask for, and what runs. */
export interface Sighting {
  /** Absent: the tool was removed. */
  readonly row?: Pick<ToolRow, 'status' | 'healthStatus'> | undefined;
  /** Absent: nothing of it is loaded here. */
  readonly running?:
    | {
        /** It was built of this very row. */
        readonly isOfRow: boolean;
        /** The files of its program are others than those that it runs. */
        readonly hasChangedFiles: boolean;
        /** Processes that start, are idle or work; undefined: none can be started. */
        readonly processes: number | undefined;
        /** Its pool starts processes again and again until one is good. */
        readonly triesByItself: boolean;
      }
    | undefined;
  /** The same was not tried in vain a short while ago. */
  readonly mayTry: boolean;
  /** This round also asks tools how they are. */
  readonly checks: boolean;
}

/**
 * `load`: the tool is started, replaced or stopped according to its row.
 * `try`: the executable is started once, and runs if it answers: its files changed, or the tool is broken.
 * `retry`: the same for a tool that was unhealthy when it was last asked, and that nobody called since.
 * `ping`: an idle process is asked. `look`: there is none to ask, so the files of the program are looked for.
 */
export type Step = 'load' | 'try' | 'retry' | 'ping' | 'look';

/** The one thing to do about a tool in this round; undefined: nothing. */
export function stepFor({ row, running, mayTry, checks }: Sighting): Step | undefined {
  if (!row || row.status === 'inactive') return running && 'load';
  if (!running?.isOfRow && mayTry) return 'load';
  if (!running) return undefined;
  const { hasChangedFiles, processes, triesByItself } = running;
  const isBroken = (row.status === 'error' || processes === undefined) && !triesByItself;
  if ((hasChangedFiles || isBroken) && mayTry) return 'try';
  if (!checks || row.status === 'error') return undefined;
  if (processes) return 'ping';
  return row.healthStatus === 'unhealthy' && processes === 0 ? 'retry' : 'look';
}

interface Failure {
  /** The revision and files that were tried. */
  readonly what: string;
  readonly failures: number;
  readonly dueAt: number;
}

/**
 * Failed tries by tool: another revision or other files are tried at once, the same after pauses that double. All times in
 * milliseconds of one clock.
 */
export class Failures {
  private readonly last = new Map<string, Failure>();

  mayTry(tool: string, what: string, now: number): boolean {
    const last = this.last.get(tool);
    return last?.what !== what || now >= last.dueAt;
  }

  /** @returns whether this is the first time that it failed */
  add(tool: string, what: string, pauses: BackOff, now: number): boolean {
    const last = this.last.get(tool);
    const failures = last?.what === what ? last.failures + 1 : 1;
    this.last.set(tool, { what, failures, dueAt: now + backOff(failures, pauses) });
    return failures === 1;
  }

  forget(tool: string): void {
    this.last.delete(tool);
  }

  /** Forgets all but these. */
  keep(tools: { has(tool: string): boolean }): void {
    for (const tool of this.last.keys()) if (!tools.has(tool)) this.last.delete(tool);
  }
}
