import { isIPv4 } from 'node:net';

const isLoopback = (name: string): boolean =>
  /^((.+\.)?localhost|\[::1\])$/.test(name) || (isIPv4(name) && name.startsWith('127.'));

/** The host of a `Host` header's value, lower case, without its port; undefined where it is none. */
export function hostName(header: string | undefined): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(:\d{1,5})?$/i.exec(header ?? '');
  return match?.[1]?.toLowerCase().replace(/\.$/, '');
}

/** The host of an `Origin` header's value; undefined for `null` and other opaque origins. */
function originHost(origin: string): string | undefined {
  return hostName(/^https?:\/\/([^/]+)$/i.exec(origin)?.[1]);
}

/**
 * Whether a request to a server without keys may be believed to come from this machine. A page in the operator's
 * browser can reach loopback addresses too: by DNS rebinding it brings its own Host, by a cross-site POST its Origin.
 */
export function comesFromTrustedHost(
  headers: { readonly host?: string | undefined; readonly origin?: string | undefined },
  allowedHosts: readonly string[],
): boolean {
  const trusted = (name: string | undefined): boolean =>
    name !== undefined && (isLoopback(name) || allowedHosts.includes(name));
  return (
    trusted(hostName(headers.host)) && (headers.origin === undefined || trusted(originHost(headers.origin)))
  );
}

/** The headers that tell which page may have sent a request. */
interface Sender {
  readonly headers: {
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly 'sec-fetch-site'?: string | string[] | undefined;
  };
  readonly protocol: string;
}

/**
 * Whether a web page of another origin may have made a browser send this. Every browser names the page in `Origin`
 * when it sends something other than GET, and newer ones say in `Sec-Fetch-Site` how near it is; other clients send
 * neither.
 */
export function mayBeForged({ headers, protocol }: Sender): boolean {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin.toLowerCase() !== `${protocol}://${host}`.toLowerCase();
}
