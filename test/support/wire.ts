import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { until } from './wait.js';

/** The way to a real server, which can be cut, or go dead without anybody being told. */
export class Wire {
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private dead = false;
  private port = 0;

  constructor(private readonly target: { readonly host: string; readonly port: number }) {}

  /** @returns the port on 127.0.0.1; the same one each time */
  async open(): Promise<number> {
    this.dead = false;
    // While the port was free, another connection may have got it.
    this.server = await until(() => this.listen(), { what: `port ${this.port}` });
    this.port = (this.server.address() as AddressInfo).port;
    return this.port;
  }

  /** Connections are accepted, and nothing comes back, on the old ones neither. */
  goDead(): void {
    this.dead = true;
    for (const socket of this.sockets) socket.pause().removeAllListeners('data');
  }

  /** Connections break, and new ones are refused. */
  async cut(): Promise<void> {
    const closed = this.server && once(this.server.close(), 'close');
    this.server = undefined;
    this.breakAll();
    await closed;
  }

  /** Connections break; new ones are taken. */
  breakAll(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private async listen(): Promise<Server> {
    const server = createServer((socket) => this.join(socket)).listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  private join(client: Socket): void {
    this.keep(client);
    if (this.dead) return;
    const server = connect(this.target.port, this.target.host);
    this.keep(server);
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
    };
    pass(client, server);
    pass(server, client);
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
  }
}

/** A way to the server of a URL, and the URL that leads over it. */
export async function wireTo(url: string): Promise<{ wire: Wire; url: string }> {
  const target = new URL(url);
  const wire = new Wire({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(await wire.open());
  return { wire, url: target.toString() };
}
