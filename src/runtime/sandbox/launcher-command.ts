import { existsSync } from 'node:fs';
import { privateDirectory } from './bubblewrap.js';
import { type Mount, withAccess, type MountTable } from './mounts.js';

interface LauncherSettings {
  readonly program: string;
  readonly mounts: MountTable;
  /** Additional paths from a process namespace or a private directory. */
  readonly more: readonly Mount[];
  /** Whether the tool has a network. Ignored inside a network namespace, which decides by itself. */
  readonly network: boolean;
  /** Bytes and counts; absent: unlimited. */
  readonly limits: { readonly data?: number; readonly nproc?: number; readonly fsize?: number };
  /** Whether the launcher runs without bubblewrap's namespaces. */
  readonly alone: boolean;
  /** Denies changes of modes, owners and attributes, even of the tool's own files. */
  readonly keepModes: boolean;
  /** The user to switch to; absent: the launcher keeps its user. */
  readonly uid?: number | undefined;
}

const option = { ro: '--ro', rx: '--rx', rw: '--rw' } as const;

/** The command prefix that runs a program under landlock, seccomp and rlimits. */
export function launcherCommand(settings: LauncherSettings): string[] {
  const { program, mounts, more, network, limits, alone, keepModes, uid } = settings;
  const granted = alone ? shown(mounts.mounts) : mountedFromOutside(mounts);
  return [
    program,
    '--seccomp',
    ...(alone ? insteadOfNamespaces(network) : ['--held', String(granted.length)]),
    ...(uid === undefined ? [] : becoming(uid)),
    ...(keepModes ? ['--no-chmod'] : []),
    ...[...granted, ...shown(more)].flatMap(({ path, access }) => [option[access], path]),
    ...Object.entries({ ...limits, core: 0 }).flatMap(([name, value]) => ['--rlimit', `${name}=${value}`]),
    '--',
  ];
}

/**
 * The command prefix before bubblewrap. It opens the mounts without following links, so that the launcher inside can
 * check that bubblewrap, which follows links, mounted the same files. It also switches to the tool's user, because
 * bubblewrap's namespace contains only the user that started it.
 */
export const holding = (program: string, mounts: MountTable, uid?: number): string[] => [
  program,
  // Changing the user clears the parent-death signal that the spawner has set.
  ...(uid === undefined ? [] : [...becoming(uid), '--pdeathsig']),
  ...mountedFromOutside(mounts).flatMap(({ path }) => ['--hold', path]),
  '--',
];

type VisibleMount = Mount & { readonly access: keyof typeof option };

const shown = (mounts: readonly Mount[]): VisibleMount[] =>
  mounts.filter((mount): mount is VisibleMount => mount.access !== 'masked');

/** The private directory is excluded: inside the sandbox it is never the host's directory of that name. */
const mountedFromOutside = (mounts: MountTable): VisibleMount[] =>
  shown(mounts.mounts).filter(({ path }) => path !== privateDirectory);

/**
 * Replaces namespaces. The process ends with its parent, and its children cannot leave its group, which is killed as a
 * whole. Unix sockets bypass path rules: `--no-net` denies them too, and a tool with a network is denied only these.
 *
 * `--parent` is not needed: the spawner has set the parent-death signal and checked its parent before the launcher runs,
 * and neither exec nor dropping capabilities clears the signal. The spawner's pid is not fixed anyway: a dead spawner
 * is replaced, and without one the server starts the process itself.
 */
const insteadOfNamespaces = (network: boolean): string[] => [
  '--pdeathsig',
  '--no-detach',
  network ? '--no-unix' : '--no-net',
];

const becoming = (uid: number): string[] => ['--user', `${uid}:${uid}`];

/**
 * Paths of /proc for a tool without a process namespace, where /proc shows all processes: those that interpreters read
 * about themselves, and global ones that reveal no other process. /proc/self as a whole would show all host mounts.
 */
const ofItself = (
  'stat statm status maps smaps smaps_rollup cmdline comm environ auxv limits ' +
  'fd fdinfo io cgroup oom_score oom_score_adj'
)
  .split(' ')
  .map((name) => `/proc/self/${name}`);
const ofEverybody = ['meminfo', 'cpuinfo', 'stat', 'loadavg', 'filesystems'].map((name) => `/proc/${name}`);
/** Filtered because a kernel may be built without some of them. */
const ofProcesses = [...ofItself, ...ofEverybody].filter((path) => existsSync(path));

/** /dev/zero is excluded: a writable shared mapping of it is memory that no limit counts. */
const writableDevices = ['/dev/null', '/dev/full'];

/** Granted parts of /proc and /dev for a tool with its own namespaces. */
export const ownNamespace = [
  ...withAccess('ro', ['/proc', '/dev']),
  ...withAccess('rw', [...writableDevices, '/dev/tty', '/dev/pts', '/dev/shm']),
];

/** Granted parts of the host's /proc and /dev for a tool without namespaces. */
export const ownProcess = [
  ...withAccess('ro', [...ofProcesses, '/dev/zero', '/dev/random', '/dev/urandom']),
  ...withAccess('rw', writableDevices),
];
