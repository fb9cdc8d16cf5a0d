import { existsSync } from 'node:fs';
import { covers, type Mount, type MountTable, withAccess } from './mounts.js';

interface BubblewrapSettings {
  readonly program: string;
  readonly mounts: MountTable;
  /** Whether the tool shares the host's network. */
  readonly network: boolean;
  /** Size of each of its temporary file systems. */
  readonly temporaryBytes: number;
  readonly cwd: string;
  /** Environment of the tool that must not affect bubblewrap itself. */
  readonly variables?: Variables;
  /** Additional files to mount in `ownFiles`, by name. */
  readonly extra?: Readonly<Record<string, string>>;
}

/** Folder of our files in the sandbox. In /dev, because it can be created there even if `/` is the host's. */
export const ownFiles = '/dev/toolkeeper';

/** File name of our launcher in `ownFiles`. */
export const launcherInside = 'launcher';

/** The sandbox's private directory; HOME and TMPDIR of the tool. */
export const privateDirectory = '/tmp';

/** The command prefix that runs a program in bubblewrap. */
export function bubblewrapCommand(settings: BubblewrapSettings): string[] {
  const { program, network, mounts, cwd, variables = [], extra = {} } = settings;
  return [
    program,
    // `--unshare-all` treats the user namespace as optional, but `--disable-userns` needs one.
    '--unshare-user',
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--disable-userns',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...fileSystem(mounts, settings.temporaryBytes, extra),
    // Bubblewrap's own root is a tmpfs and must be read-only; the host's root keeps its access rights.
    ...(mounts.mounts.some(({ path }) => path === '/') ? [] : ['--remount-ro', '/']),
    ...variables.flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    cwd,
    '--',
  ];
}

/** The arguments for all mounts, parents first, so that a child directory can have different access. */
function fileSystem(
  { mounts, links }: MountTable,
  temporaryBytes: number,
  extra: Readonly<Record<string, string>>,
): string[] {
  const tmpfs = (path: string): string[] => [
    '--size',
    String(temporaryBytes),
    '--perms',
    '1777',
    '--tmpfs',
    path,
  ];
  const extras = Object.entries(extra).flatMap(([name, file]) => ['--ro-bind', file, `${ownFiles}/${name}`]);
  const ownMounts: readonly (readonly [string, string[]])[] = [
    ['/proc', ['--proc', '/proc']],
    ['/dev', ['--dev', '/dev', ...tmpfs('/dev/shm'), ...extras, '--remount-ro', '/dev']],
    [privateDirectory, tmpfs(privateDirectory)],
  ];
  const ownPaths = ownMounts.map(([path]) => path);
  const steps = [
    ...ownMounts,
    ...neededMounts(mounts, ownPaths).map((mount) => [mount.path, mountArguments(mount)] as const),
    ...[...links].map(([at, to]) => [at, ['--symlink', to, at]] as const),
  ];
  return steps.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, step]) => step);
}

/**
 * The mounts that are needed: those with the same access as the mount around them are skipped, because each mount
 * delays the start.
 * @param own paths mounted by bubblewrap itself, which hide the mount around them
 */
function neededMounts(mounts: readonly Mount[], own: readonly string[]): Mount[] {
  const free = mounts.filter(({ path }) => !own.includes(path));
  return free.filter((mount) => {
    const within = free.filter((other) => other !== mount && covers(other.path, mount.path));
    // The innermost mount around another has the longest path.
    const around = within.reduce<Mount | undefined>(
      (inner, other) => (inner && inner.path.length > other.path.length ? inner : other),
      undefined,
    );
    if (!around || isWritable(around) !== isWritable(mount)) return true;
    if (around.access === 'masked' || mount.access === 'masked') return true;
    return own.some((path) => covers(path, mount.path) && !covers(path, around.path));
  });
}

const isWritable = ({ access }: Mount): boolean => access === 'rw';

function mountArguments({ path, access }: Mount): string[] {
  switch (access) {
    case 'ro':
    case 'rx':
      return ['--ro-bind', path, path];
    case 'rw':
      return ['--bind', path, path];
    case 'masked':
      return ['--perms', '0555', '--tmpfs', path, '--remount-ro', path];
    default:
      return access satisfies never;
  }
}

/** Environment variables. Names were checked at registration; values may hold anything. */
export type Variables = readonly (readonly [name: string, value: string])[];

/** Loader and locale variables that could change how the sandbox's own programs run. */
const loaderVariables = /^(LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*)$/;

/** Splits the environment into variables for all programs and variables for the tool alone. */
export function splitVariables(env: Readonly<Record<string, string>>): {
  readonly shared: Record<string, string>;
  readonly toolOnly: Variables;
} {
  const all = Object.entries(env);
  return {
    shared: Object.fromEntries(all.filter(([name]) => !loaderVariables.test(name))),
    toolOnly: all.filter(([name]) => loaderVariables.test(name)),
  };
}

/** Name of the unix socket in the sandbox to which the relay forwards proxy connections. */
export const relaySocket = 'proxy.sock';
const relayPort = 3128;
const shell = 'sh';
const socatInside = 'socat';
/** 127.0.0.1 and the port as /proc/net/tcp writes them. */
const listeningAddress = `0100007F:${relayPort.toString(16).toUpperCase().padStart(4, '0')}`;

/**
 * Starts the relay, waits until it listens, and becomes the tool. A tool that is faster would find no network. 20000 is
 * the limit of attempts; 30000 marks that the relay listens.
 */
