import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * A TCP proxy between a replica and PostgreSQL that can fall silent, as a network does that drops packets. It is a process of its own, so
 * that what the scenarios do at the same time does not slow the replica down.
 */
export class DatabaseLink {
  /** @returns the address of the database through this proxy */
  async open(target, port) {
    const { hostname, port: targetPort } = new URL(target);
    this.child = fork(fileURLToPath(import.meta.url), [hostname, targetPort, port]);
    await once(this.child, 'message');
    const url = new URL(target);
    url.port = String(port);
    return url.toString();
  }

  /** Nothing passes any more; connections stay, and the kernel accepts new ones. */
  cut() {
    this.child.kill('SIGSTOP');
  }

  heal() {
    this.child.kill('SIGCONT');
  }

  close() {
    this.child?.kill('SIGKILL');
  }
}

function serve(hostname, targetPort, port) {
  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      from.pipe(to);
      from.on('error', () => undefined).on('close', () => to.destroy());
    }
  });
  server.listen(Number(port), '127.0.0.1', () => process.send('listening'));
  // The harness has ended.
  process.on('disconnect', () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve(...process.argv.slice(2));
