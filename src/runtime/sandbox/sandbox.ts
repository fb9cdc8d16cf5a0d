import { rm } from 'node:fs/promises';
import { AllowListProxy } from './allow-list-proxy.js';
import {
  splitVariables,
  bubblewrapCommand,
  holdCommand,
  hostMounts,
  namespaceMounts,
  launcherCommand,
  launcherInside,
  ownFiles,
  privateDirectory,
  proxyVariables,
  relayCommand,
  relayFiles,
  relaySocket,
  type Variables,
} from './command-prefixes.js';
import { CgroupLeaves, newLeafPrefix } from './cgroups.js';
import { effectiveSandbox, noSandbox, tierOf } from './enforcement.js';
import { brokenRule, hintFor, type ProcessEnd } from './hints.js';
import {
  isNetworkOpen,
  type PolicyDefaults,
  resolvePolicy,
  type SandboxDemands,
  type SandboxPolicy,
} from './sandbox-policy.js';
import {
  checkImplicit,
  grantedPaths,
  type GrantRules,
  makePrivateFolder,
  obstacleFor,
  refuseObstacles,
  SandboxRefusal,
} from './path-access.js';
import { MemoryWatch } from './memory-watch.js';
import {
  launchFiles,
  mountsFor,
  type MountTable,
  noMounts,
  isVisible,
  systemFiles,
  withAccess,
} from './mounts.js';
import type { Command, EffectiveSandbox, HostAbilities, SandboxStatus } from './sandbox.types.js';

const megabyte = 1_048_576;

/**
 * Memory that a process may reserve beyond four times its limit, because RLIMIT_DATA counts what is only reserved: each
 * worker thread of Node 24 reserves 540 MB.
 */
const reservedMB = 8_192;

interface SandboxOptions extends GrantRules {
  readonly enabled: boolean;
  /** `enforce`: configurations with restrictions that this host cannot enforce are rejected. */
  readonly mode: 'enforce' | 'best-effort';
  readonly defaults: PolicyDefaults;
  readonly abilities: HostAbilities;
  readonly uid: number;
  /** Folder to remove at shutdown. */
  readonly temporary?: string;
  /** Why unrestricted network access is refused on this server; absent: it is allowed. */
  readonly noOpenNetwork?: string;
  /** The gateway's port, which `allowedHosts` never opens; undefined until it listens. */
  readonly ownPort?: () => number | undefined;
}

/** A tool's command in its sandbox, with the resources shared by its processes. */
export interface Confined {
  readonly command: Command;
  readonly effective: EffectiveSandbox;
  /** Releases the resources of a process of `command` that has ended. */
  ended(pid: number): void;
  /** @returns the sandbox rule for which a process was killed; undefined if it ended for another reason */
  brokenRule(end: ProcessEnd): string | undefined;
  /**
   * @param starting whether the tool did not start
   * @returns a hint at the grant that may be missing for this error; undefined if none is known
   */
  hint(error: string, starting?: boolean): string | undefined;
  /** Releases all resources, after the last process has ended. */
  dispose(): Promise<void>;
}

interface PreparedSandbox {
  readonly policy: SandboxPolicy;
  readonly mounts: MountTable;
  /** A private directory on disk, used without bubblewrap. */
  readonly temporary: string | undefined;
  readonly proxy: AllowListProxy | undefined;
  /** Uid of the tool's own user; undefined: the gateway's. */
  readonly uid: number | undefined;
}

/** Runs tools' commands in sandboxes, as far as this host supports it (docs/operate/sandbox.md). */
export class Sandbox {
  private readonly leafPrefix = newLeafPrefix();
  private readonly memory = new MemoryWatch();
  /** Number of sandboxes so far, for the names of their groups. */
  private sequence = 0;

  constructor(private readonly options: SandboxOptions) {}

  async onApplicationShutdown(): Promise<void> {
    const { temporary } = this.options;
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  }

  /** Status of the sandbox for the log and the readiness check. */
  get status(): SandboxStatus {
    const { enabled, abilities, mode, grantable } = this.options;
    const tier = enabled ? tierOf(abilities) : 0;
    const keysAreRead = this.effective({}).notEnforced.includes('dataDirectory');
    return { enabled, tier, policy: mode, missing: abilities.missing, grantable, keysAreRead };
  }

  /** The sandbox that a tool would get. Prepares nothing. */
  effective(demands: SandboxDemands): EffectiveSandbox {
    return this.effectiveOf(this.policyOf(demands));
  }

  /** A tool's demands, completed by the defaults of this server. */
  policyOf(demands: SandboxDemands): SandboxPolicy {
    return resolvePolicy(demands, this.options.defaults);
  }

