import { Global, Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { Lifecycle } from '../common/lifecycle.js';
import { StartupWork } from '../common/startup-work.js';
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
      inject: [getDataSourceToken(), DatabaseHealth, Lifecycle, StartupWork],
      useFactory: (...given: ConstructorParameters<typeof Jobs>) => new Jobs(...given),
    },
    WebhookQueue,
    ...webhookMetrics,
  ],
  exports: [Jobs, WebhookQueue],
})
export class JobsModule {}
