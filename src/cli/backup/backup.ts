import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { create } from 'tar';
import { endsWithin } from '../../base/common/abortable.js';
import { manifest } from '../../base/common/project.js';
import { runningServer } from '../../base/common/server-file.js';
import { EmbeddedPostgres } from '../../base/database/embedded/embedded-postgres.js';
import type { Session } from '../api.js';
import { CliError, exit } from '../output.js';
import { dump } from './backup-file.js';

interface BackupOptions {
  /** Includes the encryption key of secrets. */
  readonly withKey?: boolean;
}

/** Max wait for the servers to write their journals to the database. */
const flushMs = 60_000;

/** Writes the database of the running servers, and optionally the encryption key, to a file. @throws CliError */
export async function backup(
  { out, surroundings }: Session,
  file: string,
  options: BackupOptions,
): Promise<void> {
  const { dataDir, environment } = surroundings;
  const url = environment['DATABASE_URL'] || undefined;
  if (existsSync(file)) throw new CliError(`${file} exists already`, exit.usage);
  const directory = join(dataDir, 'postgres');
  if (!url && !runningServer(dataDir)) throw noServer(`no server runs on ${dataDir}`);
  if (!url && !existsSync(directory))
    throw new CliError('the server uses DATABASE_URL: set it for this command, too', exit.usage);
  const folder = `${resolve(file)}.unfinished`;
  mkdirSync(folder, { mode: 0o700 });
  // Joins the database that the running server has started.
  const postgres = url ? undefined : await new EmbeddedPostgres({ directory }).start();
  const client = new pg.Client({
    connectionString: url ?? postgres?.url,
    application_name: 'toolkeeper-backup',
  });
  // Ignored, because after a broken connection the next statement fails.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await flushJournals(client);
    const files = await dump(client, folder, manifest().version);
    if (options.withKey) files.push(copyKey(dataDir, folder));
    await create({ file: join(folder, 'all.tgz'), cwd: folder, gzip: true, mode: 0o600 }, files);
    renameSync(join(folder, 'all.tgz'), file);
  } finally {
    await client.end();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  out.line(`written: ${file}`);
  if (!options.withKey)
    out.note("without the secrets' key: keep secrets.key, or SECRETS_KEY, in another place");
}

const noServer = (sentence: string): CliError =>
  new CliError(
    `${sentence}: start it, then back it up; or copy TOOLKEEPER_DATA_DIR while it is stopped`,
    exit.unreachable,
  );

/** Waits until all servers have written all acknowledged records to the database. @throws CliError after 60 s */
async function flushJournals(client: pg.Client): Promise<void> {
  const id = randomUUID();
  const allFlushed = Promise.withResolvers<void>();
  // Unknown until the servers are counted.
  let missing = Infinity;
  client.on('notification', ({ payload }) => {
    if (payload !== `flushed ${id}`) return;
    missing -= 1;
    if (missing === 0) allFlushed.resolve();
  });
  await client.query('LISTEN toolkeeper');
  const alive = await client.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM replicas WHERE seen_at > now() - interval '15 seconds'",
  );
  missing = alive.rows[0]?.n ?? 0;
  if (missing === 0) throw noServer('no server runs on this database');
  await client.query("SELECT pg_notify('toolkeeper', $1)", [`flush ${id}`]);
  if (await endsWithin(flushMs, allFlushed.promise)) return;
  throw new CliError(
    `${missing} servers did not write their journals to the database within ${flushMs / 1_000} s: toolkeeper doctor, or their logs, say why`,
  );
}

/** Copies the encryption key. @returns the name of the file */
function copyKey(dataDir: string, folder: string): string {
  const name = 'secrets.key';
  if (!existsSync(join(dataDir, name)))
    throw new CliError(
      `${join(dataDir, name)} does not exist: the server has no secrets yet, or SECRETS_KEY is set`,
    );
  copyFileSync(join(dataDir, name), join(folder, name));
  return name;
}