  /**
   * Prepares the sandbox of a tool's command.
   * @param own the tool's directory or file; undefined if it has none
   * @param userNumber offset of the tool's own uid
   * @throws SandboxRefusal for a field that cannot be granted or enforced
   */
  async confine(
    demands: SandboxDemands,
    command: Command,
    own: string | undefined,
    userNumber?: number,
  ): Promise<Confined> {
    const { enabled, abilities, secrets, noOpenNetwork } = this.options;
    const policy = this.policyOf(demands);
    const uid = this.userOf(userNumber);
    const effective = { ...this.effectiveOf(policy, uid), runsAs: { uid: uid ?? this.options.uid } };
    if (noOpenNetwork !== undefined && isNetworkOpen(policy, effective)) {
      const why = [noOpenNetwork, effective.notes.allowedHosts].filter(Boolean);
      throw new SandboxRefusal('allowNetwork', why.join('; allowedHosts '));
    }
    const owner = { cwd: command.cwd, own, write: policy.write };
    const allowed = await grantedPaths(policy.paths, owner, this.options);
    const mayRun = async (path: string): Promise<boolean> =>
      uid === undefined || (await obstacleFor(uid, { path, use: 'run' })) === undefined;
    const files = await launchFiles(command, own, allowed, mayRun);
    await checkImplicit(this.options, [...files.own, ...files.run, ...files.read]);
    if (enabled) this.refuseUnenforced(policy, effective);
    if (uid !== undefined) await refuseObstacles(uid, abilities, command, files, policy.write);
    if (effective.tier === 0) return this.unconfined(command, effective, uid);
    const system = await systemFiles({ execute: policy.execute, network: policy.network !== 'none' });
    const mounts = mountsFor(policy, files, system, secrets);
    return this.prepare({ policy, mounts, uid }, command, effective);
  }

  /**
   * Checks whether a tool's user may run a program.
   * @returns the inaccessible path and how to open it; undefined if the program may be run
   */
  async whyNotRun(userNumber: number, program: string): Promise<string | undefined> {
    const { toolUsers } = this.options.abilities;
    return toolUsers && obstacleFor(toolUsers.firstUid + userNumber, { path: program, use: 'run' });
  }

  /** @throws SandboxRefusal for a path that the operator has not listed */
  async checkGrantable(path: string): Promise<void> {
    await grantedPaths([path], { cwd: '/', own: undefined, write: false }, this.options);
  }

  /** @returns the tool's own user; undefined: the gateway's, which is not root */
  private userOf(userNumber: number | undefined): number | undefined {
    const { abilities, uid } = this.options;
    if (uid !== 0) return undefined;
    if (abilities.toolUsers && userNumber !== undefined) return abilities.toolUsers.firstUid + userNumber;
    throw new SandboxRefusal(
      'own',
      `would run as root: this server is root and cannot start it as another user (${abilities.missing.toolUsers}); start the server as another user`,
    );
  }

  /** The sandbox that this host can give. @param uid of the tool's own user, if it has one */
  private effectiveOf(policy: SandboxPolicy, uid?: number): EffectiveSandbox {
    const { enabled, abilities } = this.options;
    return enabled
      ? effectiveSandbox(policy, uid === undefined ? abilities : { ...abilities, countsProcesses: true })
      : noSandbox(policy, 'SANDBOX=off');
  }

  /** @throws SandboxRefusal for a demanded restriction that this host cannot enforce, with SANDBOX=enforce */
  private refuseUnenforced({ explicit }: SandboxPolicy, { notEnforced, notes }: EffectiveSandbox): void {
    if (this.options.mode !== 'enforce') return;
    const field = notEnforced.find((one) => explicit.has(one));
    if (field === undefined) return;
    throw new SandboxRefusal(
      field,
      `cannot be enforced on this host: it ${notes[field]} (SANDBOX=best-effort runs it all the same)`,
    );
  }

  /** The command without a sandbox, but as the tool's own user, if it has one. */
  private unconfined(start: Command, effective: EffectiveSandbox, uid: number | undefined): Confined {
    const { toolUsers } = this.options.abilities;
    const asUser = toolUsers && uid !== undefined ? holdCommand(toolUsers.launcher, noMounts, uid) : [];
    const [program = start.command, ...args] = [...asUser, start.command, ...start.args];
    const command = { ...start, command: program, args };
    const none = (): undefined => undefined;
    return { command, effective, ended: none, brokenRule: none, hint: none, dispose: async () => {} };
  }

