import { constants } from 'node:os';

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode?: number | null | undefined;
  readonly signal?: string | null | undefined;
}

/** Signals by which the kernel ends a process that breaks a rule of its sandbox; other rules answer it with an error. */
const rules = [
  { signal: 'SIGSYS', broken: 'it made a system call of another architecture' },
  { signal: 'SIGXFSZ', broken: 'it wrote a larger file than its temporary space allows' },
] as const;

/**
 * @param wrapped a program around the tool (bubblewrap) tells its signal as an exit code, as shells do
 * @returns which rule a sandboxed process was ended for; undefined: it ended for another reason
 */
export function brokenRule({ exitCode, signal }: ProcessEnd, wrapped: boolean): string | undefined {
  const told = (rule: (typeof rules)[number]): boolean =>
    signal === rule.signal || (wrapped && exitCode === 128 + constants.signals[rule.signal]);
  return rules.find(told)?.broken;
}
