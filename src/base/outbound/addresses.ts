import ipaddr from 'ipaddr.js';
import { isIP, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface OnPort {
  /** Absent: 80 and 443. */
  readonly port?: number;
}

export interface HostRule extends OnPort {
  /** Lower case, without a trailing dot; an address without brackets. */
  readonly host: string;
  /** `*.host`: every name below it, not the host itself. */
  readonly below: boolean;
}

interface NetworkRule extends OnPort {
  readonly network: [Address, number];
}

const webPorts: readonly number[] = [80, 443];

const isOnPort = (rule: OnPort, port: number): boolean =>
  rule.port === undefined ? webPorts.includes(port) : rule.port === port;

/** @returns undefined for no port */
function portIn(digits: string | undefined): OnPort | undefined {
  if (digits === undefined) return {};
  const port = Number(digits);
  return port > 0 && port < 65_536 ? { port } : undefined;
}

/** @returns the rule in an entry of `allowedHosts`; undefined if it is invalid */
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
      isOnPort(rule, port);
    return this.rules.filter(matches).sort((a, b) => Number(a.below) - Number(b.below))[0];
  }
}

/**
 * Addresses that tools may connect to: public ones, and those that an operator allows. Both on the ports
 * of the web, unless a rule names another one.
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
   * @param host as the URL names it
   * @param address where it leads, or the host itself; absent: a proxy looks the name up
   * @returns what stands in the way, such as `private address` or `port 22`; undefined: nothing
   */
  obstacle(host: string, port: number, address?: string): string | undefined {
    if (this.names(host, port)) return undefined;
    if (address !== undefined) {
      const found = ipaddr.parse(address);
      if (this.networks.some((rule) => covers(rule, found, port))) return undefined;
      if (!isPublic(found)) return `${found.range()} address`;
    } else if (privateName.test(nameOf(host))) return 'name of a private network';
    return webPorts.includes(port) ? undefined : `port ${port}`;
  }

  /** The same for a URL whose host is an address or `localhost`; other names are resolved when they are used. */
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

/** A name that only a `*` covers does not lead into private networks; one that is listed itself may. */
export const mayLeadTo = (rule: HostRule, address: string): boolean =>
  !rule.below || isPublic(ipaddr.parse(address));

/** One spelling for all spellings of a host's name; an address of IPv6 has no brackets. */
export const nameOf = (host: string): string => host.toLowerCase().replace(/^\[|\]$|\.$/g, '');

/** The part of IPv6 that is given to hosts of the internet; of it, and of IPv4, much is set aside for other ends. */
const globalUnicast = ipaddr.IPv6.parse('2000::');

const isPublic = (address: Address): boolean =>
  address.range() === 'unicast' &&
  (address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(globalUnicast, 3));

const ipv4Compatible = ipaddr.IPv6.parse('::');

/** The address that is reached in the end: IPv6 has several forms for one of IPv4. */
function reached(text: string): Address {
  const address = ipaddr.parse(text);
  if (address.kind() === 'ipv4') return address;
  const range = address.range();
  const ofIpv4 = (at: number): Address => new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
  if (range === '6to4') return ofIpv4(2);
  const isTranslated = ['ipv4Mapped', 'rfc6145', 'rfc6052'].includes(range);
  return isTranslated || (range === 'unicast' && (address as ipaddr.IPv6).match(ipv4Compatible, 96))
    ? ofIpv4(12)
    : address;
}

/** Names that no public name server knows (RFC 6762, appendix G). */
const privateName = /^[^.]+$|\.(local|localhost|intranet|internal|private|corp|home|lan|home\.arpa)$/;

/** Whether a `NO_PROXY` has a host: itself, a domain above it or its network, on each port or on the one that it names. */
export function isListed(list: string, host: string, port: number): boolean {
  const name = nameOf(host);
  const holds = (entry: string): boolean => {
    const network = parseNetwork(entry);
    const rule = network ?? parseHostRule(entry.replace(/^\*?\./, ''));
    if (!rule || port !== (rule.port ?? port)) return entry === '*';
    return network
      ? isIP(name) !== 0 && covers({ ...network, port }, ipaddr.parse(name), port)
      : `.${name}`.endsWith(`.${(rule as HostRule).host}`);
  };
  return list.split(/[\s,]+/).some(holds);
}

/** Metadata services of clouds that are not link-local: Alibaba, Azure, Oracle, AWS, Google. */
const metadata = new Set(
  '100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd00:ec2::23 fd20:ce::254'
    .split(' ')
    .map((each) => ipaddr.parse(each).toNormalizedString()),
);

const metadataNames = ['metadata.google.internal', 'metadata.goog'];

/** Whether this is the address, or a name, of a cloud's metadata, which can never be allowed: it serves credentials. */
export function isForbidden(host: string): boolean {
  if (isIP(host) === 0) return metadataNames.includes(nameOf(host));
  const found = reached(host);
  return found.range() === 'linkLocal' || metadata.has(found.toNormalizedString());
}

export const forbidden = (host: string): string =>
  `${host} leads to a link-local or metadata address, to which nothing may connect`;

/** Whether a host, by name or address, is this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && reached(host).range() === 'loopback');

/** Whether this is a port of this host that this server listens on. */
export function isOwnAddress(address: string, port: number, ownPort: number | undefined): boolean {
  if (port !== ownPort) return false;
  const found = reached(address);
  if (['loopback', 'unspecified'].includes(found.range())) return true;
  // Read on each call, because interfaces may change.
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((each) => reached(each.address).toNormalizedString() === found.toNormalizedString());
}

export const portOfUrl = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === 'https:' ? 443 : 80);

/** The port on which a server listens; undefined until it does. */
export function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' ? address?.port : undefined;
}
