import { Inject, Injectable, Logger, Module, type OnApplicationShutdown, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { ConfigModule, loadConfig } from '../../src/base/config/app-config.js';
import { ApplicationDataSource } from '../../src/base/database/application-data-source.js';
import { DatabaseHealth } from '../../src/base/database/database-health.js';
import { DatabaseModule } from '../../src/base/database/database.module.js';
import { DatabaseUnavailable } from '../../src/base/common/errors.js';
import { EmbeddedPostgresError } from '../../src/base/database/embedded/server-process.js';
import { identityOf } from '../../src/base/common/process-identity.js';
import { MetricsModule } from '../../src/base/observability/metrics.module.js';
import { type ConfigChanges, configWith } from '../support/config.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { processesWith } from '../support/processes.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

@Entity('notes')
class Note {
  @PrimaryColumn() id!: number;
  @Column() text!: string;
}

/** Writes at the last moment, as the recorder's flush does. */
@Injectable()
class LastWriter implements OnApplicationShutdown {
  written = false;
  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.query('CREATE TABLE written_at_shutdown (n int)');
    this.written = true;
  }
}

@Module({ providers: [LastWriter] })
class WriterModule {}

@Module({ imports: [TypeOrmModule.forFeature([Note])] })
class NotesModule {}

const start = (
  env: NodeJS.ProcessEnv,
  module: Type = NotesModule,
  database: ConfigChanges['database'] = {},
): Promise<TestingModule> =>
  Test.createTestingModule({
    imports: [
      ConfigModule.forRoot(configWith(env, { database })),
      MetricsModule.forRoot(),
      DatabaseModule,
      module,
    ],
  }).compile();

describe('DatabaseModule', () => {
  let folder: string;
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => (folder = makeTestFolder()));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  describe('with DATABASE_URL', () => {
    let database: TestDatabase;
    let app: TestingModule;
    beforeEach(async () => {
      database = await createTestDatabase({ connect: false });
      const variables = {
        DATABASE_URL: database.url,
        TOOLKEEPER_DATA_DIR: folder,
        DATABASE_POOL_SIZE: '3',
      };
      const times = { queryTimeoutMs: 4_000, statementTimeoutMs: 3_000, idleInTransactionTimeoutMs: 2_000 };
      app = await start(variables, NotesModule, times);
    });
    afterEach(async () => {
      await app.close();
      await database.release();
    });

    it('sets the time-outs, on the server and in the driver', async () => {
      const dataSource = app.get(DataSource);
      const shown = async (name: string) =>
        Object.values((await dataSource.query(`SHOW ${name}`))[0] ?? {})[0];
      await expect(shown('statement_timeout')).resolves.toBe('3s');
      await expect(shown('idle_in_transaction_session_timeout')).resolves.toBe('2s');
      await expect(shown('application_name')).resolves.toBe('toolkeeper');
      expect(dataSource.options).toMatchObject({
        extra: { query_timeout: 4_000, connectionTimeoutMillis: 5_000 },
        poolSize: 3,
      });
    });

    it('ends a statement that takes too long', async () => {
      await expect(
        app.get(DataSource).query('SET statement_timeout = 50; SELECT pg_sleep(5)'),
      ).rejects.toThrow('statement timeout');
    });

    it('is up, and down when the database is gone', async () => {
      const health = app.get(DatabaseHealth);
      expect(health.check().status).toBe('up');
      await app.get(DataSource).query('SELECT 1');
      await database.drop();
      await until(() => health.check().status === 'down', { what: 'a failed ping' });
      database = await createTestDatabase({ connect: false });
    });

    it('starts no embedded server', () => expect(processesWith(folder)).toEqual([]));

    it('loads the entities of the modules that register them', () =>
      expect(app.get(DataSource).hasMetadata(Note)).toBe(true));
  });

  it('keeps the embedded server until everybody has written, and stops it then', async () => {
    const app = await start({ TOOLKEEPER_DATA_DIR: folder }, WriterModule);
    const dataSource = app.get(DataSource);
    const { server } = dataSource as unknown as { server: { pid: number } };
    await expect(dataSource.query('SHOW server_version')).resolves.toEqual([
      { server_version: expect.stringMatching(/^18\./) },
    ]);
    await app.close();
    expect(app.get(LastWriter).written).toBe(true);
    expect(dataSource.isInitialized).toBe(false);
    expect(identityOf(server.pid)).toBeUndefined();
  });

  it('leaves no server running when it cannot finish the start', async () => {
    class Broken1732200000009 {
      async up(): Promise<void> {
        throw new Error('broken migration');
      }
      async down(): Promise<void> {}
    }
    const config = loadConfig({ TOOLKEEPER_DATA_DIR: folder });
    const opening = ApplicationDataSource.open({ config, migrations: [Broken1732200000009], entities: [] });
    await expect(opening).rejects.toThrow('broken migration');
    // Nothing to attach to: the second start is a new one, and it gets the lock.
    const again = await ApplicationDataSource.open({ config, migrations: [], entities: [] });
    await again.destroy();
  });

  it('does not repeat a start that fails for good', async () => {
    // A file where the folder should be.
    await expect(start({ TOOLKEEPER_DATA_DIR: '/dev/null' })).rejects.toThrow(/ENOTDIR|not a directory/);
    expect(new EmbeddedPostgresError('x').message).toContain('Set DATABASE_URL');
  });

  it('gives up a ping of a database that hangs, and says so to whoever asks meanwhile', async () => {
    const mute = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => mute.once('listening', resolve));
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const silence = Promise.withResolvers<void>();
    const health = new DatabaseHealth(`postgres://a:b@127.0.0.1:${port}/c`, 20, silence.resolve);
    await health.start();
    await silence.promise;
    expect(() => health.assertAnswers()).toThrow(DatabaseUnavailable);
    await health.stop();
    mute.close();
  });
});
