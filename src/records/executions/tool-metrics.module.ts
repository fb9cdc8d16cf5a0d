import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { APP_CONFIG } from '../../config/app-config.js';
import { Contributors } from '../../observability/contributors.js';
import { CallEvents } from '../../tool-contract/call-events.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { MetricsRetention, retentionMetrics } from './metrics-retention.js';
import { executionReport, openRecorder, recorderMetrics } from './open-recorder.js';
import { gradeRecorder } from './recorder-health.js';
import { PayloadsService } from './payloads.service.js';
import { ToolMetric } from './tool-metric.entity.js';
import { ToolMetricsController } from './tool-metrics.controller.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';
import { ToolMetricsService } from './tool-metrics.service.js';

/** Records every execution and answers for it. */
@Module({
  imports: [TypeOrmModule.forFeature([ToolMetric])],
  controllers: [ToolMetricsController],
  providers: [
    ...recorderMetrics,
    ...retentionMetrics,
    ToolMetricsRepository,
    PayloadsService,
    CallEvents,
    MetricsRetention,
    {
      provide: MetricPartitions,
      inject: [getDataSourceToken()],
      useFactory: (db: DataSource) => new MetricPartitions(db),
    },
    ToolMetricsService,
    {
      provide: ExecutionRecorder,
      inject: [getDataSourceToken(), APP_CONFIG, executionReport],
      useFactory: openRecorder,
    },
  ],
  exports: [ToolMetricsRepository, ToolMetricsService, PayloadsService, ExecutionRecorder, CallEvents],
})
export class ToolMetricsModule implements OnApplicationShutdown {
  constructor(
    private readonly recorder: ExecutionRecorder,
    contributors: Contributors,
  ) {
    // Down while calls are refused because their records cannot be promised.
    contributors.addHealth('recorder', async () => {
      const state = await recorder.stateNow();
      const { depth, oldestMs, bytes, damagedLines } = state;
      return { depth, oldestMs, bytes, dropped: 0, damagedLines, ...gradeRecorder(state) };
    });
  }

  /** TypeORM closes its connections after the modules that import it. */
  async onApplicationShutdown(): Promise<void> {
    await this.recorder.close();
  }
}
