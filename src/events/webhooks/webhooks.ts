import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Contributors } from '../../observability/contributors.js';
import { RecentEvents } from '../recent-events.js';
import { type LaneReport, WebhookLane } from './webhook-lane.js';
import { webhookResults, webhooksWaiting } from './webhook.metrics.js';

/** Full jitter: many messages that failed together do not come back together. */
const pause = { firstMs: 1_000, longestMs: 60_000, jitter: 1 };

/** Sends events to the receivers in WEBHOOK_URLS; off where there are none. */
@Injectable()
export class Webhooks implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Webhooks.name);
  private readonly lanes: readonly WebhookLane[];

  constructor(
    @Inject(APP_CONFIG) { webhooks }: Pick<AppConfig, 'webhooks'>,
    private readonly recent: RecentEvents,
    @InjectMetric(webhookResults) private readonly results: Counter,
    @InjectMetric(webhooksWaiting) waiting: Gauge,
    contributors: Contributors,
  ) {
    const { urls, secret = '', types, ...limits } = webhooks;
    this.types = types;
    this.lanes = urls.map(
      (url) => new WebhookLane({ url, secret, ...limits, pause }, this.reportFor(new URL(url).host)),
    );
    contributors.addSampler(() => waiting.set(this.lanes.reduce((sum, { depth }) => sum + depth, 0)));
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
      this.results.inc({ result });
      if (result === 'given_up')
        this.logger.warn({ event: 'webhook_given_up', host, error: why }, 'a webhook was not taken');
    };
  }
}
