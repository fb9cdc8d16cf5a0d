import { BlockList, isIPv4, isIPv6, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Whether a host, by name or address, is this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Whether this is a port of this host that this server listens on. */
export function isOwnAddress(address: string, port: number, ownPort: number | undefined): boolean {
  return port === ownPort && ownAddresses().check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Those of now: an interface may come or go. */
function ownAddresses(): BlockList {
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8, 'ipv4');
  own.addSubnet('0.0.0.0', 8, 'ipv4');
  own.addAddress('::1', 'ipv6');
  own.addAddress('::', 'ipv6');
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((each) => each ?? [])) {
    own.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own;
}

/** Where a server listens; undefined until it does. */
export function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' ? address?.port : undefined;
}
