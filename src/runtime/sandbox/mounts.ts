import { constants } from 'node:fs';
import { access, glob, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { openRegularFile } from '../../base/common/regular-file.js';
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
  const mounts = withHighestRank([...withAccess('masked', masked), ...granted]);
  return { mounts, links: linksToCreate({ ...system.links, ...files.links }, mounts) };
}

/** Whether a path is in a tool's view of the file system. */
export function isVisible({ mounts, links }: MountTable, path: string): boolean {
  const mounted = mounts.filter(({ access }) => access !== 'masked').map((mount) => mount.path);
  return [...mounted, ...links.keys(), '/proc', '/dev'].some((visible) => covers(visible, path));
}

/** Each path once, with the highest rank of access that it was granted, sorted by path. */
function withHighestRank(granted: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of granted) {
    const known = byPath.get(mount.path);
    if (!known || accessRank[mount.access] > accessRank[known.access]) byPath.set(mount.path, mount);
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The links that still have to be created: those in a visible directory exist already. */
function linksToCreate(
  links: Readonly<Record<string, string>>,
  mounts: readonly Mount[],
): ReadonlyMap<string, string> {
  const toCreate = new Map<string, string>();
  for (const [path, target] of Object.entries(links).sort()) {
    const isShown = mounts.some((mount) => mount.access !== 'masked' && covers(mount.path, path));
    if (!isShown && ![...toCreate.keys()].some((link) => covers(link, path))) toCreate.set(path, target);
  }
  return toCreate;
}

/** Whether `path` is `directory` or below it. */
export function covers(directory: string, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (at === directory) return true;
    if (at === dirname(at)) return false;
  }
}

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
/** Configuration that programs read. Kept short because each entry is a mount and delays the start. */
const settings = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/timezone',
  '/etc/mime.types',
];
const networkSettings = [
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/resolv.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/protocols',
];
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
  const etc = [...settings, ...certificates, ...(network ? networkSettings : [])];
  const shown = await existingRealPaths(etc);
  const links = await linksOf(etc);
  if (!execute) {
    const run = await existingRealPaths(loaders);
    const top = Object.fromEntries(
      (await Promise.all(topLevel.map(topLevelLink))).filter((link) => link !== undefined),
    );
    const loaderLinks = Object.keys(top).length > 0 ? top : await linksOf(loaders);
    return {
      read: [...shown, ...(await existingRealPaths(libraries))],
      run,
      links: { ...links, ...loaderLinks },
    };
  }
  const run = ['/usr'];
  for (const path of topLevel) {
    const link = await topLevelLink(path);
    if (link) links[path] = link[1];
    else if (await exists(path)) run.push(path);
  }
  return { read: shown, run, links };
}

/** The link at a path, with its target; undefined if the path is no link. */
async function topLevelLink(path: string): Promise<readonly [string, string] | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() ? [path, await readlink(path)] : undefined;
}

/** Real paths of the existing files that match the patterns; `*` is the only wildcard. */
async function existingRealPaths(patterns: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    (await expand(patterns)).map((path) => realpath(path).catch(() => undefined)),
  );
  return [...new Set(found.filter((path) => path !== undefined))];
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

/** The paths that are not their own real path, with that path. */
async function linksOf(paths: readonly string[]): Promise<Record<string, string>> {
  const links: Record<string, string> = {};
  for (const path of await expand(paths)) {
    const real = await realpath(path).catch(() => path);
    if (real !== path) links[path] = real;
  }
  return links;
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
  const programs = await programsOf(command, mayRun);
  const libraries = (await Promise.all(programs.map(librariesOf))).flat();
  const needed = [...programs, ...libraries, ...(own === undefined ? [] : [own]), ...allowed, command.cwd];
  const ownReal = own === undefined ? [] : [await realpath(own)];
  const allowedReal = await existingRealPaths(allowed);
  return {
    own: ownReal,
    run: await existingRealPaths(programs),
    read: await existingRealPaths(libraries),
    allowed: allowedReal,
    manifests: await manifestsAbove([...ownReal, ...allowedReal]),
    links: await linksOf(needed),
  };
}

/**
 * Node looks for `package.json` beside a script and in every parent directory to decide whether the script is a module,
 * and exits if one is unreadable. Only regular files are returned: a link of that name could point anywhere.
 */
async function manifestsAbove(paths: readonly string[]): Promise<string[]> {
  const folders = [...new Set(paths.flatMap(foldersAbove))];
  const candidates = folders.map((folder) => join(folder, 'package.json'));
  const found = await Promise.all(candidates.map((path) => lstat(path).catch(() => undefined)));
  return candidates.filter((_path, n) => found[n]?.isFile());
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}

/** The program and, if it is a script, the interpreters that its shebang names. */
async function programsOf({ command, env }: Command, mayRun: MayRun | undefined): Promise<string[]> {
  const line = await firstLine(command);
  const words = /^#!\s*(\S+)(?:\s+(.*))?$/.exec(line);
  if (!words?.[1]) return [command];
  const programs = [command, words[1]];
  const name = basename(words[1]) === 'env' ? /(?:-S\s*)?(\S+)/.exec(words[2] ?? '')?.[1] : undefined;
  const interpreter = name === undefined ? undefined : await onPath(name, env['PATH'] ?? '', mayRun);
  return interpreter === undefined ? programs : [...programs, interpreter];
}

async function firstLine(path: string): Promise<string> {
  const file = await openRegularFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const [line = ''] = buffer.toString('latin1', 0, bytesRead).split('\n');
    return line.trimEnd();
  } finally {
    await file.close();
  }
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
  const prefixes = new Set([program, real].filter(isInBin).map((path) => dirname(dirname(path))));
  const found: string[] = [];
  for (const prefix of prefixes) {
    if (prefix === '/' || prefix === '/usr') continue;
    if (/^python/.test(basename(program)) && (await exists(join(prefix, 'pyvenv.cfg')))) found.push(prefix);
    else found.push(...(await expand([join(prefix, 'lib', `${libraryPattern(real)}*`)])));
  }
  return found;
}

const isInBin = (path: string): boolean => basename(dirname(path)) === 'bin';

/** The pattern of an interpreter's libraries: `python3.11` keeps them in `lib/python3.11` and `lib/libpython3.11.so`. */
const libraryPattern = (program: string): string => `*${basename(program).replace(/[\d.]+$/, '')}`;

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
