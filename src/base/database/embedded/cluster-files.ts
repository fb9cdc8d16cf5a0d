import { randomBytes, randomUUID } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { commandLineOf, identityOf, lives } from '../../common/process-identity.js';
import type { ServerUser } from './server-process.js';

/** The entries of postmaster.pid, the file of a running server. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Whether the server accepts connections. */
  readonly ready: boolean;
}

/** Numbers of the lines of these entries. */
const postmasterLines = { pid: 0, port: 3, status: 7 };

/** The folder of one embedded server: its data, its password, its log, its lock and the processes that use it. */
export class ClusterFiles {
  readonly data: string;
  readonly log: string;
  readonly lock: string;
  private readonly passwordFile: string;
  /** Folder with an empty file for each process that uses the server. */
  private readonly usersFolder: string;

  constructor(readonly directory: string) {
    this.data = join(directory, 'data');
    this.log = join(directory, 'server.log');
    this.lock = join(directory, 'lock');
    this.passwordFile = join(directory, 'password');
    this.usersFolder = join(directory, 'users');
  }

  /** Creates the folder. The server's user owns it, because the server writes its data there. */
  makeFolder(user: ServerUser): void {
    mkdirSync(this.usersFolder, { recursive: true, mode: 0o700 });
    if (user.uid !== undefined) chownSync(this.directory, user.uid, user.gid);
  }

  /** Creates the password if there is none, before the data. Only the lock's holder may call it. */
  makePassword(user: ServerUser): void {
    if (statSync(this.passwordFile, { throwIfNoEntry: false })) return;
    writeFileSync(this.passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
    if (user.uid !== undefined) chownSync(this.passwordFile, user.uid, user.gid);
  }

  password(): string {
    return readFileSync(this.passwordFile, 'utf8').trim();
  }

  /** A unique name for the server's command line, made of its data's inode. A moved folder keeps it; a copy gets another. */
  serverName(): string {
    const { dev, ino } = statSync(this.data);
    return `toolkeeper-${dev}-${ino}`;
  }

  /** The entries of postmaster.pid; the process may be dead. @throws Error if the file exists and cannot be read */
  postmaster(): Postmaster | undefined {
    const lines = readIfExists(join(this.data, 'postmaster.pid')).split('\n');
    const [pid, port] = [Number(lines[postmasterLines.pid]), Number(lines[postmasterLines.port])];
    return pid > 0 && port > 0
      ? { pid, port, ready: lines[postmasterLines.status]?.startsWith('ready') ?? false }
      : undefined;
  }

  /** Whether the process is this folder's server, not another one with its pid. @throws Error if that cannot be determined */
  isServer(pid: number): boolean {
    const [program, ...args] = commandLineOf(pid);
    return basename(program ?? '') === 'postgres' && args.includes(`cluster_name=${this.serverName()}`);
  }

  /** Removes postmaster.pid. Only the lock's holder may call it, and only while no server runs. */
  removeStalePostmaster(): void {
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
  }

  /** Removes the records of processes that used a server that died, because they do not use the new one. */
  forgetUsers(): void {
    for (const user of readdirSync(this.usersFolder)) rmSync(join(this.usersFolder, user), { force: true });
  }

  /** Records that this process uses the server. @returns a function that removes the record, and tells whether others use it */
  addUser(): () => boolean {
    const name = `${identityOf(process.pid) ?? process.pid}.${randomUUID()}`;
    writeFileSync(join(this.usersFolder, name), '');
    return () => {
      for (const user of readdirSync(this.usersFolder)) {
        if (user === name || !lives(user.split('.')[0] ?? ''))
          rmSync(join(this.usersFolder, user), { force: true });
      }
      return readdirSync(this.usersFolder).length > 0;
    };
  }
}

function readIfExists(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}
