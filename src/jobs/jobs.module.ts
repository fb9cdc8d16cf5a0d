import { Global, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Lifecycle } from '../common/lifecycle.js';
import { DatabaseHealth } from '../database/database-health.js';
import { Jobs } from './jobs.js';
import { webhookMetrics, WebhookQueue } from './webhook-queue.js';

/** Work that is done later, by any replica, and survives restarts. */
@Global()
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    {
      provide: Jobs,
      inject: [getDataSourceToken(), DatabaseHealth, Lifecycle],
      useFactory: (db: DataSource, database: DatabaseHealth, lifecycle: Lifecycle) =>
        new Jobs(db, database, lifecycle),
    },
    WebhookQueue,
    ...webhookMetrics,
  ],
  exports: [Jobs, WebhookQueue],
})
export class JobsModule {}
