import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../../common/start-error.js';

/** How to start a program of PostgreSQL. */
export interface ProgramOptions {
  /** The folder with `bin`. */
  readonly native: string;
  readonly user: ServerUser;
  /** The cluster's folder. */
  readonly directory: string;
  /** Path of the log, to which the program's output is appended. */
  readonly log: string;
}

/** Size of the log at which a start begins a new one. */
const maxLogBytes = 10 * 1024 * 1024;

/**
 * The cluster's folder as the program sees it. The server's user may be unable to reach it by name (below a 0700 home),
 * but can always use an inherited descriptor.
 */
export const pathFor = (user: ServerUser, directory: string): string =>
  user.uid === undefined ? directory : '/proc/self/fd/3';

/** Starts a program in a session of its own, so that a Ctrl-C for this process does not end it. */
export function startProgram(program: string, args: string[], options: ProgramOptions): ChildProcess {
  const folder = openSync(options.directory, constants.O_RDONLY | constants.O_DIRECTORY);
  const isLogTooLong = logSize(options.log) > maxLogBytes;
  const log = openSync(options.log, isLogTooLong ? 'w' : 'a', 0o600);
  try {
    return spawn(join(options.native, 'bin', program), args, {
      ...options.user,
      cwd: '/',
      // The environment is new, because PGPORT or LC_ALL of this process must not affect it.
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      detached: true,
      stdio: ['ignore', log, log, folder],
    });
  } finally {
    closeSync(folder);
    closeSync(log);
  }
}

/** Max characters of the log in an error's message. */
const maxTailLength = 2_000;

/** The end of the log after `fromByte`, for an error's message. */
export function logTail(log: string, fromByte: number): string {
  const bytes = readFileSync(log);
  return bytes
    .subarray(fromByte > bytes.length ? 0 : fromByte)
    .toString('utf8')
    .trim()
    .slice(-maxTailLength);
}

/** Bytes of the log; 0 if there is none. */
export const logSize = (log: string): number => statSync(log, { throwIfNoEntry: false })?.size ?? 0;

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Spawn options that run a child as another user; empty for the same user. */
export type ServerUser = { readonly uid: number; readonly gid: number } | Readonly<Record<string, never>>;

/**
 * The user of the server. PostgreSQL refuses to run as root, so for root it is the owner of the data, or for new data
 * `postgres` or else `nobody`. Otherwise it is the present user.
 */
export function serverUserFor(
  dataDirectory: string,
  ownUid = process.getuid?.(),
  passwdFile = '/etc/passwd',
): ServerUser {
  if (ownUid !== 0) return {};
  const owner = statSync(dataDirectory, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const accounts = readFileSync(passwdFile, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find(([login]) => login === name);
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) };
  }
  throw new EmbeddedPostgresError(
    'it cannot run as root and there is neither a user "postgres" nor "nobody"',
  );
}

/** The embedded server is not available; the message says why and what to do. */
export class EmbeddedPostgresError extends StartError {
  override readonly name = 'EmbeddedPostgresError';

  constructor(reason: string, options?: ErrorOptions) {
    super(
      `The embedded PostgreSQL cannot be used: ${reason}. ` +
        'Set DATABASE_URL (postgres://user:password@host:5432/database) to use a PostgreSQL server of your own.',
      options,
    );
  }
}
