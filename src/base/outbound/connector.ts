import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { SingleFlight } from '../common/single-flight.js';
import { StartError } from '../common/start-error.js';
import {
  forbidden,
  isForbidden,
  isInNoProxy,
  isLoopback,
  isOwnAddress,
  nameOf,
  portOfUrl,
} from './addresses.js';

const defaultTimeoutMs = 10_000;

/** Rules of connections to one destination. */
export interface ConnectRules {
  /** Timeout for making a connection; 10 s by default. */
  readonly timeoutMs?: number;
  /** This server's own port, which is refused on this host. */
  readonly ownPort?: (() => number | undefined) | undefined;
  /** A further reason not to connect; undefined if there is none. @param address undefined if a proxy resolves the name */
  readonly obstacle?: ((address: string | undefined) => string | undefined) | undefined;
  /** Resolves a name to addresses; by default as the system does. */
  readonly lookup?: (host: string) => Promise<LookupAddress[]>;
  /** Whether a proxy is never used. */
  readonly isDirect?: boolean | undefined;
}

/** A connection that the rules refuse. Nothing was sent. */
export class DestinationRefused extends Error {
  override readonly name = 'DestinationRefused';
}

/**
 * One host and port, with checked connections to it: directly to the addresses that were checked, or through the proxy of
 * the environment, which resolves names itself.
 */
export class Destination {
  /** The proxy of the environment; undefined for a direct connection. */
  readonly proxy: URL | undefined;
  private readonly host: string;
  private readonly port: number;
  private readonly timeout: number;
  /**
   * Connections made at the same time share a lookup, because a lookup without an answer occupies one of the few threads
   * that file operations need, too.
   */
  private readonly lookups = new SingleFlight<LookupAddress[]>();

  constructor(
    readonly url: URL,
    private readonly rules: ConnectRules = {},
  ) {
    this.host = nameOf(url.hostname);
    this.port = portOfUrl(url);
    this.timeout = rules.timeoutMs ?? defaultTimeoutMs;
    this.proxy = rules.isDirect ? undefined : proxyFor(url);
  }

  /** Checks a literal address, or a name that a proxy resolves; others are checked on connect. @throws DestinationRefused */
  check(): void {
    const isName = isIP(this.host) === 0;
    if (isName && !this.proxy) return;
    const why = this.refusal(isName ? undefined : this.host);
    if (why !== undefined) throw new DestinationRefused(why);
  }

  /** An undici dispatcher for the destination, without timeouts after connecting. @param connections max; null: no limit */
  dispatcher(connections: number | null = null): Dispatcher {
    const { timeout } = this;
    const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
    if (!this.proxy) return new Agent({ ...limits, connect: this.connector() });
    const agent = new ProxyAgent({
      ...limits,
      uri: this.proxy.href,
      // Many proxies open tunnels to port 443 only.
      proxyTunnel: false,
      proxyTls: { timeout },
      clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: timeout }),
      factory: (origin, options) => new Pool(origin, { ...options, ...limits }),
    });
    return agent.compose((dispatch) => (options, handler) => {
      this.check();
      return dispatch(options, handler);
    });
  }

  /** Connects. Through a proxy: by a tunnel for https, to the proxy itself for http. @throws DestinationRefused */
  async connect(): Promise<Socket> {
    const { proxy, url, timeout } = this;
    if (!proxy) return openSocket(this.connector(), new URL(`http://${url.hostname}:${this.port}`));
    this.check();
    if (url.protocol === 'http:') return openSocket(buildConnector({ timeout }), proxy);
    const client = new Client(proxy.origin, { connect: { timeout }, headersTimeout: timeout });
    try {
      const path = `${url.hostname}:${this.port}`;
      const headers = { host: path, ...proxyAuthorization(proxy) };
      const { statusCode, socket } = await client.connect({ path, headers });
      if (statusCode === 200) return socket as Socket;
      socket.destroy();
      throw new Error(`the proxy answered ${statusCode}`);
    } finally {
      void client.close();
    }
  }

  /** Connects like undici, after the check. */
  private connector(): buildConnector.connector {
    const connect = buildConnector({ timeout: this.timeout, lookup: this.lookup });
    return (target, done) => {
      try {
        this.check();
        connect(target, done);
      } catch (error) {
        done(error as Error, null);
      }
    };
  }

  /** Resolves the host to its checked addresses, for Node's sockets. */
  private readonly lookup: LookupFunction = (_host, { all }, callback) => {
    this.addresses().then(
      ([first, ...others]) => {
        if (!first) callback(new Error(`${this.host} does not resolve to an address`), '');
        else if (all) callback(null, [first, ...others]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };

  /** The addresses that the rules allow. @throws DestinationRefused if an address is forbidden, or the rules allow none */
  private async addresses(): Promise<LookupAddress[]> {
    const find = this.rules.lookup ?? ((host: string) => lookup(host, { all: true }));
    const found = await this.lookups.join(this.host, () => find(this.host));
    const allowed = found.filter(({ address }) => this.refusal(address) === undefined);
    const refused = found.find(({ address }) => isForbidden(address) || allowed.length === 0);
    if (refused) throw new DestinationRefused(this.refusal(refused.address));
    return allowed;
  }

  /** The reason not to connect to an address, or to the name if a proxy resolves it; undefined if there is none. */
  private refusal(address: string | undefined): string | undefined {
    const { host, port, rules } = this;
    if (address !== undefined && isOwnAddress(address, port, rules.ownPort?.()))
      return `${host} is the address of this server itself`;
    return isForbidden(address ?? host) ? forbidden(host) : rules.obstacle?.(address);
  }
}

/** Opens a connection. */
const openSocket = (
  connect: buildConnector.connector,
  { protocol, hostname, host, port }: URL,
): Promise<Socket> =>
  new Promise((resolve, reject) => {
    connect({ protocol, hostname: nameOf(hostname), host, port }, (error, socket) =>
      error ? reject(error) : resolve(socket),
    );
  });

/** A variable of the environment, in lower or upper case; empty if it is not set. */
const variable = (name: string): string => process.env[name] || process.env[name.toUpperCase()] || '';

/**
 * The proxy for a URL, from HTTP_PROXY or HTTPS_PROXY, in upper or lower case.
 * @returns undefined for hosts in NO_PROXY and for loopback
 * @throws StartError if the variable is no URL, because a direct connection would bypass the proxy
 */
function proxyFor(url: URL): URL | undefined {
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const text = variable(name);
  const host = nameOf(url.hostname);
  if (text === '' || isLoopback(host) || isInNoProxy(variable('no_proxy'), host, portOfUrl(url)))
    return undefined;
  const proxy = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  throw new StartError(
    `${name.toUpperCase()} must be an http or https URL, such as http://proxy.example.com:3128`,
  );
}

/** The header that authenticates at a proxy, if its URL has a user. */
export function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` };
}
