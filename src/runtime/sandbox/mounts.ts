import { constants } from 'node:fs';
import { access, glob, lstat, readlink, realpath } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { headOf, statOf } from '../../base/common/regular-file.js';
import type { SandboxPolicy } from './sandbox-policy.js';
import type { Command } from './sandbox.types.js';

/**
 * A path in a tool's view of the file system. `ro`: read; `rx`: read and execute; `rw`: read and write, never execute;
 * `masked`: replaced by an empty directory.
 */
export interface Mount {
  readonly path: string;
  readonly access: 'ro' | 'rx' | 'rw' | 'masked';
}

/** The view of the file system that a sandbox gives to a tool. */
export interface MountTable {
  /** Real paths, each once, parents before their children. */
  readonly mounts: readonly Mount[];
  /** Symbolic links to create, from link to target. */
  readonly links: ReadonlyMap<string, string>;
}

/** Mounts of several paths with the same access. */
export const withAccess = (access: Mount['access'], paths: readonly string[]): Mount[] =>
  paths.map((path) => ({ path, access }));

export const noMounts: MountTable = { mounts: [], links: new Map() };

/** Sockets of the host's services. Masked so that a tool that may read all of `/` cannot connect to them. */
const serviceSockets = '/run';

/** Ranks of access: of two grants for a path the higher one is kept. */
const accessRank = { masked: 0, ro: 1, rx: 2, rw: 3 } as const;

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
  const mounts = new Map<string, Mount>();
  const grant = (access: Mount['access'], paths: readonly string[]): void => {
    for (const path of paths) {
      const known = mounts.get(path);
      if (!known || accessRank[access] > accessRank[known.access]) mounts.set(path, { path, access });
    }
  };
  grant('ro', system.read);
  grant('rx', [...system.run, ...files.own, ...files.run]);
  grant(policy.execute ? 'rx' : 'ro', files.read);
  grant(policy.write ? 'rw' : 'ro', files.allowed);
  // Manifests inside an allowed path are visible already. Mounted again, a writable one could be swapped for a link.
  for (const path of files.manifests) if (!coversAny(files.allowed, path)) grant('ro', [path]);
  const granted = [...mounts.keys()];
  for (const secret of [...secrets, serviceSockets])
    if (!mounts.has(secret) && coversAny(granted, secret)) grant('masked', [secret]);
  const links = new Map<string, string>();
  // Links in a visible directory exist already.
  for (const [path, target] of Object.entries({ ...system.links, ...files.links }).sort())
    if (!coversAny([...granted, ...links.keys()], path)) links.set(path, target);
  return { mounts: [...mounts.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), links };
}

/** Whether a path is in a tool's view of the file system. */
export function isVisible({ mounts, links }: MountTable, path: string): boolean {
  const mounted = mounts.filter(({ access }) => access !== 'masked').map((mount) => mount.path);
  return coversAny([...mounted, ...links.keys(), '/proc', '/dev'], path);
}

/** Whether `path` is `directory` or below it. */
export function covers(directory: string, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (at === directory) return true;
    if (at === dirname(at)) return false;
  }
}

/** Whether one of the directories covers `path`. */
export const coversAny = (directories: readonly string[], path: string): boolean =>
  directories.some((directory) => covers(directory, path));

/** Existing real paths that a tool's process needs in addition to the system files. */
export interface LaunchFiles {
  /** The tool's directory or its single file. */
  readonly own: readonly string[];
  /** Its program and the interpreters named in the shebang. */
  readonly run: readonly string[];
  /** Libraries of an interpreter installed outside the system directories. */
  readonly read: readonly string[];
  readonly allowed: readonly string[];
  /** `package.json` files in the parent directories of `own` and `allowed`. */
  readonly manifests: readonly string[];
  /** Symbolic links to the paths above, by the name that the tool uses. */
  readonly links: Readonly<Record<string, string>>;
}

/** Existing real paths of the system that every tool's process needs. */
interface SystemFiles {
  readonly read: readonly string[];
  readonly run: readonly string[];
  readonly links: Readonly<Record<string, string>>;
}

/** Name of the folder with libraries of this processor (Debian's multiarch). */
const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
/** Links into /usr on most systems, directories on others. */
const topLevel = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** The dynamic loaders of glibc and musl. */
const loaders = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1', '/lib/ld-musl-*.so.1'];
const inEtc = (name: string): string => `/etc/${name}`;
/** Configuration that programs read. Kept short because each entry is a mount and delays the start. */
const settings = 'alternatives ld.so.cache localtime timezone mime.types'.split(' ').map(inEtc);
const networkSettings = 'hosts nsswitch.conf resolv.conf gai.conf services protocols'.split(' ').map(inEtc);
/** Certificates that TLS clients need. No private keys. */
const certificates = ['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls'];
/** Libraries and data for a tool that may run only its interpreter. */
const libraries = [
  `/usr/lib/${triplet}`,
  `/lib/${triplet}`,
  '/usr/lib64',
  '/usr/lib/locale',
  '/usr/lib/python3*',
  '/usr/local/lib/python3*',
  '/usr/lib/ssl',
  '/usr/lib/nodejs',
  '/usr/lib/ruby',
  '/usr/share/ca-certificates',
  '/usr/share/locale',
  '/usr/share/nodejs',
  '/usr/share/perl*',
  '/usr/share/zoneinfo',
];

