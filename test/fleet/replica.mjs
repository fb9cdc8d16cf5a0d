import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../support/wait.ts';

/** Root mounts at once; another user does so within a user namespace of its own. */
const ownMounts =
  process.getuid() === 0 ? ['--mount'] : ['--user', '--map-current-user', '--keep-caps', '--mount'];
/** The logs of the last run, for whoever wants to know why a line failed. */
const logs = fileURLToPath(new URL('../../node_modules/.cache/fleet', import.meta.url));
rmSync(logs, { recursive: true, force: true });
mkdirSync(logs, { recursive: true });
const mountThenRun = 'mount --bind "$0" "$1" && cd "$2" && eval "$3"';

/** A server with a disk of its own, which is at the same path for each replica: a mount namespace shows it there, as in a pod. */
export class Replica {
  child;

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

  get logFile() {
    return join(logs, `${this.name}.log`);
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
    const log = openSync(this.logFile, 'a');
    this.child = spawn('unshare', args, { env, stdio: ['ignore', log, log] });
    closeSync(log);
  }

  /** Starts it again if it ends early, as an orchestrator does. */
  async ready() {
    let [last, restarts] = ['no answer', 0];
    const isReady = async () => {
      if (!this.isRunning && restarts++ < 3) this.start();
      const answer = await fetch(`${this.url}/readyz`);
      last = await answer.text();
      return answer.ok;
    };
    const what = `${this.name} to be ready, whose log is in ${this.logFile}`;
    await until(isReady, { timeoutMs: 300_000, what }).catch((error) => {
      throw new Error(`/readyz of ${this.name}: ${last}`, { cause: error });
    });
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
