/** How one process is started; the environment is complete. The sandbox takes one and gives one back. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Calls `over` with the reason if the process must be ended, until the returned function is called. */
  readonly watch?: (pid: number, over: (why: string) => void) => () => void;
}

/** 3: everything; 2: no cgroup; 1: only the launcher; 0: nothing but a clean environment (docs/operate/sandbox.md). */
export type Tier = 0 | 1 | 2 | 3;

export const cgroupControllers = ['memory', 'pids', 'cpu'] as const;
export type CgroupController = (typeof cgroupControllers)[number];

/** The abilities that were seen to work on this host. An absent one does not, for the reason in `missing`. */
export interface HostAbilities {
  /** Path of bubblewrap. */
  readonly bubblewrap?: string;
  /** Path of our launcher (landlock, seccomp, rlimits). */
  readonly launcher?: string;
  /** RLIMIT_NPROC counts the processes of a tool in its user namespace: not for the real root. */
  readonly countsProcesses: boolean;
  /** Path of socat, which carries connections from inside a sandbox to the allow-list proxy. */
  readonly socat?: string;
  /** Directories in which leaf groups can be made, one for each controller. */
  readonly cgroups: Readonly<Partial<Record<CgroupController, CgroupBase>>>;
  /** Why every tool reads the gateway's own folder, although the launcher hides what it may. */
  readonly exposed?: string;
  /** The gateway is root, and this launcher starts tools as users of their own, from this id on. */
  readonly toolUsers?: { readonly firstUid: number; readonly launcher: string };
  /** One sentence for each part that is not there. */
  readonly missing: Readonly<Partial<Record<AbilityName, string>>>;
}
export type AbilityName = 'bubblewrap' | 'launcher' | 'socat' | 'cgroup' | 'toolUsers';

export interface CgroupBase {
  readonly version: 1 | 2;
  /** Our leaf groups are made directly below it; it is never written to itself. */
  readonly path: string;
}

/** The demands on a sandbox: those that a registration may name, and those that are always meant to hold. */
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
  /** Why something is not enforced, or how far it is. */
  readonly notes: Readonly<Partial<Record<SandboxField, string>>>;
  /** Absent while nothing of the tool is loaded. */
  readonly runsAs?: RunsAs;
  /** The same in words, with values; absent of a sandbox that is no tool's. */
  readonly mayTouch?: readonly string[];
}

/** The user that a tool's processes run as: never root. */
interface RunsAs {
  readonly uid: number;
}

export interface SandboxStatus {
  readonly enabled: boolean;
  readonly tier: Tier;
  readonly policy: 'enforce' | 'best-effort';
  readonly missing: HostAbilities['missing'];
  /** SANDBOX_GRANTABLE_PATHS. */
  readonly grantable: readonly string[];
  /** Tools are not kept from the gateway's own folder, and the keys in it. */
  readonly keysAreRead: boolean;
}
