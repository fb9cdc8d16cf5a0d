import type { DataSource } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { DatabaseUnavailable } from '../common/errors.js';
import type { DatabaseClient } from './database-client.js';
import type { DatabaseHealth } from './database-health.js';

type Lease = [connection: DatabaseClient, release: (error?: Error) => void];

/** TypeORM's driver, which gives no connection while the database does not answer. */
export class GuardedDriver extends PostgresDriver {
  constructor(
    dataSource: DataSource,
    private readonly health: DatabaseHealth,
  ) {
    super(dataSource);
  }

  /** @throws DatabaseUnavailable whatever the reason is that there is no connection */
  override async obtainMasterConnection(): Promise<Lease> {
    this.health.assertAnswers();
    try {
      return (await super.obtainMasterConnection()) as Lease;
    } catch (error) {
      throw new DatabaseUnavailable(String(error), { cause: error });
    }
  }

  /** Ends the statements that wait for the server, with their connections. */
  breakAll(): void {
    for (const runner of this.connectedQueryRunners) {
      void (runner.connect() as Promise<DatabaseClient>).then(({ connection }) =>
        connection.stream.destroy(new Error('Connection terminated: the server does not answer')),
      );
    }
  }
}
