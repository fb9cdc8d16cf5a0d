import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '../support/wait.ts';

/** Root mounts at once; another user does so within a user namespace of its own. */
const ownMounts =
  process.getuid() === 0 ? ['--mount'] : ['--user', '--map-current-user', '--keep-caps', '--mount'];
const mountThenRun = 'mount --bind "$0" "$1" && cd "$2" && eval "$3"';

/** A server with a disk of its own, which is at the same path for each replica: a mount namespace shows it there, as in a pod. */
export class Replica {
  child;
  log = '';

  /** @param settings `{ folder, mount, port, checkout, variables }`: its disk, where that is mounted, and how it is started */
  constructor(number, settings) {
    this.number = number;
    this.settings = settings;
    this.url = `http://127.0.0.1:${settings.port}`;
    for (const each of ['data', 'tools', 'files'])
      mkdirSync(join(settings.folder, each), { recursive: true });
  }

  get name() {
    return `r${this.number}`;
  }

  get isRunning() {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** @param change other settings from now on, such as the checkout that runs */
  start(change = {}) {
    Object.assign(this.settings, change);
    const { folder, mount, port, checkout, variables } = this.settings;
    const { start } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).scripts;
    const env = {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      PORT: String(port),
      TOOLKEEPER_DATA_DIR: join(mount, 'data'),
      CUSTOM_TOOLS_DIR: join(mount, 'tools'),
      FILES_DIR: join(mount, 'files'),
      ...variables,
    };
    const args = [...ownMounts, 'sh', '-c', mountThenRun, folder, mount, checkout, start];
    this.child = spawn('unshare', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (chunk) => (this.log = (this.log + chunk).slice(-1_000_000)));
  }

  async ready() {
    let last = 'no answer';
    const isReady = async () => {
      if (!this.isRunning) return true;
      const answer = await fetch(`${this.url}/readyz`);
      last = await answer.text();
      return answer.ok;
    };
    const isThere = await until(isReady, { timeoutMs: 120_000, what: 'a ready replica' }).catch(() => false);
    if (isThere && this.isRunning) return;
    throw new Error(
      `${this.name} is not ready. /readyz: ${last}\nThe log ends with: ${this.log.slice(-3_000)}`,
    );
  }

  /** @returns milliseconds until it ended */
  async end(signal = 'SIGTERM') {
    if (!this.isRunning) return 0;
    const began = performance.now();
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
    return performance.now() - began;
  }
}
