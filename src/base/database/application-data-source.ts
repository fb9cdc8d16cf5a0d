import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { endsWithin } from '../common/abortable.js';
import { DatabaseUnavailable } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { StartError } from '../common/start-error.js';
import type { AppConfig } from '../config/app-config.js';
import { DatabaseClient, DatabaseHealth, suspiciousMs } from './database-health.js';
import { DatabaseLog } from './database-log.js';
import { EmbeddedPostgres } from './embedded/embedded-postgres.js';
import { PostgresKeeper } from './embedded/postgres-keeper.js';
import { migrate, type MigrationClass } from './migrate.js';
import { timeouts } from './timeouts.js';

/** Timeout of the notification in the check of the session. */
const notificationTimeoutMs = 10_000;

const noSession =
  `A notification did not arrive within ${notificationTimeoutMs / 1_000} s: the address of the database leads to a pooler in transaction mode. ` +
  'Let DATABASE_SESSION_URL name the direct address of the same database, or set the pooler to session mode.';

/**
 * Checks that a connection gets notifications. Through a pooler in transaction mode it gets none, because the pooler gives
 * the listening session to another client.
 * @throws StartError, or the driver's error
 */
export async function assertSession(url: string): Promise<void> {
  const options = {
    connectionString: url,
    application_name: 'toolkeeper-start',
    connectionTimeoutMillis: 10_000,
  };
  const [listener, sender] = [new DatabaseClient(options), new DatabaseClient(options)];
  const arrived = Promise.withResolvers<void>();
  listener.once('notification', () => arrived.resolve());
  try {
    await listener.connect();
    const channel = `toolkeeper_${newId().replaceAll('-', '')}`;
    await listener.query(`LISTEN ${channel}`);
    await sender.connect();
    await sender.query('SELECT pg_notify($1, $2)', [channel, '']);
    if (!(await endsWithin(notificationTimeoutMs, arrived.promise))) throw new StartError(noSession);
  } finally {
    await Promise.all([listener.end(), sender.end()]);
  }
}

interface DatabaseSetup {
  readonly config: Pick<AppConfig, 'database' | 'dataDir'>;
  readonly migrations: readonly MigrationClass[];
  readonly entities: DataSourceOptions['entities'];
}

/** The database server to connect to. `stop` releases it after the last connection is closed. */
interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * The application's data source. It owns the embedded server and stops it after closing its own connections: Nest
 * guarantees no order between the shutdown hooks of two modules.
 */
export class ApplicationDataSource extends DataSource {
  readonly health: DatabaseHealth;

  private constructor(
    options: DataSourceOptions,
    private readonly server: Server,
    sessionUrl: string,
    pingMs: number,
  ) {
    super(options);
    // The health and the driver need each other; `breakAll` is called after both exist.
    this.health = new DatabaseHealth(sessionUrl, pingMs, () => driver.breakAll());
    const driver = new GuardedDriver(this, this.health);
    this.driver = driver;
  }

  /**
   * Starts the embedded server unless DATABASE_URL is set, applies pending migrations and connects.
   * @throws StartError, or the driver's error; no server is left running
   */
  static async open(setup: DatabaseSetup): Promise<ApplicationDataSource> {
    const { config, migrations } = setup;
    const server = await startServer(config);
    try {
      const { sessionUrl = server.url, pingMs } = config.database;
      // Checked before the migrations, because a pooler in transaction mode would never release their lock.
      await assertSession(sessionUrl);
      await migrate(sessionUrl, migrations);
      const options = optionsFor(setup, server.url);
      const dataSource = new ApplicationDataSource(options, server, sessionUrl, pingMs);
      await dataSource.initialize();
      await dataSource.health.start();
      return dataSource;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  override async destroy(): Promise<void> {
    try {
      await this.health.stop();
      await super.destroy();
    } finally {
      await this.server.stop();
    }
  }
}

async function startServer({ database, dataDir }: DatabaseSetup['config']): Promise<Server> {
  if (database.url) return { url: database.url, stop: async () => {} };
  const postgres = new EmbeddedPostgres({
    directory: join(dataDir, 'postgres'),
    // Leaves connections for the migrations and for an operator.
    settings: { max_connections: String(Math.max(100, database.poolSize + 20)) },
  });
  return PostgresKeeper.start(postgres);
}

/**
 * More than a minute, so that a dashboard that refreshes every minute reuses a warm connection. The first query over
 * all daily partitions takes five times as long on a new connection, whose catalogue cache is empty.
 */
const idleMs = 120_000;

/** TypeORM's options. All four timeouts are needed. The health ping detects a frozen server before they expire. */
function optionsFor({ config: { database }, entities = [] }: DatabaseSetup, url: string): DataSourceOptions {
  const text = timeouts(database.statementTimeoutMs, database.idleInTransactionTimeoutMs);
  const setting = { text, query_timeout: database.connectTimeoutMs };
  return {
    type: 'postgres',
    url,
    entities,
    applicationName: 'toolkeeper',
    logger: new DatabaseLog(),
    poolSize: database.poolSize,
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    // Idle connections end with the server at every stop; DatabaseHealth logs a server that is lost.
    poolErrorHandler: () => undefined,
    extra: {
      Client: DatabaseClient,
      connectionTimeoutMillis: database.connectTimeoutMs,
      idleTimeoutMillis: idleMs,
      query_timeout: database.queryTimeoutMs,
      onConnect: (client: DatabaseClient) => client.query(setting),
    },
  };
}

/** A connection of the pool, and the function that returns it. */
type Obtained = [connection: DatabaseClient, release: (error?: Error) => void];

/** TypeORM's PostgreSQL driver, failing fast while the database is unresponsive. */
class GuardedDriver extends PostgresDriver {
  /** Functions that end waits for a connection. */
  private readonly rejectWaits = new Set<(error: Error) => void>();

  constructor(
    dataSource: DataSource,
    private readonly health: DatabaseHealth,
  ) {
    super(dataSource);
  }

  /** @throws DatabaseUnavailable if no connection can be obtained, for any reason */
  override async obtainMasterConnection(): Promise<Obtained> {
    this.health.assertAnswers();
    const { promise: broken, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => this.health.suspect(), suspiciousMs);
    const obtained = super.obtainMasterConnection() as Promise<Obtained>;
    this.rejectWaits.add(reject);
    try {
      const [connection, release] = await Promise.race([obtained, broken]);
      const releaseAndClear: typeof release = (error) => {
        clearTimeout(timer);
        release(error);
      };
      return [connection, releaseAndClear];
    } catch (error) {
      clearTimeout(timer);
      // The connection may still be obtained; then nobody waits for it.
      obtained.then(([, release]) => release()).catch(() => undefined);
      throw new DatabaseUnavailable(String(error), { cause: error });
    } finally {
      this.rejectWaits.delete(reject);
    }
  }

  /** Destroys all connections in use, so that waiting on a dead server fails at once. */
  breakAll(): void {
    for (const reject of this.rejectWaits) reject(new Error('the server does not answer'));
    for (const runner of this.connectedQueryRunners) {
      void (runner.connect() as Promise<DatabaseClient>).then(({ connection }) =>
        connection.stream.destroy(new Error('Connection terminated: the server does not answer')),
      );
    }
  }
}
