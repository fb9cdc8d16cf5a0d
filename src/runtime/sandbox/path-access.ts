import type { Stats } from 'node:fs';
import { chown, lstat, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { identityOf, lives } from '../../base/common/process-identity.js';
import { statOf } from '../../base/common/regular-file.js';
import { covers, coversAny, type LaunchFiles } from './mounts.js';
import type { Command, HostAbilities, SandboxField } from './sandbox.types.js';

/** A configuration requests access that no tool may have or that this host cannot enforce. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';

  constructor(
    readonly field: SandboxField | 'own',
    reason: string,
    /** Index of the refused path in `allowedPaths`. */
    readonly index?: number,
  ) {
    super(reason);
  }
}

/** The operator's rules for paths that tools may access. All paths are absolute. */
export interface GrantRules {
  /** Folders of the gateway. Tools can access neither them nor their parents and children. */
  readonly secrets: readonly string[];
  /** Folders of the gateway. Tools can write neither to them nor to their parents and children. */
  readonly readOnly: readonly string[];
  /** Paths that may be granted in addition to a tool's own folder. */
  readonly grantable: readonly string[];
}

/** The tool that requests paths. */
interface Requester {
  readonly cwd: string;
  /** Its own folder or file. */
  readonly own: string | undefined;
  readonly write: boolean;
}

/** File systems that expose kernel settings, processes or devices. */
const kernelFileSystems = new Set(
  (
    'proc sysfs devtmpfs devpts debugfs tracefs securityfs configfs cgroup cgroup2 bpf efivarfs pstore ' +
    'binfmt_misc mqueue fusectl nsfs rpc_pipefs selinuxfs smackfs'
  ).split(' '),
);
/** Listed by path: in a container it is a plain tmpfs, whose type does not reveal the devices. */
const devices = '/dev';

/**
 * Resolves the paths that a tool requests.
 * @returns their real paths, in the same order
 * @throws SandboxRefusal naming the first path that is not allowed, and how the operator can allow it
 */
export async function grantedPaths(
  paths: readonly string[],
  { cwd, own, write }: Requester,
  rules: GrantRules,
): Promise<string[]> {
  if (paths.length === 0) return [];
  const mounts = await hostMounts();
  const secrets = await realPaths(rules.secrets);
  const readOnly = await realPaths(rules.readOnly);
  const grantable = await realPaths([...(own === undefined ? [] : [own]), ...rules.grantable]);
  const granted: string[] = [];
  for (const [index, path] of paths.entries()) {
    const requested = resolve(cwd, path);
    const real = await realpath(requested).catch(() => undefined);
    if (real === undefined) throw new SandboxRefusal('allowedPaths', `${requested} does not exist`, index);
    const why =
      whySecret(secrets, real) ??
      whyKernel(mounts, real) ??
      whyNotGrantable(grantable, real, rules.grantable) ??
      (write ? whyReadOnly(readOnly, real) : undefined);
    const name = real === requested ? requested : `${requested} leads to ${real}, which`;
    if (why !== undefined) throw new SandboxRefusal('allowedPaths', `${name} ${why}`, index);
    granted.push(real);
  }
  return granted;
}

/**
 * Checks the paths that a tool gets implicitly: its folder, its program and its interpreter.
 * @param paths real paths
 * @throws SandboxRefusal for a path that no tool may access
 */
export async function checkImplicit(
  { secrets }: Pick<GrantRules, 'secrets'>,
  paths: readonly string[],
): Promise<void> {
  const mounts = await hostMounts();
  for (const path of paths) {
    const why = whySecret(secrets, path) ?? whyKernel(mounts, path);
    if (why !== undefined) throw new SandboxRefusal('own', `${path} ${why}`);
  }
}

/** A mount of the host. */
interface HostMount {
  readonly at: string;
  readonly isKernel: boolean;
}

/** The real paths; of what does not exist the path itself. */
const realPaths = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => realpath(path).catch(() => path)));

