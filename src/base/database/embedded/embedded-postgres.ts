import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterFiles, type Postmaster } from './cluster-files.js';
import {
  EmbeddedPostgresError,
  freePort,
  logSize,
  logTail,
  pathFor,
  type ProgramOptions,
  type ServerUser,
  serverUserFor,
  startProgram,
} from './server-process.js';
import { acquireLock } from '../../common/lock.js';
import { messageOf } from '../../common/message-of.js';
import { identityOf, lives } from '../../common/process-identity.js';
import { PostgresBinaries } from './postgres-binaries.js';

/** Options of an embedded server. */
export interface EmbeddedPostgresOptions {
  /** Folder of the server's data, password and log; created if missing. */
  readonly directory: string;
  /** Additional server settings, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly binaries?: PostgresBinaries;
  /** Timeout of a start, including crash recovery (default 60 s). */
  readonly startTimeoutMs?: number;
}

/** A running server that this process uses. */
export interface RunningPostgres {
  /** `postgres://…` with the password, for 127.0.0.1 only. */
  readonly url: string;
  readonly pid: number;
  readonly port: number;
  /** Whether the server was already running, left by a killed process or shared with a running one. */
  readonly attached: boolean;
  /** Whether the server's process lives. True if that cannot be determined. */
  isRunning(): boolean;
  /** Stops the server, or leaves it to the other processes that still use it. */
  stop(): Promise<void>;
}

const userName = 'toolkeeper';
const initOptions =
  '--auth=scram-sha-256 --encoding=UTF8 --no-instructions --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8';
/** Timeout of the stop for the lock, if another process is starting or stopping the server. */
const stopLockTimeoutMs = 60_000;
/** Pause between two tries to start. */
const startPauseMs = 250;
/** Interval of checks whether the server is ready, or has ended. */
const checkMs = 10;
/** Messages of failures that may be over soon: another program took the port, or children of a killed server still end. */
const transient = /Address already in use|could not bind|pre-existing shared memory block/i;

/** A PostgreSQL server from an npm package, with its data in a local folder, shared by the processes of one machine. */
export class EmbeddedPostgres {
  private readonly files: ClusterFiles;
  private readonly binaries: PostgresBinaries;
  private readonly startTimeoutMs: number;

  constructor(private readonly options: EmbeddedPostgresOptions) {
    this.files = new ClusterFiles(options.directory);
    this.binaries = options.binaries ?? new PostgresBinaries();
    this.startTimeoutMs = options.startTimeoutMs ?? 60_000;
  }

  /**
   * Attaches to the folder's server if it runs; otherwise starts it, after initdb if there is no data.
   * @param port of a server that is started; absent: a free one
   * @throws EmbeddedPostgresError with the reason and the end of the server's log
   */
  async start(port?: number): Promise<RunningPostgres> {
    const user = serverUserFor(this.files.data);
    this.files.makeFolder(user);
    const release = await acquireLock(this.files.lock, this.startTimeoutMs);
    try {
      this.files.makePassword(user);
      const deadline = Date.now() + this.startTimeoutMs;
      const running = existsSync(this.files.data) ? this.runningServer() : undefined;
      const server = running
        ? await this.waitUntilReady(running.pid, deadline)
        : await this.startServer(user, deadline, port);
      const removeUser = this.files.addUser();
      /** Set by the first call of `stop`, for which later ones wait. */
      let stopped: Promise<void> | undefined;
      return {
        url: `postgres://${userName}:${this.files.password()}@127.0.0.1:${server.port}/postgres`,
        pid: server.pid,
        port: server.port,
        attached: running !== undefined,
        isRunning: () => this.isRunning(server.pid),
        stop: () => (stopped ??= this.stop(server.pid, removeUser)),
      };
    } finally {
      await release();
    }
  }

  /**
   * Restarts the folder's server after it died, on the port that its clients know.
   * @throws EmbeddedPostgresError as `start` does, and if the data is gone, rather than start with an empty database
   */
  async startAgain(port: number): Promise<RunningPostgres> {
    if (!existsSync(this.files.data)) throw new EmbeddedPostgresError('its data is gone');
    const server = await this.start(port);
    if (server.port === port) return server;
    await server.stop();
    throw new EmbeddedPostgresError(`another process started it on port ${server.port} instead of ${port}`);
  }

  /** Stops the folder's server even if other processes use it; does nothing if none runs. */
  async stopForAll(): Promise<void> {
    const postmaster = existsSync(this.files.data) ? this.files.postmaster() : undefined;
    if (postmaster) await this.terminate(postmaster.pid);
  }

  /** Whether the process is this folder's server; true if that cannot be determined. */
  private isRunning(pid: number): boolean {
    try {
      return this.files.isServer(pid);
    } catch {
      return true;
    }
  }

