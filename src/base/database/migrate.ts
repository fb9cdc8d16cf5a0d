import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { StartError } from '../common/start-error.js';
import { DatabaseLog } from './database-log.js';

const earlierDatabase =
  'The database was made by an earlier development version of Toolkeeper, whose tables this version cannot take over: ' +
  'start with an empty TOOLKEEPER_DATA_DIR, or let DATABASE_URL name an empty database.';

export type MigrationClass = new () => MigrationInterface;

/** 'toolkeep' in ASCII, to avoid collisions with advisory locks of other programs. */
const lockKey = 0x746f6f6c6b656570n;
const lockTimeoutMs = 300_000;

/**
 * Applies pending migrations, each in its own transaction. An advisory lock serialises replicas that start at once. The
 * application's timeouts do not apply, because indexing a large table takes long.
 * @returns the names of the applied migrations
 * @throws StartError if an earlier development version, whose migrations were removed, created the database
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

async function migrateLocked(dataSource: DataSource): Promise<string[]> {
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query(`SET lock_timeout = ${lockTimeoutMs}`);
    await lock.query('SELECT pg_advisory_lock($1)', [lockKey.toString()]);
    await refuseEarlierVersions(lock, dataSource);
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  } finally {
    // The lock ends with its connection, which destroy() closes.
    await lock.release();
  }
}

/** Accepts databases of later versions, which start with the same migration: a rolling update must not fail. */
async function refuseEarlierVersions(runner: QueryRunner, { migrations }: DataSource): Promise<void> {
  if (!(await runner.hasTable('migrations'))) return;
  const applied = (await runner.query('SELECT name FROM migrations')) as { name: string }[];
  const [first] = migrations.map(({ name, constructor }) => name ?? constructor.name);
  if (applied.length === 0 || applied.some(({ name }) => name === first)) return;
  throw new StartError(earlierDatabase);
}