/** The end of a message if a path overlaps with the gateway's own folders; undefined if not. */
function whySecret(secrets: readonly string[], real: string): string | undefined {
  const overlap = overlapWith(secrets, real);
  return (
    overlap &&
    `${overlap.how} the data directory of this server (TOOLKEEPER_DATA_DIR) and its keys: no tool is given it`
  );
}

function whyReadOnly(readOnly: readonly string[], real: string): string | undefined {
  const overlap = overlapWith(readOnly, real);
  return overlap && `${overlap.how} ${overlap.folder}, which belongs to this server: no tool may write there`;
}

/** The folder that contains `real` or is contained in it, with the verb for the message. */
function overlapWith(folders: readonly string[], real: string) {
  for (const folder of folders) {
    if (covers(folder, real)) return { how: 'lies in', folder };
    if (covers(real, folder)) return { how: 'holds', folder };
  }
  return undefined;
}

function whyNotGrantable(
  allowed: readonly string[],
  real: string,
  setting: readonly string[],
): string | undefined {
  if (coversAny(allowed, real)) return undefined;
  return (
    "may not be granted: besides its own folder a tool gets only what the server's operator lists; " +
    `to allow it, set SANDBOX_GRANTABLE_PATHS=${[...setting, real].join(',')}`
  );
}

function whyKernel(mounts: readonly HostMount[], real: string): string | undefined {
  let around: HostMount | undefined;
  let below: HostMount | undefined;
  for (const mount of mounts) {
    // The innermost mount has the longest path. If two have the same folder, the later hides the earlier.
    if (covers(mount.at, real) && mount.at.length >= (around?.at.length ?? 0)) around = mount;
    if (mount.isKernel && covers(real, mount.at)) below ??= mount;
  }
  if (covers(devices, real) || around?.isKernel)
    return 'is an interface of the kernel: it is never given to a tool';
  return below && `holds ${below.at}, an interface of the kernel: it is never given to a tool`;
}

/** All mounts of this process; empty if /proc is not available. */
async function hostMounts(): Promise<HostMount[]> {
  const list = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const mounts: HostMount[] = [];
  for (const line of list.split('\n')) {
    const [mount = '', type = ''] = line.split(' - ');
    const at = mount
      .split(' ')[4]
      ?.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    const fileSystem = type.split(' ')[0] ?? '';
    if (at !== undefined) mounts.push({ at, isKernel: kernelFileSystems.has(fileSystem) });
  }
  return mounts;
}

/** Size of the range of uids for tools. A database constraint enforces the same bound. */
const toolUidCount = 65_536;

const isToolUid = (uid: number, firstUid: number): boolean =>
  uid >= firstUid && uid < firstUid + toolUidCount;

/** Required access to a path, which may be a link. */
interface Need {
  readonly path: string;
  /** `enter`: reach the contents of a folder by name. `run` and `write` include `read`. */
  readonly use: 'enter' | 'read' | 'run' | 'write';
}

/** Mode bits that each use needs, in the lowest class. */
const modeBits = { enter: 0o1, read: 0o4, run: 0o5, write: 0o6 } as const;
/** Position of the bits of user, group and others in the mode. */
const shifts = { u: 6, g: 3, o: 0 } as const;
const obstacleTexts = {
  enter: 'is closed to',
  read: 'may not be read by',
  run: 'may not be run by',
  write: 'may not be written by',
} as const;

/** Access that a tool's user needs, with the index in `allowedPaths` that requested it. */
type ToolNeed = Need & { readonly index?: number };

/**
 * Checks that a tool's user can access everything that the tool needs, except system files.
 * @throws SandboxRefusal naming the inaccessible path and the `chmod` that opens it
 */
