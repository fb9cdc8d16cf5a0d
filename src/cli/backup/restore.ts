import { Logger } from '@nestjs/common';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { migrations } from '../../../migrations/index.js';
import { messageOf } from '../../base/common/message-of.js';
import { manifest as packageManifest } from '../../base/common/project.js';
import { DatabaseClient } from '../../base/database/database-health.js';
import { EmbeddedPostgres } from '../../base/database/embedded/embedded-postgres.js';
import { currentNames, migrate } from '../../base/database/migrate.js';
import { jobsSchema } from '../../base/jobs/queue.js';
import type { Session } from '../api.js';
import { CliError, exit } from '../output.js';
import { fill, type Manifest, manifestIn } from './backup-file.js';

const keyFile = 'secrets.key';

/** Restores a backup into an empty data directory, or into the empty database of DATABASE_URL. */
export async function restore({ out, surroundings }: Session, file: string): Promise<void> {
  const { dataDir, environment } = surroundings;
  if (!existsSync(file)) throw new CliError(`${file} does not exist`, exit.usage);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // New volumes contain `lost+found`.
  if (readdirSync(dataDir).some((name) => name !== 'lost+found'))
    throw new CliError(`${dataDir} is not empty: set TOOLKEEPER_DATA_DIR to an empty folder`, exit.usage);
  const folder = join(dataDir, 'restore');
  const postgres = join(dataDir, 'postgres');
  try {
    mkdirSync(folder, { mode: 0o700 });
    await unpack(file, folder);
    const manifest = await manifestIn(folder);
    await restoreDatabase(environment['DATABASE_URL'], postgres, folder, manifest);
    const hasKey = existsSync(join(folder, keyFile));
    if (hasKey) {
      chmodSync(join(folder, keyFile), 0o600);
      renameSync(join(folder, keyFile), join(dataDir, keyFile));
    }
    out.line(`restored: the state of ${manifest.madeAt}, of version ${manifest.version}`);
    if (!hasKey)
      out.note(
        `without the secrets' key: put ${keyFile} into ${dataDir}, or set SECRETS_KEY, before you start`,
      );
  } catch (error) {
    rmSync(postgres, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Unpacks the regular files of a backup. @throws CliError if it is damaged */
async function unpack(file: string, folder: string): Promise<void> {
  const filter = (_: string, entry: object): boolean => 'type' in entry && entry.type === 'File';
  await extract({ file, cwd: folder, filter, strict: true }).catch((error: unknown) => {
    throw new CliError(`${file} is no backup, or a damaged one: ${messageOf(error)}`);
  });
}

/**
 * Creates the tables that the backup had, by its own migrations, and fills them. The server applies newer ones when it starts.
 * @param url of an empty database; absent: a new embedded one in `directory`
 * @throws CliError if this version does not know the backup's tables
 */
async function restoreDatabase(
  url: string | undefined,
  directory: string,
  folder: string,
  manifest: Manifest,
): Promise<void> {
  const { getConstructionPlans } = await import('pg-boss');
  /** SQL that creates the job queue's tables, in their present version only. */
  const createQueue = getConstructionPlans(jobsSchema);
  const names = migrations.map(({ name }) => name);
  const applied = currentNames(manifest.migrations, names);
  const known = migrations.filter(({ name }) => applied.includes(name));
  const isQueueKnown =
    manifest.jobs === null || createQueue.includes(`version(version) VALUES ('${manifest.jobs}')`);
  if (known.length < applied.length || !isQueueKnown)
    throw new CliError(
      `the backup is of version ${manifest.version}, whose tables ${packageManifest().version} does not know: restore it with that version, then upgrade`,
    );
  const postgres = url ? undefined : await new EmbeddedPostgres({ directory }).start();
  const client = new DatabaseClient({ connectionString: url || postgres?.url });
  try {
    await client.connect();
    await requireEmpty(client);
    // Nest's loggers would write to stdout.
    Logger.overrideLogger(false);
    await migrate(url || (postgres?.url ?? ''), known);
    if (manifest.jobs !== null) await client.query(createQueue);
    await fill(client, folder, manifest);
  } finally {
    await client.end();
    await postgres?.stop();
  }
}

/** @throws CliError if the database has tables */
async function requireEmpty(client: DatabaseClient): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_tables WHERE schemaname IN (current_schema(), $1) LIMIT 1',
    [jobsSchema],
  );
  if (rowCount) throw new CliError('DATABASE_URL names a database that has tables: name an empty one');
}
