import { type EffectiveSandbox, type SandboxField, sandboxFields } from './sandbox.types.js';

/** The fields of `sandbox` and `permissions` of a registration; all are optional. */
export interface SandboxDemands {
  readonly allowedPaths?: readonly string[];
  readonly allowNetwork?: boolean;
  readonly allowedHosts?: readonly string[];
  readonly maxMemoryMB?: number;
  readonly maxCpuPercent?: number;
  readonly maxExecutionMs?: number;
  readonly canReadFiles?: boolean;
  readonly canWriteFiles?: boolean;
  readonly canNetwork?: boolean;
  readonly canExecuteCommands?: boolean;
  readonly allowedEnvironmentVars?: readonly string[];
}

/** Limits of tools that demand no others. */
export interface PolicyDefaults {
  readonly memoryMB: number;
  readonly processes: number;
  readonly temporaryMB: number;
}

/** The rights of one tool's processes. */
export interface SandboxPolicy extends PolicyDefaults {
  /** Readable paths besides the tool's own directory and the system's; as given, not resolved. */
  readonly paths: readonly string[];
  /** Whether the paths may also be written. */
  readonly write: boolean;
  readonly network: 'none' | 'hosts' | 'all';
  /** Only with network `hosts`. */
  readonly hosts: readonly string[];
  /** Whether programs of the system may run, not only the tool's own interpreter. */
  readonly execute: boolean;
  /** Per cent of one core. */
  readonly cpuPercent?: number;
  /** Restrictions that the configuration demands. */
  readonly explicit: ReadonlySet<SandboxField>;
  /** Permissions without effect, because no path is allowed. */
  readonly opensNothing: ReadonlySet<SandboxField>;
  /** All restrictions, including those by default. */
  readonly restricts: ReadonlySet<SandboxField>;
}

/**
 * The policy of a sandbox. Missing permissions get their defaults. If two fields contradict each other, the narrower one
 * wins (docs/operate/sandbox.md lists the pairs).
 */
export function resolvePolicy(demands: SandboxDemands, defaults: PolicyDefaults): SandboxPolicy {
  const network = networkOf(demands);
  const paths = demands.canReadFiles === false ? [] : (demands.allowedPaths ?? []);
  const explicit = explicitRestrictions(demands);
  return {
    ...defaults,
    memoryMB: demands.maxMemoryMB ?? defaults.memoryMB,
    paths,
    write: demands.canWriteFiles === true && paths.length > 0,
    network,
    hosts: network === 'hosts' ? (demands.allowedHosts ?? []) : [],
    execute: demands.canExecuteCommands !== false,
    ...(demands.maxCpuPercent !== undefined && { cpuPercent: demands.maxCpuPercent }),
    explicit,
    opensNothing: new Set(
      (['canReadFiles', 'canWriteFiles'] as const).filter((field) => demands[field] && paths.length === 0),
    ),
    restricts: new Set([...explicit, ...defaultRestrictions(network)]),
  };
}

/** The hosts that a tool may reach. */
function networkOf({ allowNetwork, canNetwork, allowedHosts }: SandboxDemands): SandboxPolicy['network'] {
  if (allowNetwork === false || canNetwork === false) return 'none';
  if (allowedHosts) return allowedHosts.length > 0 ? 'hosts' : 'none';
  return allowNetwork === true || canNetwork === true ? 'all' : 'none';
}

/** The demands that restrict something: limits, and permissions that are refused. True only grants something. */
function explicitRestrictions(demands: SandboxDemands): Set<SandboxField> {
  const fields = Object.keys(demands) as (keyof SandboxDemands)[];
  return new Set(fields.filter((field) => demands[field] !== undefined && demands[field] !== true));
}

/** Fields that restrict only the tools whose configuration demands it. */
const restrictOnDemand: readonly SandboxField[] = ['allowedHosts', 'maxCpuPercent', 'canExecuteCommands'];
/** Fields that restrict all tools without a network. */
const restrictWithoutNetwork: readonly SandboxField[] = ['allowNetwork', 'canNetwork'];

/** The fields that restrict a tool whatever it demands. */
const defaultRestrictions = (network: SandboxPolicy['network']): SandboxField[] =>
  sandboxFields.filter(
    (field) =>
      !restrictOnDemand.includes(field) && (network === 'none' || !restrictWithoutNetwork.includes(field)),
  );

/** Whether a tool reaches any host, also because its `allowedHosts` are not enforced. */
export const isNetworkOpen = ({ network }: SandboxPolicy, { notEnforced }: EffectiveSandbox): boolean =>
  network === 'all' || (network === 'hosts' && notEnforced.includes('allowedHosts'));
