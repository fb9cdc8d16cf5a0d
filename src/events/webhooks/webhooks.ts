import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { WebhookMetrics } from '../../observability/webhook-metrics.js';
import { RecentEvents } from '../recent-events.js';
import { type LaneReport, WebhookLane } from './webhook-lane.js';

/** Full jitter: many messages that failed together do not come back together. */
const pause = { firstMs: 1_000, longestMs: 60_000, jitter: 1 };

/** Sends events to those who asked for it (WEBHOOK_URLS); off while nobody did. */
@Injectable()
export class Webhooks implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Webhooks.name);
  private readonly lanes: readonly WebhookLane[];

  constructor(
    @Inject(APP_CONFIG) { webhooks }: Pick<AppConfig, 'webhooks'>,
    private readonly recent: RecentEvents,
    private readonly metrics: WebhookMetrics,
  ) {
    const { urls, secret = '', types, ...limits } = webhooks;
    this.types = types;
    this.lanes = urls.map(
      (url) => new WebhookLane({ url, secret, ...limits, pause }, this.reportFor(new URL(url).host)),
    );
    metrics.observe(() => this.lanes.reduce((sum, { depth }) => sum + depth, 0));
  }

  private readonly types: AppConfig['webhooks']['types'];

  onModuleInit(): void {
    if (this.lanes.length === 0) return;
    this.recent.placed.subscribe((event) => {
      if (this.types && !this.types.has(event.type)) return;
      const message = { id: event.id, body: JSON.stringify(event) };
      for (const lane of this.lanes) lane.send(message);
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.stop()));
  }

  /** A URL may hold a secret: only its host is told. */
  private reportFor(host: string): LaneReport {
    return (result, why) => {
      this.metrics.count(result);
      if (result === 'given_up')
        this.logger.warn({ event: 'webhook_given_up', host, error: why }, 'a webhook was not taken');
    };
  }
}
