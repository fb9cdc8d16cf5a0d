import { constants } from 'node:os';
import type { SandboxPolicy } from './sandbox-policy.js';

export interface ProcessEnd {
  readonly exitCode?: number | null | undefined;
  readonly signal?: string | null | undefined;
}

/** Signals with which the kernel kills a process that breaks a sandbox rule. Other rules return an error to it. */
const killSignals = [
  { signal: 'SIGSYS', broken: 'it made a system call of another architecture' },
  { signal: 'SIGXFSZ', broken: 'it wrote a larger file than its temporary space allows' },
] as const;

/**
 * Finds the sandbox rule for which a process was killed.
 * @param wrapped whether bubblewrap runs the tool and reports its signal as an exit code, as shells do
 * @returns undefined if it ended for another reason
 */
export function brokenRule({ exitCode, signal }: ProcessEnd, wrapped: boolean): string | undefined {
  const matches = (rule: (typeof killSignals)[number]): boolean =>
    signal === rule.signal || (wrapped && exitCode === 128 + constants.signals[rule.signal]);
  return killSignals.find(matches)?.broken;
}

/** Facts about a failed tool besides its error. */
export interface FailureFacts {
  /** Whether the tool did not start. */
  readonly starting?: boolean | undefined;
  /** The host and port that the tool's proxy refused last. */
  readonly denied?: string | undefined;
  /** Whether a path is in the tool's view of the file system. */
  readonly sees?: (path: string) => boolean;
}

/** Whether a hint applies to an error that matches its pattern. */
type Applies = (policy: SandboxPolicy, facts: FailureFacts, error: string) => boolean;

const notFoundHint =
  'This tool sees its own folder (workingDir, or else the folder of its program), and of other folders those in sandbox.allowedPaths';
const notFound = /\bENOENT\b|No such file|cannot find the (file|path)|FileNotFound|NoSuchFile|os error 2\b/i;

/**
 * Whether an error names a missing file outside of the tool's view, or names none at all. Lines that report no missing
 * file, such as those of a stack, are left out.
 */
function namesInvisibleFile(error: string, { sees = () => true }: FailureFacts): boolean {
  const lines = error.split('\n').filter((line) => notFound.test(line));
  const paths = lines.flatMap((line) => line.match(/(?<![\w.:/~-])\/[^\s'"`,;:)\]]+/g) ?? []);
  return paths.some((path) => !sees(path)) || lines.some((line) => /^[^/'"`]*\(os error 2\)/.test(line));
}

/** Error messages typical of a missing grant or a limit, and a hint that names it, with figures in braces. */
const hints: readonly (readonly [error: RegExp, applies: Applies, hint: string])[] = [
  [
    /\b403\b|Forbidden|\bRefused\b|not among the tool's allowedHosts|from proxy/,
    ({ network }, { denied }) => network === 'hosts' && denied !== undefined,
    'sandbox.allowedHosts lacks {denied}; an entry without a port means 80 and 443, so name the port: {denied}',
  ],
  [
    /\bECONNREFUSED\b|connection ?refused|actively refused|ConnectException|Couldn't connect to server|Failed to connect|Could not connect/i,
    ({ network }) => network === 'none',
    'This tool has no network and does not reach this host either: sandbox.allowedHosts, such as 127.0.0.1:8080, or sandbox.allowNetwork gives it one',
  ],
  [
    /\b(EAI_AGAIN|EAI_FAIL|ENOTFOUND|ENETUNREACH)\b|Temporary failure in name resolution|Could not resolve host|Name or service not known|Network is unreachable|nodename nor servname|no such host|UnknownHostException|fetch failed|connection (issue|error)|connection attempts failed/i,
    ({ network }) => network === 'none',
    'This tool has no network: sandbox.allowNetwork or sandbox.allowedHosts gives it one',
  ],
  [
    /detected dubious ownership/,
    () => true,
    'Git finds that the repository belongs to another user than the tool; it accepts it with GIT_CONFIG_COUNT=1, GIT_CONFIG_KEY_0=safe.directory and GIT_CONFIG_VALUE_0=<the folder> in the env of the tool',
  ],
  [
    /\b(EACCES|EROFS)\b|Permission denied|PermissionError|Read-only file system|unable to open database file/i,
    () => true,
    'This tool may read its own folder (workingDir, or else the folder of its program) and write TMPDIR: sandbox.allowedPaths, with permissions.canWriteFiles, grants more',
  ],
  [
    /can't (start new|create) thread|create (new )?(native|OS) thread|spawn thread|pthread_create|fork: .{0,40}temporarily unavailable|spawn \S{1,200} EAGAIN|what\(\): +Resource temporarily unavailable/i,
    () => true,
    'This tool may have {processes} processes and threads (SANDBOX_PROCESSES) and use {memoryMB} MB of memory (sandbox.maxMemoryMB)',
  ],
  [
    // The last two are kills by the kernel. Memory of a graphics card is not limited.
    /^(?![^]*\b(CUDA|GPU)\b)[^]*(out[ _]of[ _]memory\b|(insufficient|not enough|reserve virtual|allocate( \w+)?) memory|unable to allocate \d|cannot allocate (vector|\d)|memory allocation.{0,40}failed|buffer allocation failed|\b(heap|virtual memory|memory) exhausted|reserve enough space|GC heap initialization failed|MemoryE(rror|xception)\b|\bENOMEM\b|\bbad_alloc\b|was ended by SIGKILL|ended with exit code 137\b)/i,
    () => true,
    'This tool may use {memoryMB} MB of memory (sandbox.maxMemoryMB)',
  ],
  [
    /\bECONNREFUSED\b|connection ?refused|name resolution|getaddrinfo|Could not resolve host|Network is unreachable|no such host/i,
    ({ network }, _facts, error) => network === 'hosts' && !error.includes('The host cannot be reached'),
    'This tool reaches its sandbox.allowedHosts through a proxy only: its client must use HTTP_PROXY and HTTPS_PROXY',
  ],
  [notFound, (_policy, facts, error) => namesInvisibleFile(error, facts), notFoundHint],
  [
    // With bubblewrap a path that is not granted does not exist for the tool.
    /\bENOENT\b|No such file|does not exist|not a valid Git repository|Cannot find (module|package)|NotFoundError/i,
    (_policy, { starting }) => starting === true,
    notFoundHint,
  ],
];

/** Finds a hint at the grant that may be missing for this error; undefined if none is known. */
export function hintFor(error: string, policy: SandboxPolicy, facts: FailureFacts = {}): string | undefined {
  const match = hints.find(([pattern, applies]) => pattern.test(error) && applies(policy, facts, error));
  return match?.[2].replace(/\{(\w+)\}/g, (_, name: 'processes' | 'memoryMB' | 'denied') =>
    String(name === 'denied' ? facts.denied : policy[name]),
  );
}
