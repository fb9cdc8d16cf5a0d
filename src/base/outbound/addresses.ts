import ipaddr from 'ipaddr.js';
import { isIP, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An allowed host, or all hosts below a domain. */
interface HostRule {
  /** Lower case, without a trailing dot; an address without brackets. */
  readonly host: string;
  /** Whether the rule is `*.host`: all names below the host, not the host itself. */
  readonly below: boolean;
  /** Absent: 80 and 443. */
  readonly port?: number;
}

/** An allowed network: an address in it, and the bits that all its addresses have in common. */
interface NetworkRule extends Pick<HostRule, 'port'> {
  readonly network: [Address, number];
}

const webPorts: readonly number[] = [80, 443];

const isOnPort = (rule: Pick<HostRule, 'port'>, port: number): boolean =>
  rule.port === undefined ? webPorts.includes(port) : rule.port === port;

/** The port of a rule, by its digits if it has any; undefined if they are out of range. */
function portIn(digits: string | undefined): Pick<HostRule, 'port'> | undefined {
  if (digits === undefined) return {};
  const port = Number(digits);
  return port > 0 && port < 65_536 ? { port } : undefined;
}

/** Parses an entry of `allowedHosts`; undefined if it is invalid. */
export function parseHostRule(entry: string): HostRule | undefined {
  if (isIP(entry) === 6) return { host: nameOf(entry), below: false };
  const [, star, host, digits] = /^(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(entry) ?? [];
  const port = portIn(digits);
  if (host === undefined || !port) return undefined;
  return { host: nameOf(host), below: star !== undefined, ...port };
}

function parseNetwork(entry: string): NetworkRule | undefined {
  const [, address, bits, digits] = /^\[?([0-9a-f:.]+)\]?\/(\d{1,3})(?::(\d{1,5}))?$/i.exec(entry) ?? [];
  const [cidr, port] = [`${address}/${bits}`, portIn(digits)];
  return port && ipaddr.isValidCIDR(cidr) ? { network: ipaddr.parseCIDR(cidr), ...port } : undefined;
}

/** Rules that allow hosts, for example those that one tool may reach. */
export class HostRules {
  private readonly rules: readonly HostRule[];

  constructor(entries: readonly string[]) {
    this.rules = entries.map(parseHostRule).filter((rule) => rule !== undefined);
  }

  /** The rule that allows a host on a port; an exact one takes precedence. */
  find(host: string, port: number): HostRule | undefined {
    const name = nameOf(host);
    const isBelow = ({ host: domain }: HostRule): boolean => isIP(name) === 0 && name.endsWith(`.${domain}`);
    const allowing = this.rules.filter((rule) => isOnPort(rule, port));
    return (
      allowing.find((rule) => !rule.below && rule.host === name) ??
      allowing.find((rule) => rule.below && isBelow(rule))
    );
  }
}

/**
 * Addresses to which tools may connect: public ones, and those that an operator allows. Both only on ports 80 and 443, unless
 * a rule names another one.
 */
export class OutboundRules {
  private constructor(
    private readonly hosts: HostRules,
    private readonly networks: readonly NetworkRule[],
  ) {}

  /**
   * @param entries `host`, `*.domain`, an address or a network (`10.0.0.0/8`, `[fd00::]/8`), each with `:port` or without
   * @returns undefined if an entry is invalid
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
   * The reason why a host may not be reached, such as `private address` or `port 22`; undefined if it may.
   * @param host host of the URL
   * @param address address of the host; absent if a proxy resolves the name
   */
  obstacle(host: string, port: number, address?: string): string | undefined {
    if (this.names(host, port)) return undefined;
    if (address !== undefined) {
      const parsed = ipaddr.parse(address);
      if (this.networks.some((rule) => covers(rule, parsed, port))) return undefined;
      if (!isPublic(parsed)) return `${parsed.range()} address`;
    } else if (privateName.test(nameOf(host))) return 'name of a private network';
    return webPorts.includes(port) ? undefined : `port ${port}`;
  }

  /** The obstacle of a URL whose host is an address or `localhost`. Other names are checked when they are resolved. */
  literalObstacle(url: URL): string | undefined {
    const host = nameOf(url.hostname);
    const address = /^(.+\.)?localhost$/.test(host) ? '127.0.0.1' : host;
    if (isIP(address) === 0) return undefined;
    if (isForbidden(address)) return 'link-local or metadata address';
    return this.obstacle(host, portOfUrl(url), address);
  }
}

function covers(rule: NetworkRule, address: Address, port: number): boolean {
  const [net, bits] = rule.network;
  if (!isOnPort(rule, port) || address.kind() !== net.kind()) return false;
  return address.match([net, bits] as [ipaddr.IPv4 & ipaddr.IPv6, number]);
}

/** Whether a host may have this address: private ones only if the rule names the host itself, without `*`. */
export const mayLeadTo = (rule: HostRule, address: string): boolean =>
  !rule.below || isPublic(ipaddr.parse(address));

/** A host's name in lower case, without a trailing dot and without the brackets of IPv6. */
export const nameOf = (host: string): string => host.toLowerCase().replace(/^\[|\]$|\.$/g, '');

/** The part of IPv6 that is assigned to hosts of the internet. Parts of it and of IPv4 are reserved. */
const globalUnicast = ipaddr.IPv6.parse('2000::');

const isPublic = (address: Address): boolean =>
  address.range() === 'unicast' &&
  (address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(globalUnicast, 3));

/** Network `::/96` of IPv4-compatible addresses (RFC 4291), which end in an IPv4 address. */
const ipv4Compatible = ipaddr.IPv6.parse('::');

/** The address that is really reached: IPv6 has several forms that contain an IPv4 address. */
function effectiveAddress(text: string): Address {
  const address = ipaddr.parse(text);
  if (address.kind() === 'ipv4') return address;
  const range = address.range();
  const ipv4At = (at: number): Address => new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
  if (range === '6to4') return ipv4At(2);
  const isTranslated = ['ipv4Mapped', 'rfc6145', 'rfc6052'].includes(range);
  return isTranslated || (range === 'unicast' && (address as ipaddr.IPv6).match(ipv4Compatible, 96))
    ? ipv4At(12)
    : address;
}

/** Names that no public name server knows (RFC 6762, appendix G). */
const privateName = /^[^.]+$|\.(local|localhost|intranet|internal|private|corp|home|lan|home\.arpa)$/;

/** Whether a `NO_PROXY` list contains a host, a domain above it or its network, on all ports or on this one. */
export function isInNoProxy(list: string, host: string, port: number): boolean {
  const name = nameOf(host);
  const matches = (entry: string): boolean => {
    const network = parseNetwork(entry);
    const rule = network ?? parseHostRule(entry.replace(/^\*?\./, ''));
    if (!rule || port !== (rule.port ?? port)) return entry === '*';
    return network
      ? isIP(name) !== 0 && covers({ ...network, port }, ipaddr.parse(name), port)
      : `.${name}`.endsWith(`.${(rule as HostRule).host}`);
  };
  return list.split(/[\s,]+/).some(matches);
}

/** Metadata services of clouds that are not link-local: Alibaba, Azure, Oracle, AWS, Google. */
const metadata = new Set(
  '100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd00:ec2::23 fd20:ce::254'
    .split(' ')
    .map((address) => ipaddr.parse(address).toNormalizedString()),
);

const metadataNames = ['metadata.google.internal', 'metadata.goog'];

/** Whether a host is link-local or a cloud's metadata service, which is never allowed because it serves credentials. */
export function isForbidden(host: string): boolean {
  if (isIP(host) === 0) return metadataNames.includes(nameOf(host));
  const address = effectiveAddress(host);
  return address.range() === 'linkLocal' || metadata.has(address.toNormalizedString());
}

/** The message for a forbidden host. */
export const forbidden = (host: string): string =>
  `${host} leads to a link-local or metadata address, to which nothing may connect`;

/** Whether a host, by name or address, is on loopback. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && effectiveAddress(host).range() === 'loopback');

/** Whether this server itself listens at an address and port. */
export function isOwnAddress(address: string, port: number, ownPort: number | undefined): boolean {
  if (port !== ownPort) return false;
  const target = effectiveAddress(address);
  if (['loopback', 'unspecified'].includes(target.range())) return true;
  // Read on each call, because interfaces may change.
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const text = target.toNormalizedString();
  return own.some((each) => effectiveAddress(each.address).toNormalizedString() === text);
}

/** The port of a URL, or the default one of its protocol. */
export const portOfUrl = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === 'https:' ? 443 : 80);

/** The port on which a server listens; undefined until it does. */
export function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' ? address?.port : undefined;
}
