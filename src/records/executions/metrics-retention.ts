import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import type { DataSource } from 'typeorm';
import { hourMs } from '../../base/common/clock.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { gauge } from '../../base/observability/metrics.js';
import { TableRetention } from '../journal/table-retention.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { ToolMetricsService } from './tool-metrics.service.js';

/** Number of days that are created in advance, in case the creation fails for a week. */
const daysAhead = 7;
/** Name of the gauge of executions in the default partition. */
const strayRowsName = 'toolkeeper_metrics_default_partition_rows';
/** Provider of this gauge. */
export const strayRows = gauge(
  strayRowsName,
  'Executions on days without a partition of their own, counted every hour up to 10,000',
);

/** Drops days older than METRICS_RETENTION_DAYS as a whole, deletes expired payloads, and creates the coming days. */
@Injectable()
export class MetricsRetention extends TableRetention {
  private readonly days: number;
  private readonly partitions: MetricPartitions;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @InjectDataSource() db: DataSource,
    private readonly service: ToolMetricsService,
    @InjectMetric(strayRowsName) private readonly strayRows: Gauge,
  ) {
    super(hourMs, 'old metrics could not be deleted');
    this.days = config.recorder.retentionDays;
    this.partitions = new MetricPartitions(db);
  }

  async run(deletes: boolean): Promise<void> {
    if (!deletes) return;
    await this.makeDays().catch((error: unknown) =>
      this.logger.warn(error, 'partitions of the next days could not be made'),
    );
    await this.service.deleteOldPayloads();
    const { deleted } = await this.service.cleanup({ olderThanDays: this.days });
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
