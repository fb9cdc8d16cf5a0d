import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { WebhookQueue } from '../jobs/webhook-queue.js';
import type { Placed } from '../streams/event-ring.js';
import type { ToolEvent } from '../streams/tool-events.js';

/** Sends events to the receivers in WEBHOOK_URLS; off if there are none. */
@Injectable()
export class Webhooks {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'webhooks'>,
    private readonly queue: WebhookQueue,
  ) {}

  /** MUST come before the transaction of `sendIn`. @throws the database's error */
  async prepare(): Promise<void> {
    if (this.config.webhooks.urls.length > 0) await this.queue.prepare();
  }

  /** Queues the events in a transaction that is under way. @throws the database's error */
  async sendIn(manager: EntityManager, events: readonly Placed<ToolEvent>[]): Promise<void> {
    const { urls, types } = this.config.webhooks;
    const wanted = events.filter(({ type }) => types?.has(type) ?? true);
    const messages = wanted.flatMap((event) =>
      urls.map((url) => ({ id: event.id, url, body: JSON.stringify(event), by: 'operator' as const })),
    );
    if (messages.length > 0) await this.queue.sendIn(manager, messages);
  }

  /** Looks for what was queued, after the transaction. */
  hasten(): void {
    if (this.config.webhooks.urls.length > 0) this.queue.hasten();
  }
}
