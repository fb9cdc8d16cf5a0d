import { Injectable } from '@nestjs/common';
import type { SubscriptionFilter } from '@modelcontextprotocol/server';
import type { ToolNotice } from '../../base/common/tool-notice.js';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { type Following, type ServerSentEvent, sseEvent, type SseStream } from '../../base/streams/sse.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ServerOffers } from './server-offers.js';
import { VirtualServers } from './virtual-servers.js';
import { type Message, type Notification, notificationOf } from './mcp-messages.js';

/** A client's subscription, from 2026-07-28 on. */
interface Subscription {
  /** The id of its request, which all its messages contain. */
  readonly id: string | number;
  /** The changes that it wants. */
  readonly notifications: SubscriptionFilter & { readonly taskIds?: readonly string[] };
}

/** Names of the lists whose changes are reported. */
const listNames = ['tools', 'resources', 'prompts'] as const;
/** Limits of a ring that keeps one change only: the latest of several suffices. */
const smallRing = { maxEntries: 1, maxBytes: 1_024 };
/** The event in place of changes that a slow client missed. */
const missedEvent = (): ServerSentEvent => ({ event: 'missed', data: {} });

/** The member of `_meta` that names the subscription of a message. */
export const subscriptionMeta = (id: string | number): object => ({
  'io.modelcontextprotocol/subscriptionId': id,
});

/** An MCP message as an event. */
export const messageEvent = (data: object): ServerSentEvent => ({ event: 'message', data });

/** A notification from a ring as an event, without its place in the ring. */
const eventOfNotification = ({ id: _place, ...message }: Placed<Notification>): ServerSentEvent =>
  messageEvent(message);

/** A message from a ring as an event. Requests keep their id. */
export const eventOfMessage = ({ id, ...message }: Placed<Message>): ServerSentEvent =>
  messageEvent(message.method.startsWith('notifications/') ? message : { id, ...message });

/** Streams changes to MCP clients: of lists, and of resources that they watch. */
@Injectable()
export class McpStreams {
  /** The latest change of each list. */
  private readonly changes = new Map(listNames.map((name) => [name, new EventRing<Notification>(smallRing)]));
  /** The latest updates of resources. */
  private readonly updates = new EventRing<Notification>({ maxEntries: 1_000, maxBytes: 262_144 });

  constructor(
    private readonly streams: OpenStreams,
    registry: ToolRegistry,
    offers: ServerOffers,
    servers: VirtualServers,
  ) {
    const notify = (...changed: (typeof listNames)[number][]): void => {
      for (const name of changed)
        this.changes.get(name)?.append(notificationOf(`notifications/${name}/list_changed`));
    };
    registry.changes.subscribe(() => notify('tools'));
    registry.offers.subscribe(() => notify('resources', 'prompts'));
    servers.changes.subscribe(() => notify(...listNames));
    registry.updates.subscribe(({ server, uri }) => {
      const params = { uri: offers.shownUri(server, uri) };
      this.updates.append(notificationOf('notifications/resources/updated', params));
    });
  }

  /**
   * Opens a stream of changes. Its first message lists the accepted subscriptions.
   * @param holder the caller, for the limit of streams
   * @param watched URIs of resources; more may be added later
   * @param tasks changes of the subscription's tasks
   * @throws Problem `rate_limited`, `shutting_down`
   */
  follow(
    holder: string,
    watched: Pick<ReadonlySet<string>, 'has'>,
    subscription?: Subscription,
    tasks?: EventRing<Notification>,
  ): SseStream<Notification> {
    const eventOf = subscription ? eventMaker(subscription) : eventOfNotification;
    const followings = listNames.flatMap((name): Following<Notification>[] => {
      const ring = this.changes.get(name);
      // Without a subscription, as in the legacy era, all lists are followed.
      const isWanted = subscription ? subscription.notifications[`${name}ListChanged`] : true;
      return ring && isWanted ? [{ ring, place: ring.end, missedEvent, eventOf }] : [];
    });
    const eventOfWatched: typeof eventOf = (message) =>
      watched.has(String(message.params?.['uri'])) ? eventOf(message) : undefined;
    const { updates } = this;
    followings.push({ ring: updates, place: updates.end, missedEvent, eventOf: eventOfWatched });
    if (tasks) followings.push({ ring: tasks, place: 0, missedEvent, eventOf });
    const greeting = subscription && acknowledge(subscription);
    return this.streams.follow('streams of changed tools', holder, followings, greeting);
  }
}

/** The first message to a subscription. */
function acknowledge({ id, notifications }: Subscription): string {
  const params = { notifications, _meta: subscriptionMeta(id) };
  return sseEvent(messageEvent(notificationOf('notifications/subscriptions/acknowledged', params)));
}

/** Makes the events of a subscription: notifications that name it. */
function eventMaker({ id }: Subscription): Following<Notification>['eventOf'] {
  const _meta = subscriptionMeta(id);
  return ({ id: _place, ...message }) => messageEvent({ ...message, params: { ...message.params, _meta } });
}

/** Levels of MCP by levels of notices. */
const mcpLevelOf = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const;
/** Levels of MCP, lowest first. */
const mcpLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/**
 * Converts a tool's notice to an MCP notification.
 * @param minLevel index of the lowest level of logs that the client wants
 * @returns undefined if the client does not want the notice
 */
export function noticeMessage(
  notice: ToolNotice,
  progressToken: unknown,
  minLevel: number,
): Notification | undefined {
  if (notice.type === 'progress') {
    if (progressToken === undefined) return undefined;
    const { type: _type, ...progress } = notice;
    return notificationOf('notifications/progress', { progressToken, ...progress });
  }
  const { level, message, data } = notice;
  const mcpLevel = mcpLevelOf[level];
  if (mcpLevels.indexOf(mcpLevel) < minLevel) return undefined;
  const content = data === undefined ? message : { message, data };
  return notificationOf('notifications/message', { level: mcpLevel, data: content });
}

/** The index of the lowest level that a client wants since 2026-07-28: without one it wants no logs, by an unknown one all. */
export const wantedLevel = (level: unknown): number =>
  level === undefined ? Infinity : mcpLevels.findIndex((each) => each === level);

/** The event in place of notices that a slow client missed. */
export function missedNotices(notices: number): ServerSentEvent {
  const data = `${notices} notices were left out: the client reads too slowly`;
  return messageEvent(notificationOf('notifications/message', { level: 'warning', data }));
}
