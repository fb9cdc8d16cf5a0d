import { Inject, Injectable } from '@nestjs/common';
import { InjectMetric, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { hourMs } from '../../common/clock.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { TableRetention } from '../journal/table-retention.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { PayloadsService } from './payloads.service.js';
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
 * Drops days whose last execution is older than METRICS_RETENTION_DAYS, deletes expired payloads and makes the days to
 * come. Days are dropped as a whole, because deleting rows is slow.
 */
@Injectable()
export class MetricsRetention extends TableRetention {
  private readonly days: number;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: ToolMetricsRepository,
    private readonly partitions: MetricPartitions,
    private readonly payloads: PayloadsService,
    @InjectMetric('toolkeeper_metrics_default_partition_rows') private readonly strayRows: Gauge,
  ) {
    super(hourMs, 'old metrics could not be deleted');
    this.days = config.recorder.retentionDays;
  }

  async run(): Promise<void> {
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