const relayScript = `
"${ownFiles}/${socatInside}" TCP-LISTEN:${relayPort},bind=127.0.0.1,fork,reuseaddr,backlog=64 UNIX-CONNECT:${ownFiles}/${relaySocket} </dev/null >/dev/null 2>&1 &
tries=0
while [ $tries -lt 20000 ]; do
  while read -r _ local remote state rest <&3; do
    if [ "$local $state" = "${listeningAddress} 0A" ]; then tries=30000; fi
  done 3</proc/net/tcp
  tries=$((tries + 1))
done
[ $tries -gt 30000 ] || { echo "the relay to the allow-list proxy did not start" >&2; exit 125; }
exec 3<&-
exec "$@"`;

/** The command prefix that starts the relay before the tool. */
export const relayCommand = (): string[] => [`${ownFiles}/${shell}`, '-c', relayScript, 'toolkeeper-relay'];

/** Host paths of the programs that the relay needs, by their name in the sandbox. */
export const relayFiles = (socat: string): Readonly<Record<string, string>> => ({
  [socatInside]: socat,
  [shell]: '/bin/sh',
});

/** URL of the relay, for clients in the sandbox. */
const proxyUrl = `http://127.0.0.1:${relayPort}`;

/** Proxy variables of curl, Python, Go and Node.js; Node.js reads them only with NODE_USE_ENV_PROXY. */
export const proxyVariables: Readonly<Record<string, string>> = {
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  NODE_USE_ENV_PROXY: '1',
};

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

/** The launcher's options that grant access to a path. */
const accessOptions = { ro: '--ro', rx: '--rx', rw: '--rw' } as const;

/** The command prefix that runs a program under landlock, seccomp and rlimits. */
export function launcherCommand(settings: LauncherSettings): string[] {
  const { program, mounts, more, network, limits, alone, keepModes, uid } = settings;
  const granted = alone ? visibleMounts(mounts.mounts) : heldMounts(mounts);
  return [
    program,
    '--seccomp',
    ...(alone ? insteadOfNamespaces(network) : ['--held', String(granted.length)]),
    ...(uid === undefined ? [] : userOptions(uid)),
    ...(keepModes ? ['--no-chmod'] : []),
    ...[...granted, ...visibleMounts(more)].flatMap(({ path, access }) => [accessOptions[access], path]),
    ...Object.entries({ ...limits, core: 0 }).flatMap(([name, value]) => ['--rlimit', `${name}=${value}`]),
    '--',
  ];
}

/**
 * The command prefix before bubblewrap. It opens the mounts without following links, so that the launcher inside can
 * check that bubblewrap, which follows links, mounted the same files. It also switches to the tool's user, because
 * bubblewrap's namespace contains only the user that started it.
 */
export const holdCommand = (program: string, mounts: MountTable, uid?: number): string[] => [
  program,
  // Changing the user clears the parent-death signal that the spawner has set.
  ...(uid === undefined ? [] : [...userOptions(uid), '--pdeathsig']),
  ...heldMounts(mounts).flatMap(({ path }) => ['--hold', path]),
  '--',
];

type VisibleMount = Mount & { readonly access: keyof typeof accessOptions };

const visibleMounts = (mounts: readonly Mount[]): VisibleMount[] =>
  mounts.filter((mount): mount is VisibleMount => mount.access !== 'masked');

/**
 * Mounts of the host that bubblewrap makes. The private directory is excluded: inside the sandbox it is never the host's
 * directory of that name.
 */
const heldMounts = (mounts: MountTable): VisibleMount[] =>
  visibleMounts(mounts.mounts).filter(({ path }) => path !== privateDirectory);

/**
 * Options that replace namespaces. The process ends with its parent, and its children cannot leave its group, which is
 * killed as a whole. Unix sockets bypass path rules: `--no-net` denies them too, and a tool with a network is denied
 * only these.
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

const userOptions = (uid: number): string[] => ['--user', `${uid}:${uid}`];

/**
 * Files of /proc/self that interpreters read, for a tool without a process namespace. All of /proc would show other
 * processes, and all of /proc/self the mounts of the host.
 */
const selfFiles = (
  'stat statm status maps smaps smaps_rollup cmdline comm environ auxv limits ' +
  'fd fdinfo io cgroup oom_score oom_score_adj'
)
  .split(' ')
  .map((name) => `/proc/self/${name}`);
/** Global files of /proc, which reveal no process. */
const globalFiles = ['meminfo', 'cpuinfo', 'stat', 'loadavg', 'filesystems'].map((name) => `/proc/${name}`);
/** Only those that exist, because a kernel may be built without some of them. */
const procFiles = [...selfFiles, ...globalFiles].filter((path) => existsSync(path));

/** /dev/zero is excluded: a writable shared mapping of it is memory that no limit counts. */
const writableDevices = ['/dev/null', '/dev/full'];

/** Granted parts of /proc and /dev for a tool with its own namespaces. */
export const namespaceMounts = [
  ...withAccess('ro', ['/proc', '/dev']),
  ...withAccess('rw', [...writableDevices, '/dev/tty', '/dev/pts', '/dev/shm']),
];

/** Granted parts of the host's /proc and /dev for a tool without namespaces. */
export const hostMounts = [
  ...withAccess('ro', [...procFiles, '/dev/zero', '/dev/random', '/dev/urandom']),
  ...withAccess('rw', writableDevices),
];
