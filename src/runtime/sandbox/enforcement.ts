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
