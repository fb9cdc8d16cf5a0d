import type { Places } from './places.js';

export interface LauncherSettings {
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
}

const option = { ro: '--ro', rx: '--rx', rw: '--rw' } as const;

/** The part of the command line that stands before what is run under landlock, seccomp and rlimits. */
export function launcherCommand(settings: LauncherSettings): string[] {
  const { program, places, read, write, run, network, limits, alone } = settings;
  const paths = places.places.flatMap(({ path, access }) =>
    access === 'masked' ? [] : [option[access], path],
  );
  return [
    program,
    '--seccomp',
    ...(alone ? standingIn(network) : []),
    ...paths,
    ...read.flatMap((path) => ['--ro', path]),
    ...run.flatMap((path) => ['--rx', path]),
    ...write.flatMap((path) => ['--rw', path]),
    ...Object.entries({ ...limits, core: 0 }).flatMap(([name, value]) => ['--rlimit', `${name}=${value}`]),
    '--',
  ];
}

/**
 * Stands in for namespaces. The process ends with its parent, and none of its children leaves its group, which is
 * ended as a whole. Modes and owners, which landlock leaves alone, are not changed. A unix socket is a way around
 * every path: `--no-net` denies those as well, and who has a network is denied them alone.
 *
 * `--parent` is left out: by the time the launcher runs, the spawner has already asked for the signal at its death and
 * looked whether it still is the parent, and neither exec nor dropping capabilities takes that back. Its pid could not
 * be named here anyway: a spawner that dies is replaced, and where there is none the server starts the process itself.
 */
const standingIn = (network: boolean): string[] => [
  '--pdeathsig',
  '--no-detach',
  '--no-chmod',
  network ? '--no-unix' : '--no-net',
];
