import { existsSync } from 'node:fs';
import { privateDirectory } from './bubblewrap.js';
import { type Place, placed, type Places } from './places.js';

interface LauncherSettings {
  readonly program: string;
  readonly places: Places;
  /** Beyond the places: what a process namespace or a private directory adds. */
  readonly more: readonly Place[];
  /** Inside of a network namespace that says so by itself, this changes nothing. */
  readonly network: boolean;
  /** Bytes and counts; what is absent is not limited. */
  readonly limits: { readonly data?: number; readonly nproc?: number; readonly fsize?: number };
  /** No namespaces around it: the launcher is all there is. */
  readonly alone: boolean;
  /** Modes, owners and attributes of files stay as they are, also of the tool's own. */
  readonly keepModes: boolean;
  /** The user that the launcher becomes; absent: it stays whom it was started by. */
  readonly uid?: number | undefined;
}

const option = { ro: '--ro', rx: '--rx', rw: '--rw' } as const;

/** The part of the command line that stands before what is run under landlock, seccomp and rlimits. */
export function launcherCommand(settings: LauncherSettings): string[] {
  const { program, places, more, network, limits, alone, keepModes, uid } = settings;
  const granted = alone ? shown(places.places) : mountedFromOutside(places);
  return [
    program,
    '--seccomp',
    ...(alone ? standingIn(network) : ['--held', String(granted.length)]),
    ...(uid === undefined ? [] : becoming(uid)),
    ...(keepModes ? ['--no-chmod'] : []),
    ...[...granted, ...shown(more)].flatMap(({ path, access }) => [option[access], path]),
    ...Object.entries({ ...limits, core: 0 }).flatMap(([name, value]) => ['--rlimit', `${name}=${value}`]),
    '--',
  ];
}

/**
 * The part of the command line that stands before bubblewrap: it opens the places without following a link, so that
 * the launcher inside can tell whether bubblewrap, which does follow them, has mounted the very same. It becomes the
 * tool's own user, for in bubblewrap's namespace there is only the user that it was started by.
 */
export const holding = (program: string, places: Places, uid?: number): string[] => [
  program,
  // The change of user takes back the signal for which the spawner has asked.
  ...(uid === undefined ? [] : [...becoming(uid), '--pdeathsig']),
  ...mountedFromOutside(places).flatMap(({ path }) => ['--hold', path]),
  '--',
];

type ShownPlace = Place & { readonly access: keyof typeof option };

const shown = (places: readonly Place[]): ShownPlace[] =>
  places.filter((place): place is ShownPlace => place.access !== 'masked');

/** The host's directory of that name is never the one inside. */
const mountedFromOutside = (places: Places): ShownPlace[] =>
  shown(places.places).filter(({ path }) => path !== privateDirectory);

/**
 * Stands in for namespaces. The process ends with its parent, and none of its children leaves its group, which is
 * ended as a whole. A unix socket is a way around
 * every path: `--no-net` denies those as well, and a tool with a network is denied them alone.
 *
 * `--parent` is left out: by the time the launcher runs, the spawner has already asked for the signal at its death and
 * looked whether it still is the parent, and neither exec nor dropping capabilities takes that back. Its pid could not
 * be named here anyway: a spawner that dies is replaced, and where there is none the server starts the process itself.
 */
const standingIn = (network: boolean): string[] => [
  '--pdeathsig',
  '--no-detach',
  network ? '--no-unix' : '--no-net',
];

const becoming = (uid: number): string[] => ['--user', `${uid}:${uid}`];

/**
 * Paths of /proc for a tool without a process namespace, where /proc shows everybody: those that interpreters read
 * of themselves, and those that say nothing of others. Not the folder of itself: below it stand the host's mounts and the sockets of everybody.
 */
const ofItself = (
  'stat statm status maps smaps smaps_rollup cmdline comm environ auxv limits ' +
  'fd fdinfo io cgroup oom_score oom_score_adj'
)
  .split(' ')
  .map((name) => `/proc/self/${name}`);
const ofEverybody = ['meminfo', 'cpuinfo', 'stat', 'loadavg', 'filesystems'].map((name) => `/proc/${name}`);
/** A kernel may be built without some of them. */
const ofProcesses = [...ofItself, ...ofEverybody].filter((path) => existsSync(path));

/** Not zero: a shared mapping of it that may be written is memory that no limit counts. */
const writableDevices = ['/dev/null', '/dev/full'];

/** The granted parts of /proc and /dev where a tool has namespaces of its own. */
export const ownNamespace = [
  ...placed('ro', ['/proc', '/dev']),
  ...placed('rw', [...writableDevices, '/dev/tty', '/dev/pts', '/dev/shm']),
];

/** The granted parts of the host's /proc and /dev. */
export const ownProcess = [
  ...placed('ro', [...ofProcesses, '/dev/zero', '/dev/random', '/dev/urandom']),
  ...placed('rw', writableDevices),
];
