import { randomBytes } from 'node:crypto';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { query, urlOf } from './test-server.js';

export interface TestDatabase {
  /** postgres://… of this database alone */
  readonly url: string;
  /** Connected, unless asked otherwise. */
  readonly dataSource: DataSource;
  /** Closes the data source and drops the database, whoever is still connected. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** False leaves the data source unconnected, for tests that only need the address (default true). */
  readonly connect?: boolean;
  readonly entities?: DataSourceOptions['entities'];
}

/** A new database with every migration applied: a clone of the run's template (about 30 ms). */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { server, prefix } = testServer();
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await query(server, `CREATE DATABASE ${name} TEMPLATE ${prefix}_template`);
  const url = urlOf(server, name);
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    entities: options.entities ?? [],
    uuidExtension: 'pgcrypto',
    installExtensions: false,
  });
  if (options.connect ?? true) await dataSource.initialize();
  return {
    url,
    dataSource,
    drop: async () => {
      if (dataSource.isInitialized) await dataSource.destroy();
      await query(server, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** A new empty database without any migration. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const { server, prefix } = testServer();
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await query(server, `CREATE DATABASE ${name}`);
  return {
    url: urlOf(server, name),
    drop: async () => void (await query(server, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

function testServer(): { server: string; prefix: string } {
  const { TEST_DATABASE_SERVER: server, TEST_DATABASE_PREFIX: prefix } = process.env;
  if (!server || !prefix) throw new Error('test/support/global-setup.ts has not run');
  return { server, prefix };
}
