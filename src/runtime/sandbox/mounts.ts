import { dirname } from 'node:path';
import type { SandboxPolicy } from './sandbox-policy.js';
import type { LaunchFiles, SystemFiles } from './launch-files.js';

/**
 * A path in a tool's view of the file system. `ro`: read; `rx`: read and execute; `rw`: read and write, never execute;
 * `masked`: replaced by an empty directory.
 */
export interface Mount {
  readonly path: string;
  readonly access: 'ro' | 'rx' | 'rw' | 'masked';
}

export interface MountTable {
  /** Real paths, each once, parents before their children. */
  readonly mounts: readonly Mount[];
  /** Symbolic links to create, from link to target. */
  readonly links: ReadonlyMap<string, string>;
}

export const withAccess = (access: Mount['access'], paths: readonly string[]): Mount[] =>
  paths.map((path) => ({ path, access }));

export const noMounts: MountTable = { mounts: [], links: new Map() };

/** Sockets of the host's services. Masked so that a tool that may read all of `/` cannot connect to them. */
const serviceSockets = '/run';

const strength = { masked: 0, ro: 1, rx: 2, rw: 3 } as const;

/**
 * The view of the file system that a policy grants to a process. A path that is granted twice keeps the wider access.
 * The tool's own directory is writable only if `allowedPaths` lists it.
 * @param secrets directories to mask if a granted path contains them
 */
export function mountsFor(
  policy: SandboxPolicy,
  files: LaunchFiles,
  system: SystemFiles,
  secrets: readonly string[],
): MountTable {
  // Manifests inside an allowed path are visible already. Mounted again, a writable one could be swapped for a link.
  const manifests = files.manifests.filter((path) => !files.allowed.some((allowed) => covers(allowed, path)));
  const granted = [
    ...withAccess('ro', [...system.read, ...manifests]),
    ...withAccess('rx', [...system.run, ...files.own, ...files.run]),
    ...withAccess(policy.execute ? 'rx' : 'ro', files.read),
    ...withAccess(policy.write ? 'rw' : 'ro', files.allowed),
  ];
  const masked = [...secrets, serviceSockets].filter((secret) =>
    granted.some(({ path }) => path !== secret && covers(path, secret)),
  );
  const mounts = strongest([...withAccess('masked', masked), ...granted]);
  return { mounts, links: uncovered({ ...system.links, ...files.links }, mounts) };
}

function strongest(granted: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of granted) {
    const known = byPath.get(mount.path);
    if (!known || strength[mount.access] > strength[known.access]) byPath.set(mount.path, mount);
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The links that still have to be created: those in a visible directory exist already. */
function uncovered(
  links: Readonly<Record<string, string>>,
  mounts: readonly Mount[],
): ReadonlyMap<string, string> {
  const made = new Map<string, string>();
  for (const at of Object.keys(links).sort()) {
    const shown = mounts.some(({ path, access }) => access !== 'masked' && covers(path, at));
    if (!shown && ![...made.keys()].some((link) => covers(link, at))) made.set(at, links[at] ?? '');
  }
  return made;
}

/** Whether `path` is `directory` or below it. */
export function covers(directory: string, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (at === directory) return true;
    if (at === dirname(at)) return false;
  }
}
