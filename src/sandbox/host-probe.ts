import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { bubblewrapCommand, launcherInside, ownFiles } from './bubblewrap.js';
import { findCgroups } from './cgroups.js';
import { onPath, systemFiles } from './launch-files.js';
import { holding, launcherCommand } from './launcher-command.js';
import { covers, noPlaces, placed, type Places } from './places.js';
import { makePrivateFolder } from './tool-user.js';
import type { AbilityName, HostAbilities } from './sandbox.types.js';

const run = promisify(execFile);
const probeTimeoutMs = 10_000;

interface ProbeSettings {
  /** Folders of the host in which bubblewrap and socat are looked for, as in PATH. */
  readonly path: string;
  /** Our launcher, which may not be there. */
  readonly launcher: string;
  /** `auto`, `off` or a group (see findCgroups). */
  readonly cgroup: string;
  /** The first of the users that tools may have for themselves. */
  readonly firstUid: number;
}

/** Finds out what this host can do by doing it: what is installed need not work, as in an ordinary pod. */
export async function probeHost(settings: ProbeSettings): Promise<HostAbilities> {
  const system = await systemFiles(true, false);
  const places: Places = {
    places: [...placed('ro', system.read), ...placed('rx', system.run)].sort((a, b) =>
      a.path < b.path ? -1 : 1,
    ),
    links: new Map(
      Object.entries(system.links).filter(([at]) => !system.run.some((path) => covers(path, at))),
    ),
  };
  const missing: Partial<Record<AbilityName, string>> = {};
  const note = (name: AbilityName, why: string): undefined => void (missing[name] = why);
  const bubblewrap = await workingBubblewrap(settings.path, places).catch((error: unknown) =>
    note('bubblewrap', reasonOf(error)),
  );
  const launcher = await workingLauncher(settings.launcher, places).catch((error: unknown) =>
    note('launcher', reasonOf(error)),
  );
  const socat = (await onPath('socat', settings.path)) ?? note('socat', 'socat is not installed');
  const users = await workingUsers(settings, bubblewrap, places).catch((error: unknown) =>
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
      (await countsProcesses(bubblewrap, launcher, places)),
    cgroups: cgroups.bases,
    missing,
  };
}

async function workingBubblewrap(path: string, places: Places): Promise<string> {
  const program = await onPath('bwrap', path);
  if (program === undefined) throw new Error('bubblewrap is not installed');
  const [command = '', ...args] = [...probeSandbox(program, places), '/bin/sh', '-c', 'echo inside'];
  const { stdout } = await run(command, args, { timeout: probeTimeoutMs });
  if (stdout !== 'inside\n') throw new Error('bubblewrap does not run what it is given');
  return program;
}

function probeSandbox(program: string, places: Places, extra: Record<string, string> = {}): string[] {
  return bubblewrapCommand({ program, places, network: false, temporaryBytes: 1_048_576, cwd: '/', extra });
}

/** It must keep a program from a file that it may not read, and let it read one that it may. */
async function workingLauncher(program: string, places: Places): Promise<string> {
  const settings = { program, places, more: placed('rw', ['/dev/null']), limits: {} };
  const [command = '', ...args] = launcherCommand({
    ...settings,
    network: false,
    alone: true,
    keepModes: false,
  });
  const look = 'if read -r line </proc/version; then echo open; else echo shut; fi 2>/dev/null';
  const { stdout } = await run(command, [...args, '/bin/sh', '-c', look], { timeout: probeTimeoutMs });
  if (stdout !== 'shut\n') throw new Error('landlock does not hold here');
  return program;
}

/**
 * Tries to run a program as another user, to signal it and to give it a folder: a root that lacks capabilities, or
 * ids in its namespace, cannot.
 * @returns undefined where the gateway is no root; why bubblewrap does not work for such a user, where it does not
 */
async function workingUsers(
  { firstUid, launcher }: ProbeSettings,
  bubblewrap: string | undefined,
  places: Places,
): Promise<{ readonly noBubblewrap?: string } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const becoming = holding(launcher, places, firstUid);
  await runsAsAnother(becoming);
  await rm(await makePrivateFolder(firstUid), { recursive: true });
  if (bubblewrap === undefined) return {};
  return runsAsAnother([...becoming, ...probeSandbox(bubblewrap, places)]).then(
    () => ({}),
    (error: unknown) => ({ noBubblewrap: `as another user: ${reasonOf(error)}` }),
  );
}

async function runsAsAnother([command = '', ...args]: readonly string[]): Promise<void> {
  const running = run(command, [...args, '/bin/sh', '-c', 'echo inside; read -r line'], {
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

/** A limit of one process in a namespace that already has some: the shell cannot fork if it is counted. */
async function countsProcesses(bubblewrap: string, launcher: string, places: Places): Promise<boolean> {
  const inner = launcherCommand({
    program: `${ownFiles}/${launcherInside}`,
    places: noPlaces,
    more: [],
    network: true,
    limits: { nproc: 1 },
    alone: false,
    keepModes: false,
  });
  const [command = '', ...args] = [
    ...probeSandbox(bubblewrap, places, { [launcherInside]: launcher }),
    ...inner,
    '/bin/sh',
    '-c',
    '( : ) && echo forked',
  ];
  return run(command, args, { timeout: probeTimeoutMs }).then(
    ({ stdout }) => stdout !== 'forked\n',
    () => true,
  );
}

/** The first line of what a program said, else why it could not be run. */
function reasonOf(error: unknown): string {
  const { stderr, message, code } = error as { stderr?: string; message: string; code?: string | number };
  const [line = ''] = (stderr ?? '').trim().split('\n');
  if (line !== '') return line;
  return code === 'ENOENT' ? 'it is not there' : (message.split('\n')[0] ?? '');
}
