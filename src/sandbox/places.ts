import { dirname } from 'node:path';
import type { SandboxPolicy } from './sandbox-policy.js';
import type { LaunchFiles, SystemFiles } from './launch-files.js';

/**
 * A part of the file system as a tool's process finds it. `ro`: read; `rx`: read and execute; `rw`: read and write,
 * never execute; `masked`: an empty directory stands there.
 */
export interface Place {
  readonly path: string;
  readonly access: 'ro' | 'rx' | 'rw' | 'masked';
}

export interface Places {
  /** Parents before what is below them, each path once; real paths. */
  readonly places: readonly Place[];
  /** Names under which a real path is known as well. */
  readonly links: ReadonlyMap<string, string>;
}

/** Each of the paths with the same access. */
export const placed = (access: Place['access'], paths: readonly string[]): Place[] =>
  paths.map((path) => ({ path, access }));

export const noPlaces: Places = { places: [], links: new Map() };

/** Sockets of the host's services live here: a tool that reads all of `/` need not reach them. */
const serviceSockets = '/run';

const strength = { masked: 0, ro: 1, rx: 2, rw: 3 } as const;

/**
 * The part of the file system that a policy shows to a process. A path that is given twice keeps its wider access; the
 * tool's own directory is only writable when it is listed itself.
 * @param secrets directories that nobody reads by way of a directory above them
 */
export function placesOf(
  policy: SandboxPolicy,
  files: LaunchFiles,
  system: SystemFiles,
  secrets: readonly string[],
): Places {
  // Those in an allowed path come with it: where it is writable, a tool could put a link in such a file's place.
  const manifests = files.manifests.filter((path) => !files.allowed.some((place) => covers(place, path)));
  const granted = [
    ...placed('ro', [...system.read, ...manifests]),
    ...placed('rx', [...system.run, ...files.own, ...files.run]),
    ...placed(policy.execute ? 'rx' : 'ro', files.read),
    ...placed(policy.write ? 'rw' : 'ro', files.allowed),
  ];
  const masked = [...secrets, serviceSockets].filter((secret) =>
    granted.some(({ path }) => path !== secret && covers(path, secret)),
  );
  const places = strongest([...placed('masked', masked), ...granted]);
  return { places, links: uncovered({ ...system.links, ...files.links }, places) };
}

function strongest(granted: readonly Place[]): Place[] {
  const byPath = new Map<string, Place>();
  for (const place of granted) {
    const known = byPath.get(place.path);
    if (!known || strength[place.access] > strength[known.access]) byPath.set(place.path, place);
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A link that already stands in a directory that is shown must not be made again. */
function uncovered(
  links: Readonly<Record<string, string>>,
  places: readonly Place[],
): ReadonlyMap<string, string> {
  const made = new Map<string, string>();
  for (const at of Object.keys(links).sort()) {
    const shown = places.some(({ path, access }) => access !== 'masked' && covers(path, at));
    if (!shown && ![...made.keys()].some((link) => covers(link, at))) made.set(at, links[at] ?? '');
  }
  return made;
}

/** `path` is `directory` or lies below it. */
export function covers(directory: string, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (at === directory) return true;
    if (at === dirname(at)) return false;
  }
}
