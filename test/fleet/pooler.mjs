import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from '../support/wait.ts';

export const poolModes = ['session', 'transaction'];

/** PgBouncer between the replicas and PostgreSQL, with its own defaults. */
export class Pooler {
  child;
  output = '';

  /**
   * @param mode `session` or `transaction`
   * @returns the address of the database through it
   */
  async open(target, port, mode, folder) {
    const { hostname, port: targetPort, username, password, pathname } = new URL(target);
    const settings = join(folder, 'pgbouncer');
    mkdirSync(settings, { recursive: true, mode: 0o755 });
    const file = join(settings, 'pgbouncer.ini');
    const server = `host=${hostname} port=${targetPort} user=${username} password=${decodeURIComponent(password)}`;
    writeFileSync(
      file,
      [
        '[databases]',
        `* = ${server}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = any',
        `pool_mode = ${mode}`,
        // In session mode each connection of a replica has one of the database for itself.
        `default_pool_size = ${mode === 'session' ? 40 : 12}`,
        'max_client_conn = 200',
      ].join('\n'),
    );
    // PgBouncer refuses to run as root.
    const asUser = process.getuid() === 0 ? ['-u', 'nobody'] : [];
    this.child = spawn('pgbouncer', [...asUser, file], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (chunk) => (this.output += chunk));
    try {
      await once(this.child, 'spawn');
    } catch (error) {
      const hint = 'pgbouncer does not start; to install it: apt-get install pgbouncer';
      throw new Error(hint, { cause: error });
    }
    await until(() => accepts(port), { what: 'PgBouncer to listen' }).catch((error) => {
      throw new Error(`PgBouncer does not listen: ${this.output}`, { cause: error });
    });
    return `postgres://${username}@127.0.0.1:${port}${pathname}`;
  }

  close() {
    this.child?.kill('SIGKILL');
  }
}

async function accepts(port) {
  const socket = connect(port, '127.0.0.1');
  const [event] = await Promise.race([
    once(socket, 'connect').then(() => [true]),
    once(socket, 'error').then(() => [false]),
  ]);
  socket.destroy();
  return event;
}
