import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limitFiles, newLeafPrefix, type CgroupBases } from './cgroups.js';
import { type CgroupBase, type CgroupController, cgroupControllers } from './sandbox.types.js';

interface Hierarchy {
  readonly version: 1 | 2;
  /** Where it is mounted. */
  readonly mount: string;
  /** The group of this process in it, as the mount shows it. */
  readonly own: string;
  /** Version 1 only. */
  readonly controllers: readonly string[];
}

const harmless: Readonly<Record<CgroupController, number>> = {
  memory: 1_073_741_824,
  pids: 1_000,
  cpu: 100,
};

/**
 * Finds the directories in which leaf groups can be made, and makes one in each to see that it works.
 * @param setting `off`; `auto`: our own group where it is the root of what is visible, since only then nobody else's
 *   accounting runs through it; or a group's path inside its hierarchy, which the operator gave us
 */
export function findCgroups(setting: string): { bases: CgroupBases; missing?: string } {
  if (setting === 'off') return { bases: {}, missing: 'SANDBOX_CGROUP=off' };
  const bases: Partial<Record<CgroupController, CgroupBase>> = {};
  const reasons = new Set<string>();
  for (const controller of cgroupControllers) {
    const found = baseOf(controller, setting);
    if (typeof found === 'string') reasons.add(found);
    else bases[controller] = found;
  }
  return { bases, ...(reasons.size > 0 && { missing: [...reasons].join('; ') }) };
}

function baseOf(controller: CgroupController, setting: string): CgroupBase | string {
  const hierarchy = hierarchyOf(controller);
  if (!hierarchy) return `no ${controller} controller is mounted`;
  const { version, mount, own } = hierarchy;
  if (setting === 'auto' && own !== '/') {
    return `the ${controller} group ${own} was made by somebody else: name one that is ours in SANDBOX_CGROUP`;
  }
  const path = join(mount, setting === 'auto' ? own : setting);
  if (version === 2 && !words(join(path, 'cgroup.subtree_control')).includes(controller)) {
    return `${path} hands no ${controller} controller down`;
  }
  const problem = whyNoLeaf({ version, path }, controller);
  return problem ?? { version, path };
}

/** Really makes a leaf group, sets a limit and removes it. */
function whyNoLeaf({ version, path }: CgroupBase, controller: CgroupController): string | undefined {
  const leaf = join(path, `${newLeafPrefix()}probe`);
  try {
    mkdirSync(leaf);
    try {
      for (const [file, value] of limitFiles(controller, version, harmless[controller])) {
        if (file !== 'memory.oom.group') writeFileSync(join(leaf, file), value);
      }
    } finally {
      rmdirSync(leaf);
    }
    return undefined;
  } catch (error) {
    return `no ${controller} group can be made in ${path} (${(error as NodeJS.ErrnoException).code})`;
  }
}

function hierarchyOf(controller: CgroupController): Hierarchy | undefined {
  const all = hierarchies();
  const first = all.find(({ controllers }) => controllers.includes(controller));
  const unified = all.find(({ version }) => version === 2);
  return (
    first ??
    (unified && words(join(unified.mount, 'cgroup.controllers')).includes(controller) ? unified : undefined)
  );
}

/** Both layouts, and the hybrid of them. */
function hierarchies(): Hierarchy[] {
  const groups = lines('/proc/self/cgroup').map((line) => line.split(':'));
  return lines('/proc/self/mountinfo').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', mount = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if ((type !== 'cgroup' && type !== 'cgroup2') || !existsSync(mount)) return [];
    const version = type === 'cgroup2' ? 2 : 1;
    const controllers = version === 2 ? [] : options.split(',');
    const group = groups.find(([id, names = '']) =>
      version === 2 ? id === '0' : names.split(',').some((name) => controllers.includes(name)),
    );
    const path = group?.slice(2).join(':') ?? '/';
    // A container's mount shows a part of the hierarchy: what is above it has no name here.
    const own = root !== '/' && path.startsWith(root) ? path.slice(root.length) || '/' : path;
    return [{ version, mount, own, controllers }];
  });
}

const words = (path: string): string[] => lines(path).flatMap((line) => line.split(' '));

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
