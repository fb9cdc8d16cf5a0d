import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { StartError } from '../common/start-error.js';
import { DatabaseLog } from './database-log.js';

/** Last of the old migrations that were replaced by one for each wing of src. Both sets make the same tables. */
const lastReplaced = 'BegunCalls1764000380000';

export type MigrationClass = new () => MigrationInterface;

/** 'toolkeep' in ASCII, to avoid collisions with advisory locks of other programs. */
const lockKey = 0x746f6f6c6b656570n;
/** Timeout of the wait for another replica that migrates. */
const lockTimeoutMs = 300_000;

/**
 * Applies pending migrations, each in its own transaction. An advisory lock serialises replicas that start at once. The
 * application's timeouts do not apply, because indexing a large table takes long.
 * @returns the names of the applied migrations
 * @throws StartError if the database has other tables
 */
export async function migrate(url: string, migrations: readonly MigrationClass[]): Promise<string[]> {
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    applicationName: 'toolkeeper-migrations',
    logger: new DatabaseLog(),
    migrations: [...migrations],
    installExtensions: false,
    poolSize: 2,
    extra: { connectionTimeoutMillis: 10_000 },
  });
  await dataSource.initialize();
  try {
    return await migrateLocked(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Applies the migrations under the lock. */
async function migrateLocked(dataSource: DataSource): Promise<string[]> {
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query(`SET lock_timeout = ${lockTimeoutMs}`);
    await lock.query('SELECT pg_advisory_lock($1)', [lockKey.toString()]);
    await recordReplacing(lock, dataSource);
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  } finally {
    // The lock ends with its connection, which destroy() closes.
    await lock.release();
  }
}

/** The names of applied migrations, with the new ones in place of those that they replaced. */
export function currentNames(applied: readonly string[], all: readonly string[]): readonly string[] {
  if (!applied.includes(lastReplaced)) return applied;
  const isUpToReplaced = (name: string): boolean => timestampOf(name) <= timestampOf(lastReplaced);
  return [...all.filter(isUpToReplaced), ...applied.filter((name) => !isUpToReplaced(name))];
}

/** The timestamp with which a migration's name ends. */
const timestampOf = (name: string): number => Number(name.slice(-13));

/**
 * Records new migrations whose tables the replaced ones have made. The rows of the replaced ones stay, so that a roll-back
 * finds them. Databases of later versions are accepted: a rolling update must not fail.
 */
async function recordReplacing(runner: QueryRunner, { migrations }: DataSource): Promise<void> {
  if (!(await runner.hasTable('migrations'))) return;
  const rows = (await runner.query('SELECT name FROM migrations ORDER BY id')) as { name: string }[];
  const applied = rows.map(({ name }) => name);
  const all = migrations.map(({ name, constructor }) => name ?? constructor.name);
  const current = currentNames(applied, all);
  if (applied.length > 0 && !current.includes(all[0] ?? ''))
    throw new StartError(
      `This version cannot upgrade the database, whose last migration is ${applied.at(-1)}: ` +
        'set TOOLKEEPER_DATA_DIR to an empty folder, or DATABASE_URL to an empty database.',
    );
  for (const name of current.filter((each) => !applied.includes(each)))
    await runner.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [timestampOf(name), name]);
}
