import { readFile, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { covers } from './mounts.js';
import type { SandboxField } from './sandbox.types.js';

/** A configuration requests access that no tool may have or that this host cannot enforce. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';

  constructor(
    readonly field: SandboxField | 'own',
    reason: string,
    /** The path of `allowedPaths` that is refused. */
    readonly index?: number,
  ) {
    super(reason);
  }
}

/** The operator's rules for paths that tools may access. All paths are absolute. */
export interface GrantRules {
  /** Folders of the gateway that tools cannot access, nor their parents and children. */
  readonly secrets: readonly string[];
  /** Folders of the gateway that tools cannot write, nor their parents and children. */
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
/** A plain tmpfs in a container, so the file system's type does not reveal the devices in it. */
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
  const mounts = await kernelMounts();
  const [secrets, readOnly] = [await realPaths(rules.secrets), await realPaths(rules.readOnly)];
  const grantable = await realPaths([...(own === undefined ? [] : [own]), ...rules.grantable]);
  const granted: string[] = [];
  for (const [index, path] of paths.entries()) {
    const asked = resolve(cwd, path);
    const real = await realpath(asked).catch(() => undefined);
    const name = real === undefined || real === asked ? asked : `${asked} leads to ${real}, which`;
    const why =
      real === undefined
        ? 'does not exist'
        : (whySecret(secrets, real) ??
          whyKernel(mounts, real) ??
          whyNotGrantable(grantable, real, rules.grantable) ??
          (write ? whyReadOnly(readOnly, real) : undefined));
    if (why !== undefined || real === undefined)
      throw new SandboxRefusal('allowedPaths', `${name} ${why}`, index);
    granted.push(real);
  }
  return granted;
}

/**
 * Checks the paths that a tool gets implicitly: its folder, its program and its interpreter.
 * @throws SandboxRefusal for a path that no tool may access
 */
export async function checkOwn(
  { secrets }: Pick<GrantRules, 'secrets'>,
  paths: readonly string[],
): Promise<void> {
  const mounts = await kernelMounts();
  for (const path of paths) {
    const real = await realPath(path);
    const why = whySecret(secrets, real) ?? whyKernel(mounts, real);
    if (why !== undefined) throw new SandboxRefusal('own', `${path} ${why}`);
  }
}

const realPath = (path: string): Promise<string> => realpath(path).catch(() => path);
const realPaths = (paths: readonly string[]): Promise<string[]> => Promise.all(paths.map(realPath));

function whySecret(secrets: readonly string[], real: string): string | undefined {
  const how = overlapWith(secrets, real);
  return (
    how &&
    `${how[0]} the data directory of this server (TOOLKEEPER_DATA_DIR) and its keys: no tool is given it`
  );
}

function whyReadOnly(readOnly: readonly string[], real: string): string | undefined {
  const how = overlapWith(readOnly, real);
  return how && `${how[0]} ${how[1]}, which belongs to this server: no tool may write there`;
}

/** The folder that contains `real` or is contained in it, with the verb for the message. */
function overlapWith(folders: readonly string[], real: string): readonly [string, string] | undefined {
  const folder = folders.find((each) => covers(real, each) || covers(each, real));
  return folder === undefined ? undefined : [covers(folder, real) ? 'lies in' : 'holds', folder];
}

function whyNotGrantable(
  allowed: readonly string[],
  real: string,
  setting: readonly string[],
): string | undefined {
  if (allowed.some((each) => covers(each, real))) return undefined;
  return (
    "may not be granted: besides its own folder a tool gets only what the server's operator lists; " +
    `to allow it, set SANDBOX_GRANTABLE_PATHS=${[...setting, real].join(',')}`
  );
}

function whyKernel(mounts: readonly Mount[], real: string): string | undefined {
  // If two mounts have one folder, the later hides the earlier.
  const around = mounts
    .filter(({ at }) => covers(at, real))
    .reduce<Mount | undefined>(
      (inner, each) => (inner && inner.at.length > each.at.length ? inner : each),
      undefined,
    );
  if (covers(devices, real) || around?.isKernel)
    return 'is an interface of the kernel: it is never given to a tool';
  const below = mounts.find(({ at, isKernel }) => isKernel && covers(real, at));
  return below && `holds ${below.at}, an interface of the kernel: it is never given to a tool`;
}

interface Mount {
  readonly at: string;
  readonly isKernel: boolean;
}

/** All mounts of this process; empty if /proc is not available. */
async function kernelMounts(): Promise<Mount[]> {
  const list = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return list.split('\n').flatMap((line) => {
    const [mount = '', type = ''] = line.split(' - ');
    const at = mount
      .split(' ')[4]
      ?.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    return at === undefined ? [] : [{ at, isKernel: kernelFileSystems.has(type.split(' ')[0] ?? '') }];
  });
}
