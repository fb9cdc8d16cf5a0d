import type { Place, Places } from './places.js';

export interface BubblewrapSettings {
  readonly program: string;
  readonly places: Places;
  readonly network: boolean;
  readonly temporaryBytes: number;
  readonly cwd: string;
  /** Single files that stand below `ownFiles`, by their name there. */
  readonly extra?: Readonly<Record<string, string>>;
}

/** Where files of ours stand: a directory that can be made even where `/` is the host's. */
export const ownFiles = '/dev/toolkeeper';

/** Where the sandbox has its private directory; HOME and TMPDIR of its tool. */
export const privateDirectory = '/tmp';

/** The part of the command line that stands before what is run inside. */
export function bubblewrapCommand(settings: BubblewrapSettings): string[] {
  const { program, network, places, cwd, extra = {} } = settings;
  return [
    program,
    // `--unshare-all` alone only tries for a user namespace, and `--disable-userns` needs one.
    '--unshare-user',
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--disable-userns',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...fileSystem(places, settings.temporaryBytes, extra),
    // What bubblewrap makes up the root from is memory; a root that is the host's keeps its own rights.
    ...(places.places.some(({ path }) => path === '/') ? [] : ['--remount-ro', '/']),
    '--chdir',
    cwd,
    '--',
  ];
}

/** Parents come first, so that a narrower directory can stand in a wider one. */
function fileSystem(
  { places, links }: Places,
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
  const own: readonly (readonly [string, string[]])[] = [
    ['/proc', ['--proc', '/proc']],
    ['/dev', ['--dev', '/dev', ...tmpfs('/dev/shm'), ...extras, '--remount-ro', '/dev']],
    [privateDirectory, tmpfs(privateDirectory)],
  ];
  const taken = new Set(own.map(([path]) => path));
  const steps = [
    ...own,
    ...places.filter(({ path }) => !taken.has(path)).map((place) => [place.path, mount(place)] as const),
    ...[...links].map(([at, to]) => [at, ['--symlink', to, at]] as const),
  ];
  return steps.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, step]) => step);
}

function mount({ path, access }: Place): string[] {
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
