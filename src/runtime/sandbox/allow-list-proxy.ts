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
import { connect, isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import {
  forbidden,
  type HostRule,
  HostRules,
  isForbidden,
  isOwnAddress,
  mayLeadTo,
  nameOf,
} from '../../base/outbound/addresses.js';
import { makePrivateFolder } from './tool-user.js';

interface ProxyLimits {
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  /** Timeout for receiving a request's headers. */
  readonly headTimeoutMs: number;
  /** Timeout after which an idle connection is closed. */
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

export interface ProxyOptions extends Partial<ProxyLimits> {
  /** The user that may connect; absent: the gateway's user. */
  readonly owner?: number | undefined;
  /** The gateway's port, which no rule opens. */
  readonly ownPort?: (() => number | undefined) | undefined;
}

const defaults: ProxyLimits = {
  maxConnections: 64,
  maxHeaderBytes: 16_384,
  headTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  connectTimeoutMs: 10_000,
};

interface Target {
  readonly host: string;
  readonly port: number;
}

/** A request that is not forwarded; the tool receives the message. */
class Denied extends Error {
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
        requestTimeout: limits.headTimeoutMs * 6,
        connectionsCheckingInterval: Math.min(1_000, limits.headTimeoutMs),
      },
      (incoming, response) => void this.plain(incoming, response),
    );
    this.server.maxConnections = limits.maxConnections;
    this.server.on('connect', (incoming, client, head) => void this.tunnel(incoming, client, head));
    this.server.on('connection', (socket) => this.keep(socket));
  }

  /**
   * @param hosts as in `allowedHosts`: `host`, `host:port`, `*.domain` or addresses
   */
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

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }

  private keep(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => this.sockets.delete(socket));
  }

  private async tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const upstream = await this.reach(targetOf(`tunnel://${incoming.url ?? ''}`, 443));
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      this.join(client, upstream, head);
    } catch (error) {
      const { status, message } = asDenied(error);
      client.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(message)}\r\nConnection: close\r\n\r\n${message}`,
      );
    }
  }

  private join(client: Duplex, upstream: Socket, head: Buffer): void {
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    upstream.setTimeout(this.limits.idleTimeoutMs, end);
    for (const socket of [client, upstream]) socket.once('close', end).on('error', end);
    if (head.length > 0) upstream.write(head);
    client.pipe(upstream).pipe(client);
  }

  private async plain(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = incoming.url ?? '';
      if (!url.startsWith('http://'))
        throw new Denied(400, 'This is a proxy: it takes absolute http:// addresses');
      const upstream = await this.reach(targetOf(url, 80));
      await this.forward(incoming, response, new URL(url), upstream);
    } catch (error) {
      const { status, message } = asDenied(error);
      if (!response.headersSent) response.writeHead(status, { 'content-type': 'text/plain' });
      response.end(message);
    }
  }

  private forward(
    incoming: IncomingMessage,
    response: ServerResponse,
    url: URL,
    upstream: Socket,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          createConnection: () => upstream,
          method: incoming.method,
          path: url.pathname + url.search,
          // The Host header must be the host that was checked.
          headers: { ...endToEnd(incoming.headers), host: url.host, connection: 'close' },
        },
        (answer) => {
          try {
            response.writeHead(answer.statusCode ?? 502, {
              ...endToEnd(answer.headers),
              connection: 'close',
            });
          } catch (error) {
            // Caught here because an error thrown in this callback would be uncaught.
            outgoing.destroy(new Denied(502, `The host's answer cannot be forwarded: ${String(error)}`));
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
        outgoing.destroy(new Denied(504, 'The host does not answer')),
      );
      outgoing.once('error', reject).once('close', resolve);
      response.once('close', () => upstream.destroy());
      incoming.pipe(outgoing);
    });
  }

  /** Connects to the address that was checked, because a second DNS lookup could return another. */
  private async reach({ host, port }: Target): Promise<Socket> {
    const rule = this.rules.find(host, port);
    if (!rule) throw new Denied(403, `${host}:${port} is not among the tool's allowedHosts`);
    const address = isIP(host) ? host : await this.resolve(host, rule);
    if (isOwnAddress(address, port, this.ownPort()))
      throw new Denied(403, `${host} is the address of this server itself`);
    if (isForbidden(address)) throw new Denied(403, forbidden(host));
    return new Promise((resolve, reject) => {
      const socket = connect({ host: address, port, timeout: this.limits.connectTimeoutMs });
      this.keep(socket);
      socket.once('timeout', () => socket.destroy(new Denied(504, `${host} does not answer`)));
      socket.once('error', reject).once('connect', () => {
        socket.setTimeout(0);
        resolve(socket);
      });
    });
  }

  private async resolve(host: string, rule: HostRule): Promise<string> {
    const found = await lookup(host, { all: true }).catch(() => []);
    const good = found.find(({ address }) => mayLeadTo(rule, address));
    if (good) return good.address;
    throw found.length > 0
      ? new Denied(403, `${host} resolves to an address that is not allowed here`)
      : new Denied(502, `${host} does not resolve to an address`);
  }
}

function targetOf(text: string, defaultPort: number): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname) throw new Denied(400, 'The request names no host');
  const host = nameOf(url.hostname);
  return { host, port: url.port === '' ? defaultPort : Number(url.port) };
}

/** Hop-by-hop headers, which apply to one connection only and are not forwarded. `transfer-encoding` is kept. */
const hopByHop = [
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'expect',
];

const endToEnd = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name)));

function asDenied(error: unknown): Denied {
  return error instanceof Denied ? error : new Denied(502, `The host cannot be reached: ${String(error)}`);
}