export async function refuseObstacles(
  uid: number,
  { bubblewrap, launcher, socat }: HostAbilities,
  { command, args, cwd }: Command,
  files: Pick<LaunchFiles, 'own' | 'run' | 'read' | 'allowed'>,
  write: boolean,
): Promise<void> {
  // Bubblewrap and the programs inside it start after the change of user.
  const inside = bubblewrap === undefined ? [] : [bubblewrap, launcher, socat];
  const needs: ToolNeed[] = [];
  // Read access first: for a folder that must be entered too, the message then names both rights.
  for (const path of [...files.own, ...files.read]) needs.push({ path, use: 'read' });
  for (const arg of args) {
    const path = resolve(cwd, arg);
    if (coversAny([...files.own, ...files.allowed], path)) needs.push({ path, use: 'read' });
  }
  needs.push({ path: cwd, use: 'enter' });
  for (const path of [command, ...files.run, ...inside])
    if (path !== undefined) needs.push({ path, use: 'run' });
  // The parent of private folders.
  needs.push({ path: tmpdir(), use: 'enter' });
  for (const [index, path] of files.allowed.entries())
    needs.push({ path, use: write ? 'write' : 'read', index });
  for (const need of needs) {
    const obstacle = await obstacleFor(uid, need);
    if (obstacle === undefined) continue;
    throw new SandboxRefusal(need.index === undefined ? 'own' : 'allowedPaths', obstacle, need.index);
  }
}

/**
 * Checks the mode bits of a path and of its parent folders, but not the contents of a folder.
 * @returns the path that a user cannot access, why, and how to open it; undefined if there is none
 */
export async function obstacleFor(uid: number, need: Need): Promise<string | undefined> {
  const steps = [need];
  for (let at = need.path; at !== dirname(at); at = dirname(at))
    steps.unshift({ path: dirname(at), use: 'enter' });
  for (const { path, use } of steps) {
    const stats = await statOf(path);
    const mode = stats && missingMode(stats, uid, use);
    if (mode === undefined) continue;
    const below = path === need.path ? '' : `, and ${need.path} lies below it`;
    return `${path} ${obstacleTexts[use]} user ${uid}, which the tool runs as${below}; to allow it: chmod ${mode} ${path}`;
  }
  return undefined;
}

/**
 * The mode for chmod, such as `o+rx`, that gives a user the access it lacks; undefined if it lacks none. The group of a
 * tool's user has the same number.
 */
function missingMode(stats: Stats, uid: number, use: Need['use']): string | undefined {
  const ofGroup = stats.gid === uid ? 'g' : 'o';
  const who = stats.uid === uid ? 'u' : ofGroup;
  const wanted = stats.isDirectory() ? modeBits[use] | modeBits.enter : modeBits[use];
  if (((stats.mode >> shifts[who]) & wanted) === wanted) return undefined;
  const letters = [...'rwx'].filter((_, n) => (wanted & (0o4 >> n)) !== 0);
  return `${who}+${letters.join('')}`;
}

/** Folder names contain the identity of the gateway that created them. */
const privateFolderPrefix = 'toolkeeper-private-';
const makerOfFolder = /^toolkeeper-private-(\d+-\d+)-/;

/** Creates a temporary folder of mode 0700. @param owner a tool's own user; absent: the gateway's */
export async function makePrivateFolder(owner?: number): Promise<string> {
  const maker = identityOf(process.pid) ?? `${process.pid}-0`;
  const folder = await mkdtemp(join(await realpath(tmpdir()), `${privateFolderPrefix}${maker}-`));
  if (owner !== undefined) await chown(folder, owner, owner);
  return folder;
}

/** Removes private folders left by killed gateways, unless another user owns them. */
export async function removeDeadPrivateFolders(firstUid: number): Promise<void> {
  const isLeftBehind = (name: string): boolean => {
    const maker = makerOfFolder.exec(name)?.[1];
    return maker !== undefined && !lives(maker);
  };
  const folders = (await readdir(tmpdir())).filter(isLeftBehind).map((name) => join(tmpdir(), name));
  await Promise.all(folders.map((folder) => removeOurs(folder, firstUid)));
}

/** Removes a folder unless a user owns it who is neither the gateway's nor a tool's. */
async function removeOurs(folder: string, firstUid: number): Promise<void> {
  const stats = await lstat(folder).catch(() => undefined);
  if (!stats?.isDirectory()) return;
  const gateway = process.getuid?.();
  if (stats.uid !== gateway && !(gateway === 0 && isToolUid(stats.uid, firstUid))) return;
  // Another starting gateway may remove it at the same time.
  await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}
