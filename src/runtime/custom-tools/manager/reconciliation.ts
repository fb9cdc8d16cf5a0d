import { type BackOff, backOff } from '../../../base/common/back-off.js';
import type { ToolRow } from '../state/custom-tools.repository.js';

/** A tool as the reconciler finds it in a round: its row, its files and its running wrapper. */
export interface FoundTool {
  /** Absent: the tool was removed. */
  readonly row?: Pick<ToolRow, 'status' | 'healthStatus'> | undefined;
  /** Absent: the tool is not loaded on this replica. */
  readonly running?:
    | {
        /** Whether it was built from this version of the row. */
        readonly isOfRow: boolean;
        /** Whether the files of its program have changed since they were loaded. */
        readonly hasChangedFiles: boolean;
        /** Processes that start, are idle or work; undefined: no process can be started. */
        readonly processes: number | undefined;
        /** Whether its pool retries starts by itself until one succeeds. */
        readonly retriesByItself: boolean;
      }
    | undefined;
  /** Whether no recent try of the same revision and files failed. */
  readonly mayTry: boolean;
  /** Whether this round also checks the health of tools. */
  readonly checks: boolean;
}

/**
 * `load`: start, replace or stop the tool according to its row.
 * `testStart`: start the executable once and use it if it answers, because its files changed or the tool is broken.
 * `retry`: a test start as part of a health check: the tool was unhealthy at the last one and has no process since.
 * `ping`: check an idle process.
 * `checkFiles`: check that the program's files exist, because there is no process to ping.
 */
export type Step = 'load' | 'testStart' | 'retry' | 'ping' | 'checkFiles';

/** A tool's state in a round, and the step to take. */
export interface Plan {
  readonly name: string;
  readonly row: ToolRow | undefined;
  readonly step: Step | undefined;
  /** Identifies the revision and the files that a test start would run. */
  readonly candidate: string;
  /** Paths of files that differ from those that run. */
  readonly changed: readonly string[];
  /** Changed paths whose files were removed. */
  readonly gone: readonly string[];
}

/** The step that a tool needs in this round; undefined: none. */
export function stepFor({ row, running, mayTry, checks }: FoundTool): Step | undefined {
  if (!row || row.status === 'inactive') return running && 'load';
  if (!running?.isOfRow && mayTry) return 'load';
  if (!running) return undefined;
  const { hasChangedFiles, processes, retriesByItself } = running;
  const isBroken = (row.status === 'error' || processes === undefined) && !retriesByItself;
  if ((hasChangedFiles || isBroken) && mayTry) return 'testStart';
  if (!checks || row.status === 'error') return undefined;
  if (processes) return 'ping';
  return row.healthStatus === 'unhealthy' && processes === 0 ? 'retry' : 'checkFiles';
}

interface Failure {
  /** Identifies the revision and files that were tried. */
  readonly candidate: string;
  readonly failures: number;
  readonly dueAt: number;
}

/**
 * The last failed tries, by tool. Another revision or other files may be tried at once, the same ones after pauses that double.
 * All times in milliseconds of one clock.
 */
export class Failures {
  private readonly last = new Map<string, Failure>();

  /** Whether a candidate (a revision with certain files) may be tried now. */
  mayTry(tool: string, candidate: string, now: number): boolean {
    const last = this.last.get(tool);
    return last?.candidate !== candidate || now >= last.dueAt;
  }

  /** Adds a failed try. @returns whether it is the first failure of this revision and these files */
  add(tool: string, candidate: string, pauses: BackOff, now: number): boolean {
    const last = this.last.get(tool);
    const failures = last?.candidate === candidate ? last.failures + 1 : 1;
    this.last.set(tool, { candidate, failures, dueAt: now + backOff(failures, pauses) });
    return failures === 1;
  }

  /** Forgets the failures of a tool that works again. */
  forget(tool: string): void {
    this.last.delete(tool);
  }

  retain(tools: { has(tool: string): boolean }): void {
    for (const tool of this.last.keys()) if (!tools.has(tool)) this.last.delete(tool);
  }
}