/** Finds the system files of every tool. @param execute whether system programs may run, not only the dynamic loader */
export async function systemFiles({
  execute,
  network,
}: {
  readonly execute: boolean;
  readonly network: boolean;
}): Promise<SystemFiles> {
  const links: Record<string, string> = {};
  const read = await realPathsOf([...settings, ...certificates, ...(network ? networkSettings : [])], links);
  const run = execute ? ['/usr'] : [];
  let hasTopLevelLink = false;
  for (const path of topLevel) {
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined) {
      links[path] = target;
      hasTopLevelLink = true;
    } else if (execute && (await statOf(path))) run.push(path);
  }
  if (!execute) {
    // With links such as /lib64 → /usr/lib64 the loaders need none of their own.
    run.push(...(await realPathsOf(loaders, hasTopLevelLink ? {} : links)));
    read.push(...(await realPathsOf(libraries)));
  }
  return { read, run, links };
}

/**
 * Real paths of the existing files that match the patterns, each once; `*` is the only wildcard.
 * @param links gets the paths that are not their own real path, with that path
 */
async function realPathsOf(
  patterns: readonly string[],
  links: Record<string, string> = {},
): Promise<string[]> {
  const found = new Set<string>();
  for (const path of await expand(patterns)) {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) continue;
    found.add(real);
    if (real !== path) links[path] = real;
  }
  return [...found];
}

/** Replaces patterns by the paths that match them. */
async function expand(patterns: readonly string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const pattern of patterns) {
    if (!pattern.includes('*')) paths.push(pattern);
    else for await (const path of glob(pattern)) paths.push(path);
  }
  return paths;
}

/**
 * Finds the files that a command needs.
 * @param own the tool's directory, or undefined if it has none
 * @param allowed paths that exist
 * @param mayRun whether the tool's user may run a program
 */
export async function launchFiles(
  command: Command,
  own: string | undefined,
  allowed: readonly string[],
  mayRun?: MayRun,
): Promise<LaunchFiles> {
  const links: Record<string, string> = {};
  const programs = await programsOf(command, mayRun);
  const libraries: string[] = [];
  for (const program of programs) libraries.push(...(await librariesOf(program)));
  const ownReal = own === undefined ? [] : [await realpath(own)];
  const ownLinks = own === undefined ? [command.cwd] : [own, command.cwd];
  await realPathsOf(ownLinks, links);
  const allowedReal = await realPathsOf(allowed, links);
  return {
    own: ownReal,
    run: await realPathsOf(programs, links),
    read: await realPathsOf(libraries, links),
    allowed: allowedReal,
    manifests: await manifestsAbove([...ownReal, ...allowedReal]),
    links,
  };
}

/**
 * Node looks for `package.json` beside a script and in every parent directory to decide whether the script is a module,
 * and exits if one is unreadable. Only regular files are returned: a link of that name could point anywhere.
 */
async function manifestsAbove(paths: readonly string[]): Promise<string[]> {
  const manifests = new Set<string>();
  for (const path of paths)
    for (let at = path; at !== dirname(at); at = dirname(at)) {
      const manifest = join(dirname(at), 'package.json');
      const stats = await lstat(manifest).catch(() => undefined);
      if (stats?.isFile()) manifests.add(manifest);
    }
  return [...manifests];
}

/** The program and, if it is a script, the interpreters that its shebang names. */
async function programsOf({ command, env }: Command, mayRun: MayRun | undefined): Promise<string[]> {
  const [line = ''] = (await headOf(command, 256)).split('\n');
  const words = /^#!\s*(\S+)(?:\s+(.*))?$/.exec(line.trimEnd());
  if (!words?.[1]) return [command];
  const programs = [command, words[1]];
  const name = basename(words[1]) === 'env' ? /(?:-S\s*)?(\S+)/.exec(words[2] ?? '')?.[1] : undefined;
  const interpreter = name === undefined ? undefined : await onPath(name, env['PATH'] ?? '', mayRun);
  return interpreter === undefined ? programs : [...programs, interpreter];
}

type MayRun = (program: string) => Promise<boolean>;

/** The first executable of this name in `path` that `mayRun` accepts, or undefined. */
export async function onPath(
  name: string,
  path: string,
  mayRun: MayRun = () => Promise.resolve(true),
): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const candidate = resolve(folder, name);
    const runs = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs && (await mayRun(candidate))) return candidate;
  }
  return undefined;
}

/**
 * Finds the libraries of an interpreter outside of the system directories. One in `<prefix>/bin` keeps its libraries in
 * `<prefix>/lib`. A virtual environment refers to another prefix.
 */
async function librariesOf(program: string): Promise<string[]> {
  const real = await realpath(program).catch(() => program);
  const found = new Set<string>();
  for (const path of [program, real]) {
    const prefix = dirname(dirname(path));
    if (basename(dirname(path)) !== 'bin' || prefix === '/' || prefix === '/usr') continue;
    if (/^python/.test(basename(program)) && (await statOf(join(prefix, 'pyvenv.cfg')))) found.add(prefix);
    else for (const library of await expand([join(prefix, 'lib', libraryPattern(real))])) found.add(library);
  }
  return [...found];
}

/** The pattern of an interpreter's libraries: `python3.11` keeps them in `lib/python3.11` and `lib/libpython3.11.so`. */
const libraryPattern = (program: string): string => `*${basename(program).replace(/[\d.]+$/, '')}*`;
