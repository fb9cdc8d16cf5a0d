import { isIPv6 } from 'node:net';
import type { SandboxPolicy } from './sandbox-policy.js';
import {
  cgroupControllers,
  type EffectiveSandbox,
  type HostAbilities,
  type SandboxField,
  sandboxFields,
  type Tier,
} from './sandbox.types.js';

/** `true`: enforced; text: enforced with this limitation; `{not}`: not enforced, and why. */
type Verdict = true | string | { readonly not: string };

/** The sandbox tier of a host: 0 without any means, 3 with bubblewrap, the launcher and all cgroup controllers. */
export function tierOf({ bubblewrap, launcher, cgroups }: HostAbilities): Tier {
  if (bubblewrap === undefined) return launcher === undefined ? 0 : 1;
  const allGroups = cgroupControllers.every((controller) => cgroups[controller]);
  return launcher !== undefined && allGroups ? 3 : 2;
}

/** The host's abilities without those above a tier. */
export function upToTier(abilities: HostAbilities, tier: Tier): HostAbilities {
  if (tier >= 3) return abilities;
  const why = `SANDBOX_MAX_TIER=${tier}`;
  const { bubblewrap, launcher, socat, missing, ...rest } = abilities;
  return {
    ...rest,
    ...(tier >= 1 && launcher !== undefined && { launcher }),
    ...(tier >= 2 && bubblewrap !== undefined && { bubblewrap }),
    ...(tier >= 2 && socat !== undefined && { socat }),
    cgroups: {},
    missing: {
      ...missing,
      cgroup: why,
      ...(tier < 2 && { bubblewrap: why }),
      ...(tier < 1 && { launcher: why }),
    },
  };
}

/** The restrictions of a policy that a host can and cannot enforce. */
export function effectiveSandbox(policy: SandboxPolicy, abilities: HostAbilities): EffectiveSandbox {
  const notes: Partial<Record<SandboxField, string>> = {};
  const enforced: SandboxField[] = [];
  const notEnforced: SandboxField[] = [];
  for (const field of sandboxFields) {
    if (!policy.restricts.has(field)) continue;
    const verdict = verdicts[field](abilities, policy);
    if (typeof verdict === 'object') {
      notEnforced.push(field);
      notes[field] = verdict.not;
    } else {
      enforced.push(field);
      if (verdict !== true) notes[field] = verdict;
    }
  }
  return { tier: tierOf(abilities), enforced, notEnforced, notes };
}

/** The restrictions with the sandbox off: only the clean environment and the deadline are enforced. */
export function noSandbox(policy: SandboxPolicy, why: string): EffectiveSandbox {
  const nothing = { countsProcesses: false, cgroups: {} };
  const missing = { bubblewrap: why, launcher: why, cgroup: why, socat: why };
  return effectiveSandbox(policy, { ...nothing, missing });
}

/** Marks `grandchildren` as enforced, because the spawner ends a tool's descendants with or without a sandbox. */
export function withDescendantsEnded(effective: EffectiveSandbox): EffectiveSandbox {
  const { tier, enforced, notEnforced, notes } = effective;
  const { grandchildren: _note, ...others } = notes;
  // Without a sandbox a process can change the mark by which the spawner identifies its tool.
  const unconfined = { grandchildren: 'unless it poses as a process of another tool' };
  return {
    ...effective,
    enforced: sandboxFields.filter((field) => field === 'grandchildren' || enforced.includes(field)),
    notEnforced: notEnforced.filter((field) => field !== 'grandchildren'),
    notes: tier === 0 ? { ...others, ...unconfined } : others,
  };
}

/** Decides whether a host enforces a restriction of a policy. */
type Judge = (host: HostAbilities, policy: SandboxPolicy) => Verdict;

/** Judges a permission that has no effect without `allowedPaths`. */
const pathPermission =
  (field: SandboxField): Judge =>
  (host, policy) => {
    const verdict = policy.opensNothing.has(field) ? noPathsLimitation : true;
    return byHost(host, verdict, verdict);
  };

const verdicts: Readonly<Record<SandboxField, Judge>> = {
  maxExecutionMs: () => true,
  allowedEnvironmentVars: () => true,
  allowedPaths: (host) => byHost(host, host.launcher === undefined ? linkLimitation : true, true),
  canReadFiles: pathPermission('canReadFiles'),
  canWriteFiles: pathPermission('canWriteFiles'),
  canExecuteCommands: (host) => byHost(host, loaderLimitation, loaderLimitation),
  allowNetwork: (host) => byHost(host, true, true),
  canNetwork: (host) => byHost(host, true, true),
  allowedHosts: judgeHosts,
  dataDirectory: judgeDataDirectory,
  maxMemoryMB: judgeMemory,
  maxCpuPercent: ({ cgroups, missing }) =>
    cgroups.cpu ? true : { not: `needs a cgroup: ${missing.cgroup}` },
  processes: judgeProcesses,
  temporaryDirectory: (host) => byHost(host, true, 'its files are bounded one by one, not together'),
  writableNotExecutable: (host) => ifLauncher(host, loaderLimitation),
  systemCalls: (host) => ifLauncher(host, true),
  otherProcesses: (host) =>
    byHost(
      host,
      true,
      'signals to processes of the same user from Linux 6.12 on, before only to the gateway',
    ),
  grandchildren: (host) => byHost(host, true, 'none may leave its process group, which is ended as a whole'),
};

/** Bubblewrap mounts an empty folder over the data directory. Landlock only leaves it out of the grants. */
function judgeDataDirectory({ bubblewrap, launcher, missing, exposed }: HostAbilities): Verdict {
  if (bubblewrap !== undefined) return true;
  if (launcher !== undefined && exposed === undefined) return true;
  const needs = launcher === undefined ? 'bubblewrap or the launcher' : 'bubblewrap';
  const why = launcher === undefined ? `${missing.bubblewrap}; ${missing.launcher}` : exposed;
  return { not: `needs ${needs}, else tools can read the admin key: ${why}` };
}

