import { Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { RecorderMetrics } from '../observability/recorder-metrics.js';
import { ExecutionEvents } from './execution-events.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { journalLog } from './journal/journal-log.js';
import { OpenJournal } from './journal/open-journal.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { MetricsRetention } from './metrics-retention.js';
import { gradeRecorder } from './recorder-health.js';
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
      inject: [getDataSourceToken(), APP_CONFIG, RecorderMetrics],
      useFactory: openRecorder,
    },
  ],
  exports: [ToolMetricsRepository, ExecutionRecorder, ExecutionEvents],
})
export class ToolMetricsModule implements OnApplicationShutdown {
  constructor(
    private readonly recorder: ExecutionRecorder,
    metrics: RecorderMetrics,
    contributors: Contributors,
    @Inject(APP_CONFIG) { recorder: { whenFull } }: AppConfig,
  ) {
    metrics.observe(() => recorder.state());
    // Down while calls are refused because their records cannot be promised.
    contributors.addHealth('recorder', () => {
      const state = recorder.state();
      const { damagedLines, lastWriteFailureAt } = metrics;
      const writeFailedAgoMs = Date.now() - lastWriteFailureAt;
      const { depth, oldestMs, bytes, dropped } = state;
      const grade = gradeRecorder({ ...state, damagedLines, writeFailedAgoMs, whenFull });
      return { depth, oldestMs, bytes, dropped, damagedLines, ...grade };
    });
  }

  /** TypeORM closes its connections after the modules that import it. */
  async onApplicationShutdown(): Promise<void> {
    await this.recorder.close();
  }
}

const segmentBytes = 16_777_216;

async function openRecorder(
  db: DataSource,
  { root, recorder, database }: AppConfig,
  metrics: RecorderMetrics,
): Promise<ExecutionRecorder> {
  const { options } = db;
  if (options.type !== 'postgres' || !options.url) throw new Error('The journal needs a PostgreSQL URL');
  const journal = await OpenJournal.open(
    {
      folder: recorder.journalDir,
      segmentBytes: Math.max(1, Math.min(segmentBytes, Math.floor(recorder.maxBytes / 8))),
      durability: recorder.durability,
      batchSize: recorder.batchSize,
      intervalMs: recorder.flushIntervalMs,
      script: join(root, 'dist', 'src', 'tool-metrics', 'journal', 'drain.worker.js'),
      sink: {
        url: options.url,
        connectTimeoutMs: database.connectTimeoutMs,
        queryTimeoutMs: database.queryTimeoutMs,
      },
    },
    journalLog(new Logger(ExecutionRecorder.name), metrics),
  );
  return new ExecutionRecorder(journal, recorder);
}
