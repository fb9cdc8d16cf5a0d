import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { acquireLock } from '../../base/common/lock.js';
import { manifest } from '../../base/common/project.js';
import { runningServer, type RunningServer } from '../../base/common/server-file.js';
import type { Session } from '../api.js';
import type { ServerAddress, Surroundings } from '../surroundings.js';
import { CliError, exit } from '../output.js';

/** A first start makes a database, too. */
const startTimeoutMs = 120_000;
/** A server that listens but is not ready, for example without its database, reports that itself. */
const unreadyMs = 10_000;
const lookEveryMs = 50;

/**
 * The server of a data directory: the one that runs, else one that is started here and ends with this process. Of several
 * who look for it at once one starts it, and the others use that.
 */
export class LocalServer {
  private child: ChildProcess | undefined;
  private failure: string | undefined;
  private known: Promise<ServerAddress> | undefined;

  constructor(private readonly surroundings: Surroundings) {}

  /** @throws CliError where none can be started */
  address(): Promise<ServerAddress> {
    return (this.known ??= this.find().catch((error: unknown) => {
      this.known = undefined;
      throw error;
    }));
  }

  /** Forgets a server that no longer listens. */
  lost(): void {
    this.known = undefined;
  }

  private async find(): Promise<ServerAddress> {
    const { url, dataDir } = this.surroundings;
    if (url !== undefined || (await isReady(runningServer(dataDir)))) return this.surroundings.server();
    this.failure = undefined;
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const release = await acquireLock(join(dataDir, 'start.lock'), startTimeoutMs);
    try {
      await this.untilThere(dataDir);
      return this.surroundings.server();
    } finally {
      await release();
    }
  }

  /** One that ends keeps its name until it is gone: then another is started. */
  private async untilThere(dataDir: string): Promise<void> {
    let unreadyFrom: number | undefined;
    for (const end = Date.now() + startTimeoutMs; Date.now() < end; await pause(lookEveryMs)) {
      const running = runningServer(dataDir);
      if (await isReady(running)) return;
      if (running) {
        unreadyFrom ??= Date.now();
        if (Date.now() - unreadyFrom > unreadyMs) return;
      } else if (this.failure !== undefined) {
        throw new CliError(`the server does not start: ${this.failure}`, exit.unreachable);
      } else if (!this.child) {
        this.start();
      }
    }
    throw new CliError(`the server was not ready within ${startTimeoutMs / 1_000} s`, exit.unreachable);
  }

  /** On a free port: clients find the server through its data directory. */
  private start(): void {
    const { environment } = this.surroundings;
    const settings = { PORT: environment['PORT'] || '0', LOG_LEVEL: environment['LOG_LEVEL'] || 'warn' };
    // stdout belongs to the MCP client, so the log goes to stderr. The IPC channel closes when this process ends, and
    // the server then drains and ends.
    const child = startServer(this.surroundings, ['ignore', 2, 2, 'ipc'], settings);
    this.child = child;
    child.once('error', ({ message }) => {
      this.failure = message;
      this.child = undefined;
    });
    child.once('exit', (code, signal) => {
      this.failure ??= `it ended with ${signal ?? `exit code ${code}`}`;
      this.child = undefined;
    });
    child.channel?.unref();
  }
}

async function isReady(running: RunningServer | undefined): Promise<boolean> {
  if (!running) return false;
  const signal = AbortSignal.timeout(unreadyMs);
  const answer = await fetch(`${running.url}/readyz`, { signal }).catch(() => undefined);
  return answer?.ok === true;
}

/** Starts the server of this package as `npm start` does, with the Node that runs this. */
function startServer(
  { root, dataDir, environment }: Surroundings,
  stdio: StdioOptions,
  settings: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn('sh', ['-c', manifest().scripts.start], {
    cwd: root,
    env: {
      ...environment,
      PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}`,
      TOOLKEEPER_DATA_DIR: dataDir,
      ...settings,
    },
    stdio,
  });
}

/** Runs the server in the foreground; its exit code is ours. */
export async function start({ surroundings }: Session): Promise<void> {
  const child = startServer(surroundings, 'inherit');
  // A Ctrl-C reaches it by itself; this process goes on until it has drained.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
