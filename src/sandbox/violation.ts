import { constants } from 'node:os';
import type { SandboxPolicy } from './sandbox-policy.js';

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

type Missing = (policy: SandboxPolicy) => boolean;

/** Errors that a program in a sandbox reports, and the grant that is missing then. */
const hints: readonly (readonly [error: RegExp, missing: Missing, hint: string])[] = [
  [
    /EAI_AGAIN|EAI_FAIL|ENOTFOUND|ENETUNREACH|Temporary failure in name resolution|Could not resolve host|Name or service not known|Network is unreachable|nodename nor servname|no such host|UnknownHostException|fetch failed|connection (issue|error)|connection attempts failed/i,
    ({ network }) => network === 'none',
    'This tool has no network: sandbox.allowNetwork or sandbox.allowedHosts gives it one',
  ],
  [
    /not among the tool's allowedHosts/,
    ({ network }) => network === 'hosts',
    'This tool reaches only its sandbox.allowedHosts',
  ],
  [
    /EACCES|EROFS|Permission denied|PermissionError|Read-only file system/i,
    () => true,
    'This tool may read its own folder and write TMPDIR: sandbox.allowedPaths, with permissions.canWriteFiles, grants more',
  ],
];

/** @returns the grant that may be missing where a tool reports this; undefined: none that is known */
export const hintFor = (error: string, policy: SandboxPolicy): string | undefined =>
  hints.find(([pattern, isMissing]) => pattern.test(error) && isMissing(policy))?.[2];
