import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A TCP proxy between a replica and PostgreSQL that can fall silent, as a network does that drops packets. */
export class DatabaseLink {
  pairs = new Set();
  isCut = false;

  constructor(target) {
    this.target = new URL(target);
    this.server = createServer((client) => this.join(client));
  }

  /** @returns the address of the database through this proxy */
  async open(port) {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    const url = new URL(this.target);
    url.port = String(port);
    return url.toString();
  }

  /** Nothing passes any more; connections stay, and new ones are accepted. */
  cut() {
    this.isCut = true;
    for (const pair of this.pairs) for (const socket of pair) socket.pause();
  }

  heal() {
    this.isCut = false;
    for (const pair of this.pairs) for (const socket of pair) socket.resume();
  }

  close() {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    this.server.close();
  }

  join(client) {
    const server = connect(Number(this.target.port), this.target.hostname);
    const pair = [client, server];
    this.pairs.add(pair);
    for (const [from, to] of [pair, [server, client]]) {
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        this.pairs.delete(pair);
      });
      if (this.isCut) from.pause();
    }
  }
}
