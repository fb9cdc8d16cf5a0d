import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findCgroups } from './cgroups.js';
import {
  bubblewrapCommand,
  holdCommand,
  launcherCommand,
  launcherInside,
  ownFiles,
} from './command-prefixes.js';
import { covers, type MountTable, noMounts, onPath, systemFiles, withAccess } from './mounts.js';
import { makePrivateFolder } from './path-access.js';
import type { AbilityName, HostAbilities } from './sandbox.types.js';

const runProgram = promisify(execFile);
const probeTimeoutMs = 10_000;

interface ProbeSettings {
  /** PATH in which to find bubblewrap and socat. */
  readonly path: string;
  /** Path of our launcher, which may be missing. */
  readonly launcher: string;
  /** `auto`, `off` or a group (see findCgroups). */
  readonly cgroup: string;
  /** First uid of the range reserved for tools. */
  readonly firstUid: number;
}

/** Detects the host's abilities by using them: an installed program may not work, for example in an ordinary pod. */
export async function probeHost(settings: ProbeSettings): Promise<HostAbilities> {
  const system = await systemFiles({ execute: true, network: false });
  const mounts: MountTable = {
    mounts: [...withAccess('ro', system.read), ...withAccess('rx', system.run)].sort((a, b) =>
      a.path < b.path ? -1 : 1,
    ),
    links: new Map(
      Object.entries(system.links).filter(([at]) => !system.run.some((path) => covers(path, at))),
    ),
  };
  const missing: Partial<Record<AbilityName, string>> = {};
  const note = (name: AbilityName, why: string): undefined => {
    missing[name] = why;
  };
  const bubblewrap = await workingBubblewrap(settings.path, mounts).catch((error: unknown) =>
    note('bubblewrap', reasonOf(error)),
  );
  const launcher = await workingLauncher(settings.launcher, mounts).catch((error: unknown) =>
    note('launcher', reasonOf(error)),
  );
  const socat = (await onPath('socat', settings.path)) ?? note('socat', 'socat is not installed');
  const users = await workingUsers(settings, bubblewrap, mounts).catch((error: unknown) =>
    note('toolUsers', reasonOf(error)),
  );
  if (users?.noBubblewrap !== undefined) missing.bubblewrap = users.noBubblewrap;
  const cgroups = findCgroups(settings.cgroup);
  if (cgroups.missing !== undefined) missing.cgroup = cgroups.missing;
  return {
    ...(bubblewrap !== undefined && missing.bubblewrap === undefined && { bubblewrap }),
    ...(launcher !== undefined && { launcher }),
    ...(socat !== undefined && { socat }),
    ...(users && { toolUsers: { firstUid: settings.firstUid, launcher: settings.launcher } }),
    countsProcesses:
      bubblewrap !== undefined &&
      launcher !== undefined &&
      (await countsProcesses(bubblewrap, launcher, mounts)),
    cgroups: cgroups.bases,
    missing,
  };
}

/** Finds bubblewrap and checks that it runs a program. @throws Error with the reason why it cannot be used */
async function workingBubblewrap(path: string, mounts: MountTable): Promise<string> {
  const program = await onPath('bwrap', path);
  if (program === undefined) throw new Error('bubblewrap is not installed');
  const [command = '', ...args] = [...probeSandbox(program, mounts), '/bin/sh', '-c', 'echo inside'];
  const { stdout } = await runProgram(command, args, { timeout: probeTimeoutMs });
  if (stdout !== 'inside\n') throw new Error('bubblewrap does not run the given command');
  return program;
}

/** The prefix that runs a probe in bubblewrap. */
function probeSandbox(program: string, mounts: MountTable, extra: Record<string, string> = {}): string[] {
  return bubblewrapCommand({ program, mounts, network: false, temporaryBytes: 1_048_576, cwd: '/', extra });
}

/** Checks that the launcher denies a file that is not granted. @returns its path @throws Error if it does not */
async function workingLauncher(program: string, mounts: MountTable): Promise<string> {
  const [command = '', ...args] = launcherCommand({
    program,
    mounts,
    more: withAccess('rw', ['/dev/null']),
    limits: {},
    network: false,
    alone: true,
    keepModes: false,
  });
  const check = 'if read -r line </proc/version; then echo open; else echo shut; fi 2>/dev/null';
  const { stdout } = await runProgram(command, [...args, '/bin/sh', '-c', check], {
    timeout: probeTimeoutMs,
  });
  if (stdout !== 'shut\n') throw new Error('landlock is not enforced on this host');
  return program;
}

/**
 * Runs a program as another user, signals it and gives it a folder. This fails for a root without the capabilities or
 * without those ids in its namespace.
 * @returns undefined if the gateway is not root; `noBubblewrap` if bubblewrap fails for such a user
 */
async function workingUsers(
  { firstUid, launcher }: ProbeSettings,
  bubblewrap: string | undefined,
  mounts: MountTable,
): Promise<{ readonly noBubblewrap?: string } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const asUser = holdCommand(launcher, mounts, firstUid);
  await checkRunsAsUser(asUser);
  await rm(await makePrivateFolder(firstUid), { recursive: true });
  if (bubblewrap === undefined) return {};
  return checkRunsAsUser([...asUser, ...probeSandbox(bubblewrap, mounts)]).then(
    () => ({}),
    (error: unknown) => ({ noBubblewrap: `as another user: ${reasonOf(error)}` }),
  );
}

/** @throws Error if the program does not run, or cannot be signalled */
async function checkRunsAsUser([command = '', ...args]: readonly string[]): Promise<void> {
  const running = runProgram(command, [...args, '/bin/sh', '-c', 'echo inside; read -r line'], {
    timeout: probeTimeoutMs,
  });
  const { pid = 0, stdin, stdout } = running.child;
  try {
    if (stdout) await Promise.race([once(stdout, 'data'), running]);
    process.kill(pid, 0);
  } finally {
    stdin?.end('\n');
    await running;
  }
}

/** Whether a limit of processes holds within the namespace: with a limit of one, the shell cannot fork. */
async function countsProcesses(bubblewrap: string, launcher: string, mounts: MountTable): Promise<boolean> {
  const inner = launcherCommand({
    program: `${ownFiles}/${launcherInside}`,
    mounts: noMounts,
    more: [],
    network: true,
    limits: { nproc: 1 },
    alone: false,
    keepModes: false,
  });
  const [command = '', ...args] = [
    ...probeSandbox(bubblewrap, mounts, { [launcherInside]: launcher }),
    ...inner,
    '/bin/sh',
    '-c',
    '( : ) && echo forked',
  ];
  return runProgram(command, args, { timeout: probeTimeoutMs }).then(
    ({ stdout }) => stdout !== 'forked\n',
    () => true,
  );
}

/** The first line of the program's stderr, or why it could not be run. */
function reasonOf(error: unknown): string {
  const { stderr, message, code } = error as { stderr?: string; message: string; code?: string | number };
  const [line = ''] = (stderr ?? '').trim().split('\n');
  if (line !== '') return line;
  return code === 'ENOENT' ? 'it is not installed' : (message.split('\n')[0] ?? '');
}
