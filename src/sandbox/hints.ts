import type { SandboxPolicy } from './sandbox-policy.js';

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
