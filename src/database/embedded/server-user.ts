import { readFileSync, statSync } from 'node:fs';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';

/** Spawn options that make a child run as another user; empty where it runs as ourselves. */
export type ServerUser = { readonly uid: number; readonly gid: number } | Readonly<Record<string, never>>;

/**
 * PostgreSQL refuses to run as root: root's server runs as the owner of its data, and a new one as `postgres`, else
 * `nobody`. Everybody else's server runs as themselves.
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
