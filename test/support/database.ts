import { randomBytes } from 'node:crypto';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { connected, query, type Run, urlOf } from './test-server.js';

export interface TestDatabase {
  /** postgres://… of this database alone */
  readonly url: string;
  /** Connected, unless asked otherwise. */
  readonly dataSource: DataSource;
  /** Closes the data source and empties the database for other tests, or drops it if its schema has changed. */
  release(): Promise<void>;
  /** Drops the database, even if others are still connected. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** False leaves the data source unconnected, for tests that only need the address (default true). */
  readonly connect?: boolean;
  readonly entities?: DataSourceOptions['entities'];
}

interface Databases {
  /** Those whose tests have ended and that are as a new one, for the next tests of this worker. */
  readonly clean: string[];
  /** The schema of a new database and its tables, read once. */
  pristine?: { readonly schema: string; readonly tables: readonly string[] };
}

declare global {
  var toolkeeperDatabases: Databases | undefined;
}

/** The files of a worker share its realm, but each loads this module anew. */
const databases: Databases = (globalThis.toolkeeperDatabases ??= { clean: [] });

/** A database with every migration applied and no rows: one that other tests have left, or a clone of the run's template. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { server, prefix } = testServer();
  const left = databases.clean.pop();
  const name = left ?? `${prefix}_${randomBytes(6).toString('hex')}`;
  const url = urlOf(server, name);
  if (left === undefined) await query(server, `CREATE DATABASE ${name} TEMPLATE ${prefix}_template`);
  databases.pristine ??= await connected(url, schemaOf);
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    entities: options.entities ?? [],
    uuidExtension: 'pgcrypto',
    installExtensions: false,
  });
  if (options.connect ?? true) await dataSource.initialize();
  const drop = async (): Promise<void> => {
    if (dataSource.isInitialized) await dataSource.destroy();
    await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  return {
    url,
    dataSource,
    release: async () => {
      if (dataSource.isInitialized) await dataSource.destroy();
      if (await isClean(url).catch(() => false)) databases.clean.push(name);
      else await drop();
    },
    drop,
  };
}

/** Empties a database. @returns false if its schema has changed: it cannot be used again */
const isClean = (url: string): Promise<boolean> =>
  connected(url, async (run) => {
    await run(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await run('DROP SCHEMA IF EXISTS toolkeeper_jobs CASCADE');
    const { schema: schemaOfNew, tables: kept = [] } = databases.pristine ?? {};
    const found = await schemaOf(run);
    const surplus = found.tables.filter((table) => !kept.includes(table));
    if (surplus.length > 0) await run(`DROP TABLE ${surplus.join(', ')}`);
    const { schema } = surplus.length > 0 ? await schemaOf(run) : found;
    if (schema !== schemaOfNew) return false;
    // A file has pages since the table has had rows. A query of all tables would cost ten times as much to plan.
    const filled = await run(
      `SELECT relname::text AS name FROM pg_class
        WHERE ${ours} AND relname NOT IN (${keptRows}) AND relkind = 'r' AND pg_relation_size(oid) > 0`,
    );
    const names = filled.map(({ name }) => String(name));
    if (names.length > 0) await run(`TRUNCATE ${names.join(', ')} RESTART IDENTITY CASCADE`);
    return true;
  });

const ours = "relnamespace = 'public'::regnamespace";
/** Tables that a new database has rows in: what has been applied, and counters. */
const keptRows = "'migrations', 'tool_events_epoch', 'playbook_catalog_state', 'api_keys_state'";

/** Columns, indexes, triggers and settings of a database, as one text, and the tables that tests fill. */
async function schemaOf(run: Run): Promise<{ schema: string; tables: string[] }> {
  const [row] = await run(
    `SELECT
       (SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
         WHERE ${ours} AND relkind = 'r' AND relname NOT IN (${keptRows})) AS tables,
       md5(concat(
         (SELECT string_agg(concat(relname, relkind, attname, atttypid, attnotnull), ',' ORDER BY relname, attnum)
            FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 WHERE ${ours}),
         (SELECT string_agg(concat(tgname, tgenabled), ',' ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal),
         (SELECT string_agg(name, ',' ORDER BY id) FROM migrations),
         (SELECT count(*) FROM playbook_catalog_state), (SELECT count(*) FROM api_keys_state),
         (SELECT datallowconn::text FROM pg_database WHERE datname = current_database()),
         (SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
            WHERE datname = current_database())
       )) AS schema`,
  );
  return { schema: String(row?.['schema']), tables: (row?.['tables'] ?? []) as string[] };
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
