import { Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { RecorderMetrics } from '../observability/recorder-metrics.js';
import { ExecutionEvents } from './execution-events.js';
import { ExecutionRecorder, type RecorderReport } from './execution-recorder.js';
import { MetricPartitions } from './metric-partitions.js';
import { MetricsRetention } from './metrics-retention.js';
import { ToolMetric } from './tool-metric.entity.js';
import { ToolMetricsController } from './tool-metrics.controller.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';
import { ToolMetricsService } from './tool-metrics.service.js';

/** What happened: records every execution and answers for it. */
@Module({
  imports: [TypeOrmModule.forFeature([ToolMetric])],
  controllers: [ToolMetricsController],
  providers: [
    ToolMetricsRepository,
    ExecutionEvents,
    MetricsRetention,
    {
      provide: MetricPartitions,
      inject: [getDataSourceToken()],
      useFactory: (db: DataSource) => new MetricPartitions(db),
    },
    ToolMetricsService,
    {
      provide: ExecutionRecorder,
      inject: [ToolMetricsRepository, APP_CONFIG],
      useFactory: (repository: ToolMetricsRepository, config: AppConfig) =>
        new ExecutionRecorder(repository, config.recorder, logged(new Logger(ExecutionRecorder.name))),
    },
  ],
  exports: [ToolMetricsRepository, ExecutionRecorder, ExecutionEvents],
})
export class ToolMetricsModule implements OnApplicationShutdown {
  constructor(
    private readonly recorder: ExecutionRecorder,
    metrics: RecorderMetrics,
  ) {
    metrics.observe(() => {
      const { recordedTotal, lostTotal } = recorder;
      return { depth: recorder.depth(), recordedTotal, lostTotal };
    });
  }

  /** TypeORM closes its connections after the modules that import it: everything is written by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.recorder.close();
  }
}

/** Messages only: a failed statement's error drags all its rows along. */
function logged(logger: Logger): RecorderReport {
  const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  return {
    retrying: (error, depth, retryInMs) =>
      logger.warn(
        { event: 'recorder_retry', depth, retryInMs, error: messageOf(error) },
        'records could not be written yet',
      ),
    lost: (metrics, error) => {
      for (const { metricId, toolName, status } of metrics) {
        const entry = { event: 'execution_record_lost', executionId: metricId, tool: toolName, status };
        logger.error({ ...entry, error: messageOf(error) }, 'the record of an execution is lost');
      }
    },
  };
}
