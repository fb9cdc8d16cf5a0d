import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identityOf, lives } from '../../base/common/process-identity.js';
import { type CgroupBase, type CgroupController, cgroupControllers } from './sandbox.types.js';
import type { Variables } from './command-prefixes.js';

/** Limits of the leaf group of one process; absent: unlimited. */
interface CgroupLimits {
  readonly memory?: number;
  readonly pids?: number;
  /** Percent of one core. */
  readonly cpu?: number;
}

/** The group below which leaves are created, for each available controller. */
type CgroupBases = Readonly<Partial<Record<CgroupController, CgroupBase>>>;

/** A killed process takes a moment to leave its group, so removal is tried several times. */
const removalTries = 100;
const removalPauseMs = 20;
/** Period in which a group may use its share of CPU time. */
const cpuPeriodUs = 100_000;
/** The kernel's minimum for CPU time in a period. */
const minQuotaUs = 1_000;
const leafPrefix = 'toolkeeper-';
/** The identity of the gateway that created a leaf. */
const makerOfLeaf = /^toolkeeper-(\d+-\d+)-/;

/**
 * The name prefix of one sandbox's leaf groups. It is unique across sandboxes and processes and identifies the gateway
 * that created them.
 */
export const newLeafPrefix = (): string =>
  `${leafPrefix}${identityOf(process.pid) ?? `${process.pid}-0`}-${randomBytes(4).toString('hex')}-`;

/** A limit as pairs of a cgroup file and its content. */
export function limitFiles(controller: CgroupController, version: 1 | 2, value: number): [string, string][] {
  if (controller === 'pids') return [['pids.max', String(value)]];
  if (controller === 'cpu') {
    const quota = Math.max(minQuotaUs, Math.round((value * cpuPeriodUs) / 100));
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
 * The leaf groups of one tool's processes. A shell script creates the group, enters it and then `exec`s the tool, so
 * that no part of the tool runs outside of its group. The group is named after the pid.
 */
export class CgroupLeaves {
  /** Files to write in each new group, by the parent directory. */
  private readonly limits: ReadonlyMap<string, readonly [file: string, content: string][]>;

  /** @param prefix unique among all tools of all gateways on this host; starts with a `newLeafPrefix` */
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
    this.limits = byDirectory;
  }

  /**
   * The start of the command line; empty if there is nothing to limit.
   * @param variables environment of the program that follows, not of the shell
   */
  command(variables: Variables = []): string[] {
    if (this.limits.size === 0) return [];
    const lines: string[] = [];
    for (const [directory, files] of this.limits) {
      lines.push(`g=${quoted(join(directory, this.prefix))}$$`);
      // `command -p` ignores the tool's PATH.
      lines.push('command -p mkdir "$g" || exit 125');
      for (const [file, value] of files)
        lines.push(
          // memory.oom.group is optional: kernels that support it kill the group as a whole.
          file === 'memory.oom.group'
            ? `{ echo ${value} >"$g/${file}"; } 2>/dev/null || :`
            : `echo ${value} >"$g/${file}" || exit 125`,
        );
      lines.push('echo $$ >"$g/cgroup.procs" || exit 125');
    }
    for (const [name, value] of variables) lines.push(`export ${name}=${quoted(value)}`);
    return ['/bin/sh', '-c', `${lines.join('\n')}\nexec "$@"`, 'toolkeeper-cgroup'];
  }

  /**
   * Kills the remaining processes of a group and removes it, with retries.
   * @param pid absent: the groups of all processes of this tool
   * @returns whether they are gone
   */
  async release(pid?: number): Promise<boolean> {
    for (let tries = 0; tries < removalTries; tries++) {
      let areGone = true;
      for (const directory of this.limits.keys())
        for (const leaf of entriesOf(directory)) {
          const isOurs = pid === undefined ? leaf.startsWith(this.prefix) : leaf === `${this.prefix}${pid}`;
          // Each one is tried, even if another one remains.
          if (isOurs && !killAndRemove(join(directory, leaf))) areGone = false;
        }
      if (areGone) return true;
      await delay(removalPauseMs, undefined, { ref: false });
    }
    return false;
  }
}

/**
 * Removes the empty groups of gateways that were killed; the kernel refuses to remove a group in use. Groups of running
 * gateways are kept even if empty, because a process may be about to enter.
 */
export function removeDeadLeaves(bases: CgroupBases): void {
  for (const { path } of Object.values(bases))
    for (const leaf of entriesOf(path).filter(isLeftBehind)) tryRemove(join(path, leaf));
}

/** Whether the gateway that created a group has ended. */
function isLeftBehind(leaf: string): boolean {
  const maker = makerOfLeaf.exec(leaf)?.[1];
  return leaf.startsWith(leafPrefix) && (maker === undefined || !lives(maker));
}

/** Removes a group, and kills the processes in it. @returns whether it is gone */
function killAndRemove(leaf: string): boolean {
  if (!basename(leaf).startsWith(leafPrefix)) throw new Error(`${leaf} is not a group of this server`);
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
    // It has ended already.
  }
}

