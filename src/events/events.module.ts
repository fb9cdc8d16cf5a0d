import { Module } from '@nestjs/common';
import { ToolHealthModule } from '../tool-health/tool-health.module.js';
import { EventSources } from './event-sources.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { EventsService } from './events.service.js';
import { RecentEvents } from './recent-events.js';
import { webhookMetrics } from './webhooks/webhook.metrics.js';
import { Webhooks } from './webhooks/webhooks.js';

/** What happens to tools, for those who want to hear of it. */
@Module({
  imports: [ToolHealthModule],
  controllers: [EventsController],
  providers: [EventSources, RecentEvents, EventStreams, EventsService, Webhooks, ...webhookMetrics],
})
export class EventsModule {}