  /** The folder's running server, if any. Removes the stale pid file of a dead one. */
  private runningServer(): Postmaster | undefined {
    const postmaster = this.files.postmaster();
    if (postmaster && this.files.isServer(postmaster.pid)) return postmaster;
    this.files.removeStalePostmaster();
    return undefined;
  }

  /** Starts the server. @param port absent: a free one */
  private async startServer(user: ServerUser, deadline: number, port?: number): Promise<Postmaster> {
    const { directory } = this.options;
    const native = await this.binaries.usableBy(user);
    this.files.forgetUsers();
    const program: ProgramOptions = { native, user, directory, log: this.files.log };
    if (!existsSync(this.files.data)) await this.makeData(program);
    for (;;) {
      const logged = logSize(this.files.log);
      const child = startProgram('postgres', await this.serverArguments(user, port), program);
      try {
        return await this.waitUntilReady(await pidOf(child), deadline, child);
      } catch (error) {
        const reason = logTail(this.files.log, logged) || messageOf(error);
        if (!transient.test(reason) || Date.now() > deadline) {
          throw new EmbeddedPostgresError(`it does not start (${reason})`, { cause: error });
        }
        await delay(startPauseMs);
      }
    }
  }

  /** Creates the data in another folder and renames it, so that a killed initdb never leaves incomplete data. */
  private async makeData(program: ProgramOptions): Promise<void> {
    const folder = pathFor(program.user, program.directory);
    const unfinished = join(program.directory, 'data.unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    const args = [
      `--pgdata=${join(folder, 'data.unfinished')}`,
      `--pwfile=${join(folder, 'password')}`,
      `--username=${userName}`,
      ...initOptions.split(' '),
    ];
    const logged = logSize(program.log);
    const [code] = (await once(startProgram('initdb', args, program), 'exit')) as [number | null];
    if (code !== 0) throw new EmbeddedPostgresError(`initdb failed (${logTail(program.log, logged)})`);
    renameSync(unfinished, this.files.data);
  }

  private async serverArguments(user: ServerUser, port?: number): Promise<string[]> {
    const settings = {
      cluster_name: this.files.serverName(),
      listen_addresses: '127.0.0.1',
      port: String(port ?? (await freePort())),
      unix_socket_directories: '',
      log_checkpoints: 'off',
      ...this.options.settings,
    };
    const data = join(pathFor(user, this.options.directory), 'data');
    return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  }

  /** Waits until the server accepts connections. @throws EmbeddedPostgresError if it ends first, or at the deadline */
  private async waitUntilReady(pid: number, deadline: number, child?: ChildProcess): Promise<Postmaster> {
    while (child ? hasNotEnded(child) : this.files.isServer(pid)) {
      const postmaster = this.files.postmaster();
      if (postmaster?.pid === pid && postmaster.ready) {
        child?.unref();
        return postmaster;
      }
      if (Date.now() > deadline) {
        child?.kill('SIGQUIT');
        throw new EmbeddedPostgresError(`process ${pid} was not ready within ${this.startTimeoutMs} ms`);
      }
      await delay(checkMs);
    }
    throw new EmbeddedPostgresError(`process ${pid} ended while it was starting`);
  }

  /** Ends this process's use of the server, and stops it unless others use it. */
  private async stop(pid: number, removeUser: () => boolean): Promise<void> {
    const release = await acquireLock(this.files.lock, stopLockTimeoutMs);
    try {
      const isStillUsed = removeUser();
      if (!isStillUsed) await this.terminate(pid);
    } finally {
      await release();
    }
  }

  /** Ends the server. @throws EmbeddedPostgresError if it does not end */
  private async terminate(pid: number): Promise<void> {
    // SIGINT rolls back open transactions and writes a checkpoint. SIGQUIT leaves recovery to the next start.
    const stopped = (await this.endBy('SIGINT', pid, 15_000)) || (await this.endBy('SIGQUIT', pid, 5_000));
    if (!stopped) throw new EmbeddedPostgresError(`process ${pid} does not stop`);
  }

  /** Sends a signal and waits. @returns whether the process ended in time */
  private async endBy(signal: NodeJS.Signals, pid: number, timeoutMs: number): Promise<boolean> {
    const identity = this.files.isServer(pid) ? identityOf(pid) : undefined;
    if (identity === undefined) return true;
    process.kill(pid, signal);
    // Waits for the identity: the command line disappears a moment before the process.
    for (const end = Date.now() + timeoutMs; Date.now() < end; await delay(checkMs)) {
      if (!lives(identity)) return true;
    }
    return false;
  }
}

const hasNotEnded = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** The id of a started program. @throws Error if it could not be started */
async function pidOf(child: ChildProcess): Promise<number> {
  if (child.pid !== undefined) return child.pid;
  const [error] = (await once(child, 'error')) as [Error];
  throw error;
}
