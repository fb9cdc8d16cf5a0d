import type { Stats } from 'node:fs';
import { chown, lstat, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { SandboxRefusal } from './granted-paths.js';
import type { LaunchFiles } from './launch-files.js';
import { covers } from './places.js';
import type { Command, HostAbilities } from './sandbox.types.js';
import { identityOf, lives } from '../common/process-identity.js';

/** Number of users that tools can have; a check of the database bounds their numbers by it. */
const users = 65_536;

const isToolUid = (uid: number, firstUid: number): boolean => uid >= firstUid && uid < firstUid + users;

/** The access that a user must have to a path, links resolved or not. */
interface Need {
  readonly path: string;
  /** `enter`: of a folder, what is below is reached by name; `run` and `write` mean reading as well. */
  readonly use: 'enter' | 'read' | 'run' | 'write';
}

const bits = { enter: 0o1, read: 0o4, run: 0o5, write: 0o6 } as const;
const refusals = {
  enter: 'is closed to',
  read: 'may not be read by',
  run: 'may not be run by',
  write: 'may not be written by',
} as const;

/** The access that a tool's user needs, and the path of `allowedPaths` by which it was asked for. */
type ToolNeed = Need & { readonly index?: number };

/**
 * Checks that nothing a tool needs is closed to its user. The system's own files are not looked at.
 * @param allowed real paths
 * @throws SandboxRefusal with the path that is closed and the `chmod` that opens it
 */
export async function refuseObstacles(
  uid: number,
  { bubblewrap, launcher, socat }: HostAbilities,
  { command, args, cwd }: Command,
  files: Pick<LaunchFiles, 'own' | 'run' | 'read' | 'allowed'>,
  write: boolean,
): Promise<void> {
  // Bubblewrap, and what it runs, come after the change of user.
  const inside = bubblewrap === undefined ? [] : [bubblewrap, launcher, socat];
  const shown = [...files.own, ...files.allowed];
  const named = args
    .map((arg) => resolve(cwd, arg))
    .filter((path) => shown.some((each) => covers(each, path)));
  const needs: ToolNeed[] = [
    // A folder that is to be read as well is named with all that it needs.
    ...[...files.own, ...files.read, ...named].map((path) => ({ path, use: 'read' }) as const),
    { path: cwd, use: 'enter' },
    ...[command, ...files.run, ...inside].flatMap((path) =>
      path === undefined ? [] : [{ path, use: 'run' } as const],
    ),
    // Private folders stand there.
    { path: tmpdir(), use: 'enter' },
    ...files.allowed.map((path, index) => ({ path, use: write ? 'write' : 'read', index }) as const),
  ];
  for (const need of needs) {
    const obstacle = await obstacleFor(uid, need);
    if (obstacle === undefined) continue;
    throw new SandboxRefusal(need.index === undefined ? 'own' : 'allowedPaths', obstacle, need.index);
  }
}

/**
 * Looks at the mode bits of a path and of the folders above it; what is below a folder is not looked at.
 * @returns the path that stands in a user's way, why, and how to open it; undefined: nothing does
 */
export async function obstacleFor(uid: number, need: Need): Promise<string | undefined> {
  for (const { path, use } of stepsTo(need)) {
    const about = await stat(path).catch(() => undefined);
    if (!about || allows(about, uid, use)) continue;
    const below = path === need.path ? '' : `, and ${need.path} lies below it`;
    return `${path} ${refusals[use]} user ${uid}, which the tool runs as${below}; to allow it: chmod ${modeFor(about, uid, use)} ${path}`;
  }
  return undefined;
}

// A tool's group has the number of its user.
const classOf = ({ uid, gid }: Stats, user: number): 'u' | 'g' | 'o' =>
  uid === user ? 'u' : gid === user ? 'g' : 'o';
const shifts = { u: 6, g: 3, o: 0 } as const;
const wantedBits = (about: Stats, use: Need['use']): number =>
  about.isDirectory() ? bits[use] | bits.enter : bits[use];

function allows(about: Stats, uid: number, use: Need['use']): boolean {
  const wanted = wantedBits(about, use);
  return ((about.mode >> shifts[classOf(about, uid)]) & wanted) === wanted;
}

/** The mode for chmod, such as `o+rx`. */
function modeFor(about: Stats, uid: number, use: Need['use']): string {
  const wanted = wantedBits(about, use);
  const letters = [...'rwx'].filter((_, n) => (wanted & (0o4 >> n)) !== 0);
  return `${classOf(about, uid)}+${letters.join('')}`;
}

/** The folders on the way, the outermost first, and the path itself. */
function stepsTo({ path, use }: Need): Need[] {
  const folder = dirname(path);
  return folder === path ? [{ path, use }] : [...stepsTo({ path: folder, use: 'enter' }), { path, use }];
}

/** The name tells which gateway made a folder. */
const prefix = 'toolkeeper-private-';
const makerOfFolder = /^toolkeeper-private-(\d+-\d+)-/;

/** A new folder of mode 0700 among the temporary files. @param owner a tool's own user; absent: the gateway's */
export async function makePrivateFolder(owner?: number): Promise<string> {
  const maker = identityOf(process.pid) ?? `${process.pid}-0`;
  const folder = await mkdtemp(join(await realpath(tmpdir()), `${prefix}${maker}-`));
  if (owner !== undefined) await chown(folder, owner, owner);
  return folder;
}

/** Removes the folders of gateways that were killed. A stranger's folder of such a name stays. */
export async function removeDeadPrivateFolders(firstUid: number): Promise<void> {
  const isLeftBehind = (name: string): boolean => {
    const maker = makerOfFolder.exec(name)?.[1];
    return maker !== undefined && !lives(maker);
  };
  const found = (await readdir(tmpdir())).filter(isLeftBehind).map((name) => join(tmpdir(), name));
  await Promise.all(found.map((folder) => removeOurs(folder, firstUid)));
}

async function removeOurs(folder: string, firstUid: number): Promise<void> {
  const about = await lstat(folder).catch(() => undefined);
  if (!about?.isDirectory()) return;
  const gateway = process.getuid?.();
  if (about.uid !== gateway && !(gateway === 0 && isToolUid(about.uid, firstUid))) return;
  // Another gateway that starts may be removing it as well.
  await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}
