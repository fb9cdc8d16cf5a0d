import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identityOf, lives } from '../common/process-identity.js';
import { type CgroupBase, type CgroupController, cgroupControllers } from './sandbox.types.js';
import type { Variables } from './bubblewrap.js';

/** The limits of one process's leaf group; an absent one is no limit. */
interface CgroupLimits {
  readonly memory?: number;
  readonly pids?: number;
  /** Per cent of one core. */
  readonly cpu?: number;
}
type CgroupBases = Readonly<Partial<Record<CgroupController, CgroupBase>>>;

const removalTries = 100;
const removalPauseMs = 20;
const cpuPeriodUs = 100_000;
const leafPrefix = 'toolkeeper-';
/** The identity of the gateway that made a leaf. */
const makerOfLeaf = /^toolkeeper-(\d+-\d+)-/;

/**
 * The prefix of the names of one sandbox's leaves: no other sandbox has it, in this process or in another, and it
 * tells which gateway made them.
 */
export const newLeafPrefix = (): string =>
  `${leafPrefix}${identityOf(process.pid) ?? `${process.pid}-0`}-${randomBytes(4).toString('hex')}-`;

/** Limits as the kernel's files take them, by file. */
export function limitFiles(controller: CgroupController, version: 1 | 2, value: number): [string, string][] {
  if (controller === 'pids') return [['pids.max', String(value)]];
  if (controller === 'cpu') {
    const quota = Math.max(1_000, Math.round((value * cpuPeriodUs) / 100));
    if (version === 2) return [['cpu.max', `${quota} ${cpuPeriodUs}`]];
    return [
      ['cpu.cfs_period_us', String(cpuPeriodUs)],
      ['cpu.cfs_quota_us', String(quota)],
    ];
  }
  return version === 2
    ? [
        ['memory.max', String(value)],
        ['memory.oom.group', '1'],
      ]
    : [['memory.limit_in_bytes', String(value)]];
}

/**
 * The leaf groups of one tool's processes. Each process makes its own before it becomes the tool, so that nothing of it
 * ever runs outside: a line of shell that ends in `exec`. Its group is named after the process.
 */
export class CgroupLeaves {
  private readonly directories: readonly string[];
  private readonly wanted: readonly (readonly [directory: string, files: readonly [string, string][]])[];

  /** @param prefix unique among all tools of all gateways on this host: begins with a `newLeafPrefix` */
  constructor(
    bases: CgroupBases,
    limits: CgroupLimits,
    private readonly prefix: string,
  ) {
    const byDirectory = new Map<string, [string, string][]>();
    for (const controller of cgroupControllers) {
      const base = bases[controller];
      const value = limits[controller];
      if (!base || value === undefined) continue;
      const files = byDirectory.get(base.path) ?? [];
      byDirectory.set(base.path, [...files, ...limitFiles(controller, base.version, value)]);
    }
    this.wanted = [...byDirectory];
    this.directories = [...byDirectory.keys()];
  }

  /**
   * The part of the command line that stands before everything else; empty where there is nothing to limit.
   * @param variables for what comes behind it, and not for the shell
   */
  command(variables: Variables = []): string[] {
    if (this.wanted.length === 0) return [];
    const lines = this.wanted.flatMap(([directory, files]) => [
      `g=${quoted(join(directory, this.prefix))}$$`,
      // Not the one of the tool's own PATH.
      'command -p mkdir "$g" || exit 125',
      // Swap has no limit of its own where the kernel accounts none; the group is killed as a whole where it can be.
      ...files.map(([file, value]) =>
        file === 'memory.oom.group'
          ? `{ echo ${value} >"$g/${file}"; } 2>/dev/null || :`
          : `echo ${value} >"$g/${file}" || exit 125`,
      ),
      'echo $$ >"$g/cgroup.procs" || exit 125',
    ]);
    const exports = variables.map(([name, value]) => `export ${name}=${quoted(value)}`);
    return ['/bin/sh', '-c', `${[...lines, ...exports].join('\n')}\nexec "$@"`, 'toolkeeper-cgroup'];
  }

  /** Ends what is left of a process's group and removes the group. @returns whether none is left */
  release(pid: number): Promise<boolean> {
    return this.removed((leaf) => leaf === `${this.prefix}${pid}`);
  }

  /** The same for every process of this tool. */
  releaseAll(): Promise<boolean> {
    return this.removed((leaf) => leaf.startsWith(this.prefix));
  }

  /** A killed process takes a moment to be gone. */
  private async removed(isOurs: (leaf: string) => boolean): Promise<boolean> {
    for (let tries = 0; tries < removalTries; tries++) {
      if (this.remove(isOurs)) return true;
      await delay(removalPauseMs, undefined, { ref: false });
    }
    return false;
  }

  private remove(isOurs: (leaf: string) => boolean): boolean {
    const leaves = this.directories.flatMap((directory) =>
      list(directory)
        .filter(isOurs)
        .map((leaf) => join(directory, leaf)),
    );
    return leaves.map(removeLeaf).every(Boolean);
  }
}

/**
 * A gateway that was killed leaves its empty groups behind; one that is in use cannot be removed. One of a gateway that
 * lives may be empty because a process is just about to enter it.
 */
export function removeDeadLeaves(bases: CgroupBases): void {
  for (const { path } of Object.values(bases)) {
    for (const leaf of list(path).filter(isLeftBehind)) tryRemove(join(path, leaf));
  }
}

function isLeftBehind(leaf: string): boolean {
  const maker = makerOfLeaf.exec(leaf)?.[1];
  return leaf.startsWith(leafPrefix) && (maker === undefined || !lives(maker));
}

function removeLeaf(leaf: string): boolean {
  if (!basename(leaf).startsWith(leafPrefix)) throw new Error(`${leaf} is no group of ours`);
  if (tryRemove(leaf)) return true;
  try {
    writeFileSync(join(leaf, 'cgroup.kill'), '1');
  } catch {
    for (const pid of processesIn(leaf)) kill(pid);
  }
  return tryRemove(leaf);
}

function processesIn(leaf: string): number[] {
  try {
    return readFileSync(join(leaf, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

function tryRemove(leaf: string): boolean {
  try {
    rmdirSync(leaf);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Hierarchy {
  readonly version: 1 | 2;
  /** Its mount point. */
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
