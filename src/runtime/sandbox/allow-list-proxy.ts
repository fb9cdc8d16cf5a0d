import { lookup } from 'node:dns/promises';
import { chown, rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { HostRules, mayLeadTo, nameOf, portOfUrl } from '../../base/outbound/addresses.js';
import { Destination, proxyAuthorization, DestinationRefused } from '../../base/outbound/connector.js';
import { makePrivateFolder } from './path-access.js';

/** Limits of one proxy. */
interface ProxyLimits {
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  /** Timeout for receiving a request's headers. */
  readonly headTimeoutMs: number;
  /** Timeout after which an idle connection is closed. */
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** Limits that differ from the defaults, and the user and port of the proxy. */
export interface ProxyOptions extends Partial<ProxyLimits> {
  /** The user that may connect; absent: the gateway's user. */
  readonly owner?: number | undefined;
  /** The gateway's port, which no rule opens. */
  readonly ownPort?: (() => number | undefined) | undefined;
}

/** Time after a refusal within which it may explain a failure of the tool. */
const denialValidMs = 60_000;

const defaults: ProxyLimits = {
  maxConnections: 64,
  maxHeaderBytes: 16_384,
  headTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  connectTimeoutMs: 10_000,
};

/** A request that is not forwarded; the tool receives the message. */
class ProxyRefusal extends Error {
  constructor(
    readonly status: 400 | 403 | 502 | 504,
    message: string,
  ) {
    super(message);
  }
}

/** An HTTP proxy (CONNECT and plain requests) on a unix socket, through which one tool reaches its allowed hosts. */
export class AllowListProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Duplex>();
  private lastDenied = { target: '', at: -Infinity };

  private constructor(
    private readonly rules: HostRules,
    private readonly limits: ProxyLimits,
    private readonly folder: string,
    private readonly ownPort: () => number | undefined,
  ) {
    this.server = createServer(
      {
        maxHeaderSize: limits.maxHeaderBytes,
        headersTimeout: limits.headTimeoutMs,
        // The body may take longer than the headers.
        requestTimeout: limits.headTimeoutMs * 6,
        connectionsCheckingInterval: Math.min(1_000, limits.headTimeoutMs),
      },
      (incoming, response) => void this.handleRequest(incoming, response),
    );
    this.server.maxConnections = limits.maxConnections;
    this.server.on('connect', (incoming, client, head) => void this.handleConnect(incoming, client, head));
    this.server.on('connection', (socket) => this.track(socket));
  }

  /** Starts a proxy. @param hosts as in `allowedHosts`: `host`, `host:port`, `*.domain` or addresses */
  static async listen(
    hosts: readonly string[],
    { owner, ownPort = () => undefined, ...limits }: ProxyOptions = {},
  ): Promise<AllowListProxy> {
    const folder = await makePrivateFolder(owner);
    const proxy = new AllowListProxy(new HostRules(hosts), { ...defaults, ...limits }, folder, ownPort);
    await new Promise<void>((resolve, reject) => {
      proxy.server.once('error', reject).listen(proxy.path, resolve);
    });
    if (owner !== undefined) await chown(proxy.path, owner, owner);
    return proxy;
  }

  /** Path of the unix socket. */
  get path(): string {
    return join(this.folder, 'proxy.sock');
  }

  /** The host and port of a recent request that no rule allows; undefined if there was none. */
  get deniedTarget(): string | undefined {
    const { target, at } = this.lastDenied;
    return performance.now() - at < denialValidMs ? target : undefined;
  }

  /** Ends all connections and removes the socket. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Remembers a socket until it closes, so that `close` can end it. */
  private track(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => this.sockets.delete(socket));
  }

  /** Tunnels a CONNECT request. */
  private async handleConnect(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const upstream = await this.connect(this.allowedDestination(urlOf(`https://${incoming.url ?? ''}`)));
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      this.tunnel(client, upstream, head);
    } catch (error) {
      const { status, message } = asRefusal(error);
      client.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(message)}\r\nConnection: close\r\n\r\n${message}`,
      );
    }
  }

  /** Connects two sockets until one of them closes. @param head the first bytes of the client */
  private tunnel(client: Duplex, upstream: Socket, head: Buffer): void {
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    upstream.setTimeout(this.limits.idleTimeoutMs, end);
    for (const socket of [client, upstream]) socket.once('close', end).on('error', end);
    if (head.length > 0) upstream.write(head);
    client.pipe(upstream).pipe(client);
  }

  /** Forwards a plain HTTP request. */
  private async handleRequest(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = incoming.url ?? '';
      if (!url.startsWith('http://'))
        throw new ProxyRefusal(400, 'This is a proxy: it takes absolute http:// addresses');
      const destination = this.allowedDestination(urlOf(url));
      await this.forward(incoming, response, destination, await this.connect(destination));
    } catch (error) {
      const { status, message } = asRefusal(error);
      if (!response.headersSent) response.writeHead(status, { 'content-type': 'text/plain' });
      response.end(message);
    }
  }

  /** Sends a request upstream and its answer back. Rejects if there is no answer. */
  private forward(
    incoming: IncomingMessage,
    response: ServerResponse,
    { url, proxy }: Destination,
    upstream: Socket,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          createConnection: () => upstream,
          method: incoming.method,
          path: `${proxy ? url.origin : ''}${url.pathname}${url.search}`,
          headers: {
            ...endToEnd(incoming.headers),
            ...(proxy && proxyAuthorization(proxy)),
            // Must be the host that was checked.
            host: url.host,
            connection: 'close',
          },
        },
        (answer) => {
          try {
            response.writeHead(answer.statusCode ?? 502, {
              ...endToEnd(answer.headers),
              connection: 'close',
            });
          } catch (error) {
            // Caught here because an error thrown in this callback would be uncaught.
            outgoing.destroy(
              new ProxyRefusal(502, `The host's answer cannot be forwarded: ${String(error)}`),
            );
            return;
          }
          // A truncated answer must not look complete.
          answer.once('close', () => {
            if (!answer.complete) response.destroy();
          });
          answer.pipe(response);
        },
      );
      outgoing.setTimeout(this.limits.idleTimeoutMs, () =>
        outgoing.destroy(new ProxyRefusal(504, 'The host does not answer')),
      );
      outgoing.once('error', reject).once('close', resolve);
      response.once('close', () => upstream.destroy());
      incoming.pipe(outgoing);
    });
  }

  /** The destination of a request. @throws ProxyRefusal unless a rule allows the host */
  private allowedDestination(url: URL): Destination {
    const host = nameOf(url.hostname);
    const port = portOfUrl(url);
    const rule = this.rules.find(host, port);
    if (!rule) {
      this.lastDenied = { target: `${host}:${port}`, at: performance.now() };
      throw new ProxyRefusal(403, `${host}:${port} is not among the tool's allowedHosts`);
    }
    return new Destination(url, {
      timeoutMs: this.limits.connectTimeoutMs,
      ownPort: this.ownPort,
      lookup: (name) => lookup(name, { all: true }).catch(() => []),
      obstacle: (address) =>
        address === undefined || mayLeadTo(rule, address)
          ? undefined
          : `${host} resolves to an address that is not allowed here`,
    });
  }

  /** Connects to a destination, unless the proxy is closed meanwhile. */
  private async connect(destination: Destination): Promise<Socket> {
    const socket = await destination.connect();
    this.track(socket);
    if (!this.server.listening) socket.destroy();
    return socket;
  }
}

/** Parses the target of a request. @throws ProxyRefusal if it names no host */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (!url?.hostname) throw new ProxyRefusal(400, 'The request names no host');
  return url;
}

/** Hop-by-hop headers, which apply to one connection only and are not forwarded. `transfer-encoding` is kept. */
const hopByHop = 'keep-alive proxy-connection proxy-authorization te trailer upgrade expect'.split(' ');

const endToEnd = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name)));

/** The refusal that answers the tool for an error. */
function asRefusal(error: unknown): ProxyRefusal {
  if (error instanceof ProxyRefusal) return error;
  if (error instanceof DestinationRefused) return new ProxyRefusal(403, error.message);
  const { code } = error as NodeJS.ErrnoException;
  return code === 'UND_ERR_CONNECT_TIMEOUT'
    ? new ProxyRefusal(504, 'The host does not answer')
    : new ProxyRefusal(502, `The host cannot be reached: ${String(error)}`);
}
