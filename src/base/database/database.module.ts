import { Global, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { migrations } from '../../../migrations/index.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { ApplicationDataSource } from './application-data-source.js';
import { DatabaseHealth } from './database-health.js';
import { FleetBarrier } from './fleet-barrier.js';
import { Replicas } from './replicas.js';
import { TableFollower } from './table-follower.js';
import { isTransient } from './transient-error.js';

/** TypeORM's options with the configuration, because the data source factory cannot inject it. */
type Options = TypeOrmModuleOptions & { readonly config: AppConfig };

/** Provides the data source, which is migrated and connected before anything that injects it is made. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({ inject: [APP_CONFIG], useFactory: optionsWith, dataSourceFactory: open }),
  ],
  providers: [
    {
      provide: DatabaseHealth,
      inject: [getDataSourceToken()],
      useFactory: ({ health }: ApplicationDataSource) => health,
    },
    TableFollower,
    Replicas,
    FleetBarrier,
  ],
  exports: [DatabaseHealth, TableFollower, Replicas, FleetBarrier],
})
export class DatabaseModule {
  constructor(database: DatabaseHealth, contributors: Contributors) {
    contributors.addHealth('database', () => {
      const part = database.check();
      // Not down: calls continue while they can be recorded, and a balancer would remove all replicas at once.
      return part.status === 'down' ? { ...part, status: 'degraded' } : part;
    });
    contributors.addHealth('clock', () => database.checkClock());
  }
}

function optionsWith(config: AppConfig): Options {
  return {
    type: 'postgres',
    autoLoadEntities: true,
    toRetry: isTransient,
    retryDelay: 1_000,
    verboseRetryLog: true,
    config,
  };
}

/** Makes the data source. */
async function open(options?: DataSourceOptions): Promise<DataSource> {
  const { config, entities } = options as Options;
  return ApplicationDataSource.open({ config, migrations, entities });
}
