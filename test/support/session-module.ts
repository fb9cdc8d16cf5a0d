import { Global, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { DatabaseHealth } from '../../src/base/database/database-health.js';
import { FleetBarrier } from '../../src/base/database/fleet-barrier.js';
import { Replicas } from '../../src/base/database/replicas.js';
import { TableFollower } from '../../src/base/database/table-follower.js';

/** The session beside the pool, for tests that build some modules on a data source of their own. */
@Global()
@Module({
  providers: [
    {
      provide: DatabaseHealth,
      inject: [getDataSourceToken()],
      useFactory: ({ options }: DataSource) =>
        new DatabaseHealth(options.type === 'postgres' ? (options.url ?? '') : '', 2_000, () => undefined),
    },
    Lifecycle,
    TableFollower,
    Replicas,
    FleetBarrier,
  ],
  exports: [Lifecycle, DatabaseHealth, TableFollower, Replicas, FleetBarrier],
})
export class SessionModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly session: DatabaseHealth) {}

  onApplicationBootstrap(): Promise<void> {
    return this.session.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.session.stop();
  }
}