  /** Makes the resources of a sandbox and wraps the command. */
  private async prepare(
    prepared: Omit<PreparedSandbox, 'temporary' | 'proxy'>,
    command: Command,
    effective: EffectiveSandbox,
  ): Promise<Confined> {
    const { policy, uid } = prepared;
    const { bubblewrap, launcher, socat, cgroups } = this.options.abilities;
    const limits = {
      memory: policy.memoryMB * megabyte,
      pids: policy.processes,
      ...(policy.cpuPercent !== undefined && { cpu: policy.cpuPercent }),
    };
    const leaves = new CgroupLeaves(cgroups, limits, `${this.leafPrefix}${++this.sequence}-`);
    const needsProxy = policy.network === 'hosts' && bubblewrap !== undefined && socat !== undefined;
    const proxy = needsProxy
      ? await AllowListProxy.listen(policy.hosts, { owner: uid, ownPort: this.options.ownPort })
      : undefined;
    const temporary = bubblewrap === undefined ? await makePrivateFolder(uid) : undefined;
    const sandbox = { ...prepared, temporary, proxy };
    const sees = (path: string): boolean => isVisible(prepared.mounts, path);
    return {
      command: {
        ...this.wrap(command, sandbox, leaves),
        ...(launcher !== undefined &&
          !cgroups.memory && { watch: (pid, end) => this.memory.add(pid, policy.memoryMB, end) }),
      },
      effective,
      ended: (pid) => void leaves.release(pid),
      brokenRule: (end) => brokenRule(end, bubblewrap !== undefined),
      hint: (error, starting) => hintFor(error, policy, { starting, denied: proxy?.deniedTarget, sees }),
      dispose: async () => {
        await leaves.release();
        await proxy?.close();
        if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
      },
    };
  }

  /** Puts the prefixes of the sandbox before a command, in the order in which they run. */
  private wrap(
    { command, args, cwd, env }: Command,
    sandbox: PreparedSandbox,
    leaves: CgroupLeaves,
  ): Command {
    const { bubblewrap } = this.options.abilities;
    const home = sandbox.temporary ?? privateDirectory;
    const variables = { ...env, TMPDIR: home, HOME: home, ...(sandbox.proxy && proxyVariables) };
    const { shared, toolOnly } = splitVariables(variables);
    const group = leaves.command(bubblewrap === undefined ? toolOnly : []);
    const relay = sandbox.proxy ? relayCommand() : [];
    const [program = command, ...rest] = [
      ...group,
      ...(bubblewrap === undefined ? [] : this.bubblewrapPrefix(bubblewrap, sandbox, cwd, toolOnly)),
      ...this.launcherPrefix(sandbox),
      ...relay,
      command,
      ...args,
    ];
    // Without a wrapper the statically linked launcher comes first, on which loader variables have no effect.
    const isWrapped = bubblewrap !== undefined || group.length > 0;
    return { command: program, args: rest, cwd, env: isWrapped ? shared : variables };
  }

  private bubblewrapPrefix(
    program: string,
    { policy, mounts, proxy, uid }: PreparedSandbox,
    cwd: string,
    variables: Variables,
  ): string[] {
    const { launcher, socat } = this.options.abilities;
    const confined = bubblewrapCommand({
      program,
      mounts,
      network: policy.network === 'all' || (policy.network === 'hosts' && !proxy),
      temporaryBytes: policy.temporaryMB * megabyte,
      cwd,
      variables,
      extra: {
        ...(launcher !== undefined && { [launcherInside]: launcher }),
        ...(proxy && socat !== undefined && { [relaySocket]: proxy.path, ...relayFiles(socat) }),
      },
    });
    return launcher === undefined ? confined : [...holdCommand(launcher, mounts, uid), ...confined];
  }

  private launcherPrefix({ policy, mounts, temporary, proxy, uid }: PreparedSandbox): string[] {
    const { launcher, bubblewrap, countsProcesses, cgroups } = this.options.abilities;
    if (launcher === undefined) return [];
    const alone = bubblewrap === undefined;
    const limits = {
      ...(!cgroups.memory && { data: (4 * policy.memoryMB + reservedMB) * megabyte }),
      ...(!cgroups.pids && !alone && (countsProcesses || uid !== undefined) && { nproc: policy.processes }),
      ...(alone && !policy.write && { fsize: policy.temporaryMB * megabyte }),
    };
    const folder = alone ? temporary : privateDirectory;
    return launcherCommand({
      program: alone ? launcher : `${ownFiles}/${launcherInside}`,
      mounts,
      more: [
        ...(alone ? hostMounts : namespaceMounts),
        ...withAccess('rx', proxy ? [ownFiles] : []),
        ...withAccess('rw', folder === undefined ? [] : [folder]),
      ],
      network: policy.network !== 'none',
      limits,
      alone,
      // Landlock does not cover chmod. A tool with its own user can change only its own files.
      keepModes: uid === undefined && alone,
      ...(alone && { uid }),
    });
  }
}
