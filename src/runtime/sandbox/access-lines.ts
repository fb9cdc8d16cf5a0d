import { isIPv6 } from 'node:net';
import type { SandboxPolicy } from './sandbox-policy.js';
import type { EffectiveSandbox, SandboxField } from './sandbox.types.js';

/** Facts about a tool besides its sandbox. */
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
