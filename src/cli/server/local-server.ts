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

/** Max wait for a ready server; long, because the first start creates a database. */
const startTimeoutMs = 120_000;
/** Time after which a running server that is not ready is used anyway: it reports the reason itself. */
const unreadyMs = 10_000;
const pollMs = 50;

/**
 * The server of a data directory: the running one, or one that is started here and ends with this process. If several
 * processes need it at once, one starts it for all.
 */
export class LocalServer {
  /** The server that was started here. */
  private child: ChildProcess | undefined;
  /** The reason why it has ended. */
  private failure: string | undefined;
  private foundAddress: Promise<ServerAddress> | undefined;

  constructor(private readonly surroundings: Surroundings) {}

  /** The server's address, found once. @throws CliError if no server can be started */
  address(): Promise<ServerAddress> {
    this.foundAddress ??= this.findOrStart().catch((error: unknown) => {
      this.foundAddress = undefined;
      throw error;
    });
    return this.foundAddress;
  }

  /** Forgets a server that no longer listens. */
  forget(): void {
    this.foundAddress = undefined;
  }

  /** A lock in the data directory makes sure that only one process starts a server. */
  private async findOrStart(): Promise<ServerAddress> {
    const { url, dataDir } = this.surroundings;
    if (url !== undefined || (await isReady(runningServer(dataDir)))) return this.surroundings.server();
    this.failure = undefined;
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const release = await acquireLock(join(dataDir, 'start.lock'), startTimeoutMs);
    try {
      await this.startIfNeeded(dataDir);
      return this.surroundings.server();
    } finally {
      await release();
    }
  }

  /** Waits until a server is ready. Starts one if none runs, also after a stopping one has ended. */
  private async startIfNeeded(dataDir: string): Promise<void> {
    let unreadyFrom: number | undefined;
    for (const end = Date.now() + startTimeoutMs; Date.now() < end; await pause(pollMs)) {
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

  /** Starts the server on a free port, which clients read from the data directory. */
  private start(): void {
    const { environment } = this.surroundings;
    const settings = { PORT: environment['PORT'] || '0', LOG_LEVEL: environment['LOG_LEVEL'] || 'warn' };
    // stdout belongs to the MCP client, so the log goes to stderr. The IPC channel closes when this process ends, and
    // the server then drains and ends.
    const child = spawnServer(this.surroundings, ['ignore', 2, 2, 'ipc'], settings);
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

/** Starts the server of this package like `npm start`, with this process's Node. */
function spawnServer(
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

/** Runs the server in the foreground and takes over its exit code. */
export async function start({ surroundings }: Session): Promise<void> {
  const child = spawnServer(surroundings, 'inherit');
  // Ctrl-C reaches the server directly. This process waits until it has drained.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
