import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Jobs } from './jobs.js';
import { webhookMetrics, WebhookQueue } from './webhook-queue.js';

/** Work that is done later, by any replica, and survives restarts. */
@Global()
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [Jobs, WebhookQueue, ...webhookMetrics],
  exports: [Jobs, WebhookQueue],
})
export class JobsModule {}
