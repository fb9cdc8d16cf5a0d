const loopbackName = /^(localhost|(.+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])$/;

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
    name !== undefined && (loopbackName.test(name) || allowedHosts.includes(name));
  return (
    trusted(hostName(headers.host)) && (headers.origin === undefined || trusted(originHost(headers.origin)))
  );
}
