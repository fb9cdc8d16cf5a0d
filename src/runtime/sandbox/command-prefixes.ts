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
    ...variables.flatMap((variable) => ['--setenv', ...variable]),
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
  const tmpfs = ['--size', String(temporaryBytes), '--perms', '1777', '--tmpfs'];
  const dev = ['--dev', '/dev', ...tmpfs, '/dev/shm'];
  for (const [name, file] of Object.entries(extra)) dev.push('--ro-bind', file, `${ownFiles}/${name}`);
  const steps = new Map([
    ['/proc', ['--proc', '/proc']],
    ['/dev', [...dev, '--remount-ro', '/dev']],
    [privateDirectory, [...tmpfs, privateDirectory]],
  ]);
  const own = [...steps.keys()];
  for (const mount of mounts)
    if (!own.includes(mount.path) && isNeeded(mount, mounts, own))
      steps.set(mount.path, mountArguments(mount));
  for (const [at, to] of links) steps.set(at, ['--symlink', to, at]);
  return [...steps].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, step]) => step);
}

/**
 * Whether a mount is needed: one with the same access as the mount around it is skipped, because each mount delays the
 * start.
 * @param own paths mounted by bubblewrap itself, which hide the mount around them
 */
function isNeeded({ path, access }: Mount, mounts: readonly Mount[], own: readonly string[]): boolean {
  let around: Mount | undefined;
  // Sorted by path, so that the last mount around another is the innermost.
  for (const mount of mounts)
    if (mount.path !== path && !own.includes(mount.path) && covers(mount.path, path)) around = mount;
  if (!around) return true;
  if (around.access === 'masked' || access === 'masked') return true;
  if ((around.access === 'rw') !== (access === 'rw')) return true;
  const { path: outer } = around;
  return own.some((hiding) => covers(hiding, path) && !covers(hiding, outer));
}

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
export function splitVariables(env: Readonly<Record<string, string>>) {
  const shared: Record<string, string> = {};
  const toolOnly: [name: string, value: string][] = [];
  for (const [name, value] of Object.entries(env)) {
    if (loaderVariables.test(name)) toolOnly.push([name, value]);
    else shared[name] = value;
  }
  return { shared, toolOnly };
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
  const prefix = [program, '--seccomp'];
  if (alone) prefix.push(...insteadOfNamespaces(network));
  else prefix.push('--held', String(granted.length));
  if (uid !== undefined) prefix.push('--user', `${uid}:${uid}`);
  if (keepModes) prefix.push('--no-chmod');
  for (const { path, access } of [...granted, ...visibleMounts(more)])
    prefix.push(accessOptions[access], path);
  for (const [name, value] of Object.entries({ ...limits, core: 0 }))
    prefix.push('--rlimit', `${name}=${value}`);
  return [...prefix, '--'];
}

/**
 * The command prefix before bubblewrap. It opens the mounts without following links, so that the launcher inside can
 * check that bubblewrap, which follows links, mounted the same files. It also switches to the tool's user, because
 * bubblewrap's namespace contains only the user that started it.
 */
export function holdCommand(program: string, mounts: MountTable, uid?: number): string[] {
  const prefix = [program];
  // Changing the user clears the parent-death signal that the spawner has set.
  if (uid !== undefined) prefix.push('--user', `${uid}:${uid}`, '--pdeathsig');
  for (const { path } of heldMounts(mounts)) prefix.push('--hold', path);
  return [...prefix, '--'];
}

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