const loaderLimitation = 'not started as a program; the dynamic loader runs what it may read';
const noPathsLimitation = 'opens nothing by itself: name what may be read or written in sandbox.allowedPaths';
const linkLimitation = 'a link that takes the place of a granted path is followed';

function ifLauncher({ launcher, missing }: HostAbilities, verdict: Verdict): Verdict {
  return launcher === undefined ? { not: `needs the launcher: ${missing.launcher}` } : verdict;
}

/** A verdict: `full` on hosts with bubblewrap, `small` on hosts with the launcher only. */
function byHost({ bubblewrap, launcher, missing }: HostAbilities, full: Verdict, small: Verdict): Verdict {
  if (bubblewrap !== undefined) return full;
  if (launcher !== undefined) return small;
  return {
    not: `needs bubblewrap or the launcher: ${[...new Set([missing.bubblewrap, missing.launcher])].join('; ')}`,
  };
}

function judgeHosts(host: HostAbilities, { network }: SandboxPolicy): Verdict {
  const { bubblewrap, socat, missing } = host;
  const none = 'there is no network at all';
  if (network === 'none') return byHost(host, none, none);
  if (bubblewrap === undefined) return { not: `needs bubblewrap: ${missing.bubblewrap}` };
  return socat === undefined ? { not: `needs socat: ${missing.socat}` } : true;
}

function judgeMemory({ cgroups, launcher, missing }: HostAbilities): Verdict {
  if (cgroups.memory) return true;
  if (launcher !== undefined) return 'measured every 250 ms: until then a tool may use more';
  return { not: `needs a cgroup or the launcher: ${missing.cgroup}; ${missing.launcher}` };
}

function judgeProcesses({ cgroups, bubblewrap, launcher, countsProcesses, missing }: HostAbilities): Verdict {
  if (cgroups.pids) return true;
  // Outside a user namespace the rlimit would count all processes of the user.
  if (bubblewrap !== undefined && launcher !== undefined && countsProcesses) return true;
  return {
    not: `needs a cgroup, or the launcher in a sandbox of an ordinary user: ${missing.cgroup}`,
  };
}

interface ToolFacts {
  /** The tool's own folder or file. */
  readonly ownPath: string | undefined;
  /** URL of a remote MCP server. */
  readonly url: string | undefined;
  readonly variables: readonly string[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

/** A limit and its value; of an enforced one also the field that sets it, and the consequence without enforcement. */
type Limit =
  | readonly [what: string, value: string]
  | readonly [what: string, value: string, field: SandboxField, otherwise: string];

/** Lines that list what a tool may access and use, for the console and the command line. */
export function accessLines(policy: SandboxPolicy, effective: EffectiveSandbox, facts: ToolFacts): string[] {
  const { tier, notEnforced, notes, runsAs } = effective;
  const { paths, write, network, hosts, cpuPercent } = policy;
  const line = ([what, value, field, otherwise]: Limit): string => {
    const note = field && notes[field];
    if (field && notEnforced.includes(field))
      return `${what}: ${value}, NOT ENFORCED HERE: ${otherwise} (${note})`;
    return `${what}: ${value}${note === undefined ? '' : ` (${note})`}`;
  };
  const callLimits = [
    `Time of a call: ${facts.timeoutMs / 1_000} s`,
    `Output of a call: ${(facts.maxOutputBytes / 1_048_576).toFixed(1).replace(/\.0$/, '')} MB`,
  ];
  if (facts.url !== undefined)
    return [`Runs at: ${new URL(facts.url).host}; nothing limits what it touches there`, ...callLimits];
  const reachable = network === 'all' ? 'all hosts and ports' : hosts.map(withPorts).join(', ') || 'none';
  const read = [facts.ownPath ?? 'its own folder', ...paths, 'the programs and libraries of the system'];
  const written = [`a private temporary folder of ${policy.temporaryMB} MB`, ...(write ? paths : [])];
  const programs = policy.execute ? 'those of the system' : 'only its interpreter';
  const share = cpuPercent === undefined ? 'no limit' : `${cpuPercent} % of a core`;
  const networkField = network === 'none' ? 'allowNetwork' : 'allowedHosts';
  const limits: Limit[] = [
    ['Network', reachable, networkField, 'it reaches every host and port'],
    ['Reads', read.join(', '), 'allowedPaths', 'it reads all that its user may read'],
    ['Writes', written.join(', '), 'canWriteFiles', 'it writes all that its user may write'],
    ["Server's data directory", 'hidden', 'dataDirectory', 'it can read the admin key'],
    ['Programs', programs, 'canExecuteCommands', 'it runs any program'],
    ['Variables', [...facts.variables].sort().join(', ') || 'none'],
    ['User', runsAs ? `uid ${runsAs.uid}` : 'not known until it is loaded'],
    ['Memory', `${policy.memoryMB} MB`, 'maxMemoryMB', 'it may use all of this host'],
    ['Processor', share, 'maxCpuPercent', 'it may use all cores'],
    ['Processes', `${policy.processes}, with threads`, 'processes', 'it may start all that its user may'],
  ];
  return [...limits.map(line), ...callLimits, `Sandbox: tier ${tier} of 3`];
}

/** An entry of `allowedHosts` with the ports that it opens: its own, or else 80 and 443. */
function withPorts(entry: string): string {
  // Without brackets, the last digits of an IPv6 address are no port.
  const host = isIPv6(entry) ? `[${entry}]` : entry;
  return /:\d+$/.test(host) ? host : `${host}:80, ${host}:443`;
}