/** Removes an empty group. @returns whether it is gone */
function tryRemove(leaf: string): boolean {
  try {
    rmdirSync(leaf);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Names in a directory; none if it cannot be read. */
function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** A text as one word of a shell command. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A mounted tree of cgroups. */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly mount: string;
  /** The group of this process, relative to the mount point. */
  readonly ownGroup: string;
  /** Version 1 only. */
  readonly controllers: readonly string[];
}

/** Limits that a probe sets on an empty group. */
const probeLimits: Readonly<Record<CgroupController, number>> = {
  memory: 1_073_741_824,
  pids: 1_000,
  cpu: 100,
};

/**
 * Finds the directories in which leaf groups can be created, and creates one in each to verify it.
 * @param setting `off`; the path of a group that the operator delegated to us; or `auto`: our own group if it is the root
 *   of the visible hierarchy, because otherwise it is part of somebody else's accounting
 */
export function findCgroups(setting: string): { bases: CgroupBases; missing?: string } {
  if (setting === 'off') return { bases: {}, missing: 'SANDBOX_CGROUP=off' };
  const bases: Partial<Record<CgroupController, CgroupBase>> = {};
  const reasons = new Set<string>();
  for (const controller of cgroupControllers) {
    const base = baseOf(controller, setting);
    if (typeof base === 'string') reasons.add(base);
    else bases[controller] = base;
  }
  return { bases, ...(reasons.size > 0 && { missing: [...reasons].join('; ') }) };
}

/** @returns the group below which leaves are created, or why there is none */
function baseOf(controller: CgroupController, setting: string): CgroupBase | string {
  const hierarchy = hierarchyOf(controller);
  if (!hierarchy) return `no ${controller} controller is mounted`;
  const { version, mount, ownGroup } = hierarchy;
  if (setting === 'auto' && ownGroup !== '/')
    return `the ${controller} group ${ownGroup} belongs to somebody else: set SANDBOX_CGROUP to a group of this server`;
  const path = join(mount, setting === 'auto' ? ownGroup : setting);
  if (version === 2 && !wordsIn(join(path, 'cgroup.subtree_control')).includes(controller))
    return `${path} does not delegate the ${controller} controller`;
  const problem = whyNoLeaf({ version, path }, controller);
  return problem ?? { version, path };
}

/** Creates a leaf group, sets a limit and removes the group. @returns why that failed */
function whyNoLeaf({ version, path }: CgroupBase, controller: CgroupController): string | undefined {
  const leaf = join(path, `${newLeafPrefix()}probe`);
  try {
    mkdirSync(leaf);
    try {
      for (const [file, value] of limitFiles(controller, version, probeLimits[controller]))
        if (file !== 'memory.oom.group') writeFileSync(join(leaf, file), value);
    } finally {
      rmdirSync(leaf);
    }
    return undefined;
  } catch (error) {
    return `no ${controller} group can be made in ${path} (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** The hierarchy with a controller. */
function hierarchyOf(controller: CgroupController): Hierarchy | undefined {
  const all = hierarchies();
  const withController = all.find(({ controllers }) => controllers.includes(controller));
  const unified = all.find(({ version }) => version === 2);
  return (
    withController ??
    (unified && wordsIn(join(unified.mount, 'cgroup.controllers')).includes(controller) ? unified : undefined)
  );
}

/** All cgroup hierarchies: version 1, version 2 or both in a hybrid layout. */
function hierarchies(): Hierarchy[] {
  const groups = linesIn('/proc/self/cgroup').map((line) => line.split(':'));
  return linesIn('/proc/self/mountinfo').flatMap((line) => {
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
    // In a container the mount shows a subtree only, so its root is cut off the group's path.
    const ownGroup = root !== '/' && path.startsWith(root) ? path.slice(root.length) || '/' : path;
    return [{ version, mount, ownGroup, controllers }];
  });
}

const wordsIn = (path: string): string[] => linesIn(path).flatMap((line) => line.split(' '));

/** The lines of a file; none if it cannot be read. */
function linesIn(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
