import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module.js';
import { StartupWork } from '../../common/startup-work.js';
import { APP_CONFIG } from '../../config/app-config.js';
import { ToolMetricsModule } from '../executions/tool-metrics.module.js';
import { BatchRates } from './ingest/batch-rates.js';
import { BatchEvents } from './ingest/batch-events.js';
import { IngestController } from './ingest/ingest.controller.js';
import { IngestService } from './ingest/ingest.service.js';
import { ingestMetrics, openIngest, spanReport } from './ingest/open-ingest.js';
import { SpanIngest } from './ingest/span-ingest.js';
import { SpanNews } from './ingest/span-news.js';
import { TraceReads } from './reads/trace-reads.js';
import { TracesController } from './reads/traces.controller.js';
import { SpanRetention } from './span-retention.js';

/** Spans: those that agents send, and the executions of this server. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), AuthModule, ToolMetricsModule],
  controllers: [IngestController, TracesController],
  providers: [
    ...ingestMetrics,
    BatchRates,
    BatchEvents,
    IngestService,
    SpanNews,
    SpanRetention,
    TraceReads,
    {
      provide: SpanIngest,
      inject: [getDataSourceToken(), APP_CONFIG, spanReport, BatchEvents],
      useFactory: openIngest,
    },
  ],
  exports: [BatchEvents, SpanIngest, TraceReads],
})
export class TracesModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly ingest: SpanIngest,
    private readonly startup: StartupWork,
  ) {}

  /** Nothing waits until what an earlier gateway left is in the database. */
  onApplicationBootstrap(): void {
    this.startup.register('spans', this.ingest.open());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.ingest.close();
  }
}
