import { BlockList, isIP } from 'node:net';

export interface HostRule {
  /** Lower case, without a trailing dot; an address without brackets. */
  readonly host: string;
  /** `*.host`: every name below it, not the host itself. */
  readonly below: boolean;
  /** Absent: 80 and 443. */
  readonly port?: number;
}

/** Of the web. */
export const usualPorts: readonly number[] = [80, 443];

/** @returns the rule that one entry of `allowedHosts` says, or undefined when it says none */
export function parseHostRule(entry: string): HostRule | undefined {
  const parts = /^(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(entry);
  const bare = isIP(entry) === 6 ? entry : parts?.[2]?.replace(/^\[|\]$/g, '');
  if (!bare) return undefined;
  const port = isIP(entry) === 6 || parts?.[3] === undefined ? undefined : Number(parts[3]);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const below = parts?.[1] !== undefined;
  return { host: nameOf(bare), below, ...(port !== undefined && { port }) };
}

/** The hosts that one tool may reach. */
export class HostRules {
  private readonly rules: readonly HostRule[];

  constructor(entries: readonly string[]) {
    this.rules = entries.map(parseHostRule).filter((rule) => rule !== undefined);
  }

  find(host: string, port: number): HostRule | undefined {
    const name = nameOf(host);
    const matches = (rule: HostRule): boolean =>
      (rule.below ? isIP(name) === 0 && name.endsWith(`.${rule.host}`) : rule.host === name) &&
      (rule.port === undefined ? usualPorts.includes(port) : rule.port === port);
    return this.rules.filter(matches).sort((a, b) => Number(a.below) - Number(b.below))[0];
  }
}

/** One spelling for all spellings of a host's name. */
export const nameOf = (host: string): string => host.toLowerCase().replace(/\.$/, '');

const privateNets = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  privateNets.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['ff00::', 8],
] as const)
  privateNets.addSubnet(net, bits, 'ipv6');

/** Where clouds keep the keys of their machines: no name leads there, only the address itself. */
const linkLocal = new BlockList();
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
linkLocal.addSubnet('fe80::', 10, 'ipv6');

/**
 * May a name that a rule allows lead to this address? A name that is listed itself may lead into private networks, one
 * that only a `*` covers may not, and none leads to link-local addresses.
 */
export function mayLeadTo(rule: HostRule, address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (linkLocal.check(address, family)) return false;
  return !rule.below || !privateNets.check(address, family);
}
