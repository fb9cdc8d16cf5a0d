import { createSocket, type Socket } from 'node:dgram';
import { promises as dns } from 'node:dns';
import { once } from 'node:events';

/** A name server on loopback that knows some names: each question for an IPv4 address gets the next of its answers. */
export class NameServer {
  /** Names that were asked for, in the order in which they were. */
  readonly asked: string[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly names: Readonly<Record<string, string[]>>,
  ) {}

  /** @param names the last answer of each stays */
  static async start(names: Readonly<Record<string, string[]>>): Promise<NameServer> {
    const socket = createSocket('udp4');
    const server = new NameServer(socket, names);
    socket.on('message', (query, { port, address }) => socket.send(server.answer(query), port, address));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return server;
  }

  get resolver(): dns.Resolver {
    const resolver = new dns.Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${this.socket.address().port}`]);
    return resolver;
  }

  stop(): void {
    this.socket.close();
  }

  private answer(query: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const name = labels.join('.');
    const question = query.subarray(12, at + 5);
    const isIPv4 = query.readUInt16BE(at + 1) === 1;
    const known = this.names[name];
    if (isIPv4) this.asked.push(name);
    const address = isIPv4 ? (known && known.length > 1 ? known.shift() : known?.[0]) : undefined;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(address ? 1 : 0, 6);
    head.writeUInt16BE(0, 10);
    if (!address) return Buffer.concat([head, question]);
    const answer = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
    return Buffer.concat([head, question, answer]);
  }
}
