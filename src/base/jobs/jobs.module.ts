import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Jobs } from './jobs.js';
import { webhookMetrics, WebhookQueue } from './webhook-queue.js';

/** Queues of jobs that any replica runs later, and that survive restarts. */
@Global()
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  providers: [Jobs, WebhookQueue, ...webhookMetrics],
  exports: [Jobs, WebhookQueue],
})
export class JobsModule {}
