import type { Places } from './places.js';

export interface LauncherSettings {
  readonly program: string;
  readonly places: Places;
  /** Beyond the places: what a process namespace or a private directory adds. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly run: readonly string[];
  readonly network: boolean;
  /** Bytes and counts; what is absent is not limited. */
  readonly limits: { readonly data?: number; readonly nproc?: number; readonly fsize?: number };
  /** No process namespace around it: the process ends with its parent, and none of its children leaves its group. */
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
    ...(alone ? ['--pdeathsig', '--no-detach'] : []),
    '--seccomp',
    ...(network ? [] : ['--no-net', '--no-unix']),
    ...paths,
    ...read.flatMap((path) => ['--ro', path]),
    ...run.flatMap((path) => ['--rx', path]),
    ...write.flatMap((path) => ['--rw', path]),
    ...Object.entries({ ...limits, core: 0 }).flatMap(([name, value]) => ['--rlimit', `${name}=${value}`]),
    '--',
  ];
}
