import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** An HTTP proxy on loopback, which alone knows where names lead: requests by their URL, and tunnels. */
export class ForwardProxy {
  /** `GET http://host`, `CONNECT host:443`. */
  readonly seen: string[] = [];
  readonly credentials: (string | undefined)[] = [];

  private constructor(private readonly server: Server) {}

  /** @param ports by `host:port`; another one is refused */
  static async start(ports: Readonly<Record<string, number>>): Promise<ForwardProxy> {
    const server = createServer();
    const proxy = new ForwardProxy(server);
    server.on('request', (incoming, response) => {
      const url = URL.parse(incoming.url ?? '');
      proxy.note(`${incoming.method} ${url?.origin}`, incoming.headers['proxy-authorization']);
      const port = ports[`${url?.hostname}:${url?.port || 80}`];
      if (!url || port === undefined) return void response.writeHead(403).end();
      const { method, headers } = incoming;
      const outgoing = request({ port, method, path: url.pathname + url.search, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(outgoing);
    });
    server.on('connect', (incoming, client, head) => {
      proxy.note(`CONNECT ${incoming.url}`, incoming.headers['proxy-authorization']);
      const port = ports[incoming.url ?? ''];
      if (port === undefined) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      const upstream = connect(port, '127.0.0.1');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const ended = once(this.server.close(), 'close');
    this.server.closeAllConnections();
    await ended;
  }

  private note(asked: string, credentials: string | undefined): void {
    this.seen.push(asked);
    this.credentials.push(credentials);
  }
}
