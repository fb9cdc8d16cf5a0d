import { Inject, Injectable } from '@nestjs/common';
import { EventRing, type Placed } from '../common/event-ring.js';
import { Lifecycle } from '../common/lifecycle.js';
import { endlessPatience as patience, OpenStreams } from '../common/open-streams.js';
import { sseEvent, type ServerSentEvent } from '../common/sse.js';
import { SseStream } from '../common/sse-stream.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { type Notification, notificationOf } from './mcp-messages.js';

/** An MCP message as an event. */
export const messageEvent = (data: object): ServerSentEvent => ({ event: 'message', data });

/** A notification as it was before it was put into a ring. */
export const eventOfPlaced = ({ id: _place, ...message }: Placed<Notification>): ServerSentEvent =>
  messageEvent(message);

/** The MCP clients that want to hear when the list of tools changes. */
@Injectable()
export class McpStreams extends OpenStreams {
  private readonly changes = new EventRing<Notification>({ maxEntries: 1, maxBytes: 1_024 });
  private readonly heartbeatMs: number;

  constructor(
    @Inject(APP_CONFIG) { events, server }: Pick<AppConfig, 'events' | 'server'>,
    lifecycle: Lifecycle,
    registry: ToolRegistry,
  ) {
    super({ most: events.maxStreams, variable: 'EVENTS_STREAMS', what: 'the list of tools' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
    registry.changes.subscribe(() => this.changes.append(notificationOf('notifications/tools/list_changed')));
  }

  /**
   * @param subscription id of the request that asked for it, which each message carries from 2026-07-28 on
   * @throws Problem `rate_limited`, `shutting_down`
   */
  follow(subscription?: string | number): SseStream<Notification> {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': subscription };
    const greeting = notificationOf('notifications/subscriptions/acknowledged', {
      notifications: { toolsListChanged: true },
      _meta,
    });
    return this.add(
      () =>
        new SseStream(
          this.changes,
          {
            place: this.changes.end,
            patience,
            eventOf: ({ id: _place, ...message }) =>
              messageEvent(subscription === undefined ? message : { ...message, params: { _meta } }),
            // Of changes that came at once the latest tells all there is to know.
            missedEvent: () => ({ event: 'missed', data: {} }),
            greeting: subscription === undefined ? undefined : sseEvent(messageEvent(greeting)),
          },
          this.heartbeatMs,
        ),
    );
  }
}
