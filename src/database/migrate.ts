import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { DatabaseLog } from './database-log.js';

/** Told without a stack: the sentence is for the operator, and says all there is to do. */
class EarlierDatabase extends Error {
  constructor() {
    super(
      'The database was made by an earlier development version of Toolkeeper, whose tables this version cannot take over: ' +
        'start with an empty TOOLKEEPER_DATA_DIR, or let DATABASE_URL name an empty database.',
    );
    this.stack = this.message;
  }
}

export type MigrationClass = new () => MigrationInterface;

/** 'toolkeep' in ASCII: no other program's advisory lock has this key by chance. */
const lockKey = 0x746f6f6c6b656570n;
const lockTimeoutMs = 300_000;

/**
 * Applies the migrations that the database lacks, each in its own transaction. Replicas that start at once do it one
 * after the other: each waits for the same advisory lock. The application's time-outs do not
 * apply, for an index on a large table takes its time.
 * @returns the names of the migrations applied now
 * @throws EarlierDatabase where an earlier development version, whose steps are gone, made the database
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

/** A database of a later version is none of these: it began with the same step, and a rolling update must go on. */
async function refuseEarlierVersions(runner: QueryRunner, { migrations }: DataSource): Promise<void> {
  if (!(await runner.hasTable('migrations'))) return;
  const applied = (await runner.query('SELECT name FROM migrations')) as { name: string }[];
  const [first] = migrations.map(({ name, constructor }) => name ?? constructor.name);
  if (applied.length === 0 || applied.some(({ name }) => name === first)) return;
  throw new EarlierDatabase();
}
