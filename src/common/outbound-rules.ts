import ipaddr from 'ipaddr.js';
import { HostRules, parseHostRule, usualPorts } from './host-rules.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface NetworkRule {
  readonly network: [Address, number];
  /** Absent: 80 and 443. */
  readonly port?: number;
}

/**
 * Where tools that reach out may connect to: public addresses, and what an operator allows beside them. Both on the ports
 * of the web, unless a rule names another one.
 */
export class OutboundRules {
  private constructor(
    private readonly hosts: HostRules,
    private readonly networks: readonly NetworkRule[],
  ) {}

  /**
   * @param entries `host`, `*.domain`, an address or a network (`10.0.0.0/8`, `[fd00::]/8`), each with `:port` or without
   * @returns undefined when one of them is none of these
   */
  static parse(entries: readonly string[]): OutboundRules | undefined {
    const hosts = entries.filter((entry) => !entry.includes('/'));
    const networks = entries.filter((entry) => entry.includes('/')).map(parseNetwork);
    const known = networks.filter((rule) => rule !== undefined);
    if (known.length < networks.length || hosts.some((entry) => !parseHostRule(entry))) return undefined;
    return new OutboundRules(new HostRules(hosts), known);
  }

  /** Whether a rule names this host, or a domain above it. */
  names(host: string, port: number): boolean {
    return this.hosts.find(host, port) !== undefined;
  }

  /**
   * @param host as the URL names it
   * @param address where it leads, or the host itself
   * @returns what stands in the way, such as `private address` or `port 22`; undefined: nothing
   */
  obstacle(host: string, port: number, address: string): string | undefined {
    const found = ipaddr.parse(address);
    // Clouds keep the keys of their machines at link-local addresses: no name leads there, only the address itself.
    if (this.names(host, port) && (host === address || found.range() !== 'linkLocal')) return undefined;
    if (this.networks.some((rule) => covers(rule, found, port))) return undefined;
    if (!isPublic(found)) return `${found.range()} address`;
    return usualPorts.includes(port) ? undefined : `port ${port}`;
  }
}

function parseNetwork(entry: string): NetworkRule | undefined {
  const [, address = '', bits = '', port] =
    /^\[?([0-9a-f:.]+)\]?\/(\d{1,3})(?::(\d{1,5}))?$/i.exec(entry) ?? [];
  const cidr = `${address}/${bits}`;
  if (!ipaddr.isValidCIDR(cidr)) return undefined;
  if (port === undefined) return { network: ipaddr.parseCIDR(cidr) };
  return Number(port) > 0 && Number(port) < 65_536
    ? { network: ipaddr.parseCIDR(cidr), port: Number(port) }
    : undefined;
}

function covers({ network: [net, bits], port }: NetworkRule, address: Address, asked: number): boolean {
  if (port === undefined ? !usualPorts.includes(asked) : port !== asked) return false;
  return address.kind() === net.kind() && address.match([net, bits] as [ipaddr.IPv4 & ipaddr.IPv6, number]);
}

/** The part of IPv6 that is given to hosts of the internet; of it, and of IPv4, much is set aside for other ends. */
const globalUnicast = ipaddr.IPv6.parse('2000::');

const isPublic = (address: Address): boolean =>
  address.range() === 'unicast' &&
  (address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(globalUnicast, 3));
