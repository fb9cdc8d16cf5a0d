import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

const config = new URL('../../docker/haproxy.cfg', import.meta.url).pathname;

/** haproxy with the configuration that docker/compose.fleet.yaml uses. */
export class Balancer {
  child;
  output = '';

  constructor(folder) {
    this.socket = join(folder, 'haproxy.sock');
    this.control = join(folder, 'haproxy-control.cfg');
  }

  /** @param addresses `{ plain, retrying, replicas: [three] }`, each `host:port` */
  async start({ plain, retrying, replicas }) {
    writeFileSync(this.control, `global\n  stats socket ${this.socket} level admin\n`);
    const [REPLICA_1, REPLICA_2, REPLICA_3] = replicas;
    const own = { BALANCER: plain, BALANCER_RETRYING: retrying, REPLICA_1, REPLICA_2, REPLICA_3 };
    this.child = spawn('haproxy', ['-db', '-f', this.control, '-f', config], {
      env: { ...process.env, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (chunk) => (this.output += chunk));
    try {
      await once(this.child, 'spawn');
    } catch (error) {
      const hint = 'haproxy does not start; to install it: apt-get install haproxy';
      throw new Error(hint, { cause: error });
    }
  }

  /** Takes a replica out of both ports: `drain`; back in: `ready`. */
  async set(name, state) {
    for (const port of ['replicas', 'retrying']) await this.ask(`set server ${port}/${name} state ${state}`);
  }

  /** @returns the names of the replicas that get calls */
  async up() {
    const lines = (await this.ask('show stat')).split('\n').map((line) => line.split(','));
    return lines
      .filter(
        ([port, name, ...rest]) => port === 'replicas' && /^r\d$/.test(name) && rest[15].startsWith('UP'),
      )
      .map(([, name]) => name);
  }

  async ask(command) {
    const socket = connect(this.socket);
    await once(socket, 'connect');
    socket.end(`${command}\n`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  }

  async end() {
    if (this.child?.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }
}
