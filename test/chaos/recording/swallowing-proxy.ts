import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const journalsName = 'toolkeeper journal';
/** What PostgreSQL says when an insert is committed. */
const committed = /INSERT 0 \d/;

/** Between the gateway and PostgreSQL: the answer to an insert of the journal is swallowed, and the connection cut. */
export class SwallowingProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => this.join(socket));
  private left = 0;
  private swallowedCount = 0;

  constructor(private readonly target: URL) {}

  get swallowed(): number {
    return this.swallowedCount;
  }

  /** @returns the database's address through here */
  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.toString();
  }

  /** The next so many answers are swallowed. */
  arm(times: number): void {
    this.left = times;
  }

  async close(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    let journals = false;
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    }
    client.on('data', (chunk) => {
      journals ||= chunk.includes(journalsName);
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (journals && this.left > 0 && committed.test(chunk.toString('latin1'))) {
        this.left -= 1;
        this.swallowedCount += 1;
        client.destroy();
        server.destroy();
      } else client.write(chunk);
    });
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
  }
}
