import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';

const dayMs = 86_400_000;

/** Deletes metrics that are older than METRICS_RETENTION_DAYS: once after the start, then daily. */
@Injectable()
export class MetricsRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsRetention.name);
  private readonly days: number;
  private readonly loop: IntervalLoop;
  private first: Promise<void> = Promise.resolve();

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: ToolMetricsRepository,
  ) {
    this.days = config.recorder.retentionDays;
    this.loop = new IntervalLoop(
      () => this.clean(),
      dayMs,
      (error) => this.failed(error),
    );
  }

  /** A server that restarts every day cleans as well; the start does not wait for it. */
  onApplicationBootstrap(): void {
    this.first = this.clean().catch((error: unknown) => this.failed(error));
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.first, this.loop.stop()]);
  }

  private async clean(): Promise<void> {
    const deleted = await this.repository.cleanupOldMetrics(this.days);
    if (deleted > 0)
      this.logger.log({ event: 'metrics_cleaned', deleted, days: this.days }, 'old metrics deleted');
  }

  private failed(error: unknown): void {
    this.logger.error(error, 'old metrics could not be deleted');
  }
}
