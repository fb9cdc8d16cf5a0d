import { Inject, Injectable } from '@nestjs/common';
import { EventRing, type Placed } from '../../streams/event-ring.js';
import { Lifecycle } from '../../common/lifecycle.js';
import { endlessMaxUnread as maxUnread, OpenStreams } from '../../streams/open-streams.js';
import { sseEvent, type ServerSentEvent } from '../../streams/sse.js';
import { type Following, SseStream } from '../../streams/sse-stream.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import { type Notification, notificationOf } from './mcp-messages.js';

/** What a client asked to hear, from 2026-07-28 on. */
export interface Subscription {
  /** The id of the request that asked for it, which each of its messages carries. */
  readonly id: string | number;
  readonly toolsListChanged: boolean;
}

/** Where a message says to which subscription it belongs. */
export const subscriptionMeta = (id: string | number): object => ({
  'io.modelcontextprotocol/subscriptionId': id,
});

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
    super({ most: events.maxStreams, what: 'the list of tools' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
    registry.changes.subscribe(() => this.changes.append(notificationOf('notifications/tools/list_changed')));
  }

  /**
   * The stream of changes; the first message to a subscription tells what of its wishes is offered.
   * @throws Problem `rate_limited`, `shutting_down`
   */
  follow(subscription?: Subscription): SseStream<Notification> {
    return this.add(
      () =>
        new SseStream(
          {
            ring: this.changes,
            place: this.changes.end,
            // Of changes that came at once the latest tells all there is to know.
            missedEvent: () => ({ event: 'missed', data: {} }),
            eventOf: subscription ? subscribed(subscription) : eventOfPlaced,
          },
          { maxUnread, greeting: subscription && acknowledged(subscription) },
          this.heartbeatMs,
        ),
    );
  }
}

/** The first message to a subscription. */
function acknowledged({ id, toolsListChanged }: Subscription): string {
  const notifications = toolsListChanged ? { toolsListChanged } : {};
  const params = { notifications, _meta: subscriptionMeta(id) };
  return sseEvent(messageEvent(notificationOf('notifications/subscriptions/acknowledged', params)));
}

function subscribed({ id, toolsListChanged }: Subscription): Following<Notification>['eventOf'] {
  const _meta = subscriptionMeta(id);
  return ({ id: _place, ...message }) =>
    toolsListChanged ? messageEvent({ ...message, params: { _meta } }) : undefined;
}
