/** The command of a process, with its complete environment. The sandbox wraps one command in another. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Watches the process. Calls `end` with a reason if it must be killed. @returns ends the watching */
  readonly watch?: (pid: number, end: (why: string) => void) => () => void;
}

/** 3: everything; 2: no cgroup; 1: only the launcher; 0: only a clean environment (docs/operate/sandbox.md). */
export type Tier = 0 | 1 | 2 | 3;

export const cgroupControllers = ['memory', 'pids', 'cpu'] as const;
export type CgroupController = (typeof cgroupControllers)[number];

/** The abilities that work on this host. For an absent one `missing` has the reason. */
export interface HostAbilities {
  readonly bubblewrap?: string;
  /** Path of our launcher (landlock, seccomp, rlimits). */
  readonly launcher?: string;
  /** Whether RLIMIT_NPROC counts a tool's processes in its user namespace; it does not for the real root. */
  readonly countsProcesses: boolean;
  /** Path of socat, which carries connections from inside a sandbox to the allow-list proxy. */
  readonly socat?: string;
  /** Directories in which leaf groups can be made, one for each controller. */
  readonly cgroups: Readonly<Partial<Record<CgroupController, CgroupBase>>>;
  /** Why all tools can read the gateway's data directory despite the launcher. */
  readonly exposed?: string;
  /** Present if the gateway is root: the launcher starts tools as users from this id on. */
  readonly toolUsers?: { readonly firstUid: number; readonly launcher: string };
  readonly missing: Readonly<Partial<Record<AbilityName, string>>>;
}
/** Abilities whose absence has a reason. */
export type AbilityName = 'bubblewrap' | 'launcher' | 'socat' | 'cgroup' | 'toolUsers';

/** A group below which leaf groups can be created. */
export interface CgroupBase {
  readonly version: 1 | 2;
  /** Leaf groups are created directly below it; the group itself is never changed. */
  readonly path: string;
}

/** Restrictions of a sandbox: those of a registration, and those that always apply. */
export const sandboxFields = [
  'allowedPaths',
  'allowNetwork',
  'allowedHosts',
  'maxMemoryMB',
  'maxCpuPercent',
  'maxExecutionMs',
  'canReadFiles',
  'canWriteFiles',
  'canNetwork',
  'canExecuteCommands',
  'allowedEnvironmentVars',
  'dataDirectory',
  'processes',
  'temporaryDirectory',
  'writableNotExecutable',
  'systemCalls',
  'otherProcesses',
  'grandchildren',
] as const;
export type SandboxField = (typeof sandboxFields)[number];

/** The sandbox of one tool on this host. */
export interface EffectiveSandbox {
  readonly tier: Tier;
  readonly enforced: readonly SandboxField[];
  readonly notEnforced: readonly SandboxField[];
  /** Why a restriction is not enforced, or its limitations. */
  readonly notes: Readonly<Partial<Record<SandboxField, string>>>;
  /** The user that the tool's processes run as: never root. Absent while the tool is not loaded. */
  readonly runsAs?: { readonly uid: number };
  /** The restrictions as sentences with values; absent for a sandbox without a tool. */
  readonly mayTouch?: readonly string[];
}

/** The sandbox of this server, for the log and the readiness check. */
export interface SandboxStatus {
  readonly enabled: boolean;
  readonly tier: Tier;
  readonly policy: 'enforce' | 'best-effort';
  readonly missing: HostAbilities['missing'];
  /** SANDBOX_GRANTABLE_PATHS. */
  readonly grantable: readonly string[];
  /** Whether tools can read the gateway's data directory, and the keys in it. */
  readonly keysAreRead: boolean;
}
