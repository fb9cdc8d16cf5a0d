import { privateDirectory } from './bubblewrap.js';
import type { Place, Places } from './places.js';

interface LauncherSettings {
  readonly program: string;
  readonly places: Places;
  /** Beyond the places: what a process namespace or a private directory adds. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly run: readonly string[];
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
  const { program, places, read, write, run, network, limits, alone, keepModes, uid } = settings;
  const granted = alone ? shown(places) : mountedFromOutside(places);
  return [
    program,
    '--seccomp',
    ...(alone ? standingIn(network) : ['--held', String(granted.length)]),
    ...(uid === undefined ? [] : becoming(uid)),
    ...(keepModes ? ['--no-chmod'] : []),
    ...granted.flatMap(({ path, access }) => [option[access], path]),
    ...read.flatMap((path) => ['--ro', path]),
    ...run.flatMap((path) => ['--rx', path]),
    ...write.flatMap((path) => ['--rw', path]),
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

const shown = ({ places }: Places): ShownPlace[] =>
  places.filter((place): place is ShownPlace => place.access !== 'masked');

/** The host's directory of that name is never the one inside. */
const mountedFromOutside = (places: Places): ShownPlace[] =>
  shown(places).filter(({ path }) => path !== privateDirectory);

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
