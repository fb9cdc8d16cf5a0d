import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectMetric, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { hourMs } from '../common/clock.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { PayloadsRepository } from './payloads.repository.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';

/** Executions go to their day even if no new days are made for a week. */
const daysAhead = 7;

export const retentionMetrics = [
  makeGaugeProvider({
    name: 'toolkeeper_metrics_default_partition_rows',
    help: 'Executions on days without a partition of their own, counted every hour up to 10,000',
  }),
];

/**
 * Drops the days that ended METRICS_RETENTION_DAYS ago, and makes those to come: both once after the start, then every
 * hour. Payloads go when their own time is over. A day waits until all of it is old: to delete its rows hour by hour would cost what a table a day saves.
 */
@Injectable()
export class MetricsRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsRetention.name);
  private readonly days: number;
  private readonly loop: IntervalLoop;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: ToolMetricsRepository,
    private readonly partitions: MetricPartitions,
    private readonly payloads: PayloadsRepository,
    @InjectMetric('toolkeeper_metrics_default_partition_rows') private readonly strayRows: Gauge,
  ) {
    this.days = config.recorder.retentionDays;
    this.loop = new IntervalLoop(
      () => this.run(),
      hourMs,
      (error) => this.logger.error(error, 'old metrics could not be deleted'),
    );
  }

  /** A server that restarts every day cleans as well; the start does not wait for it. */
  onApplicationBootstrap(): void {
    this.loop.start(0);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async run(): Promise<void> {
    await this.makeDays().catch((error: unknown) =>
      this.logger.warn(error, 'the days to come could not be made'),
    );
    await this.payloads.deleteOld();
    const deleted = await this.repository.cleanupOldMetrics(this.days);
    if (deleted === 0) return;
    this.logger.log({ event: 'metrics_cleaned', deleted, days: this.days }, 'old metrics deleted');
  }

  private async makeDays(): Promise<void> {
    await this.partitions.makeAhead(daysAhead);
    const rows = await this.partitions.countInDefault();
    this.strayRows.set(rows);
    if (rows === 0) return;
    const entry = { event: 'metrics_in_default_partition', rows };
    this.logger.warn(entry, 'metrics were recorded on days that have no partition');
  }
}
