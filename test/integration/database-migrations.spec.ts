import { Logger } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '../../migrations/index.js';
import { migrate } from '../../src/base/database/migrate.js';
import { createEmptyDatabase } from '../support/database.js';
import { query } from '../support/test-server.js';
import { until } from '../support/wait.js';

class Slow1732200000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Fails where two run it side by side.
    await runner.query('CREATE TABLE made_once (n int)');
    await runner.query('SELECT pg_sleep(0.2)');
  }
  async down(): Promise<void> {}
}

class Failing1732200000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE half_way (n int)');
    await runner.query('SELECT broken');
  }
  async down(): Promise<void> {}
}

describe('migrations', () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => (database = await createEmptyDatabase()));
  afterEach(() => database.drop());
  const tables = async () =>
    (await query(database.url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)).map(
      ({ tablename }) => tablename,
    );

  it('are applied once by replicas that start at once', async () => {
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url, [Slow1732200000001])));
    expect(applied.flat()).toEqual(['Slow1732200000001']);
    await expect(query(database.url, 'SELECT name FROM migrations')).resolves.toEqual([
      { name: 'Slow1732200000001' },
    ]);
  });

  it('leave no lock and no connection behind', async () => {
    await migrate(database.url, [Slow1732200000001]);
    const locks = (): Promise<object[]> =>
      query(
        database.url,
        // Other databases of the server have locks of their own: a writer's slot is one.
        `SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
          WHERE locktype = 'advisory' AND datname = current_database()`,
      );
    // The server ends a session a moment after its client has closed the connection.
    await until(async () => (await locks()).length === 0, { what: 'the end of the session with the lock' });
  });

  it('are undone where they fail half-way, and those before them stay', async () => {
    const both = [Slow1732200000001, Failing1732200000002];
    await expect(migrate(database.url, both)).rejects.toThrow('column "broken" does not exist');
    await expect(tables()).resolves.toEqual(['made_once', 'migrations']);
    await expect(migrate(database.url, [Slow1732200000001])).resolves.toEqual([]);
  });

  it('refuse a database of other tables, and leave it as it is', async () => {
    await migrate(database.url, [Slow1732200000001]);
    await expect(migrate(database.url, migrations)).rejects.toThrow(
      /last migration is Slow1732200000001: .*TOOLKEEPER_DATA_DIR.*DATABASE_URL/,
    );
    await expect(tables()).resolves.toEqual(['made_once', 'migrations']);
  });

  it('take a database of a later version as it is', async () => {
    await migrate(database.url, [...migrations, Slow1732200000001]);
    await expect(migrate(database.url, migrations)).resolves.toEqual([]);
  });

  it('of Toolkeeper stand in the order of their numbers', () => {
    const names = migrations.map(({ name }) => Number(/\d+$/.exec(name)?.[0]));
    expect(names).toEqual([...names].sort((a, b) => a - b));
    expect(new Set(names).size).toBe(names.length);
  });
});
