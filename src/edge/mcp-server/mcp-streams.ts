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
export interface Subscription {
  /** The id of the request that asked for it, which each of its messages carries. */
  readonly id: string | number;
  /** What it is told of. */
  readonly notifications: SubscriptionFilter & { readonly taskIds?: readonly string[] };
}

/** The lists whose changes are told. */
const lists = ['tools', 'resources', 'prompts'] as const;
const smallRing = { maxEntries: 1, maxBytes: 1_024 };
/** Only the latest of several changes matters. */
const missedEvent = (): ServerSentEvent => ({ event: 'missed', data: {} });

/** The member by which a message names its subscription. */
export const subscriptionMeta = (id: string | number): object => ({
  'io.modelcontextprotocol/subscriptionId': id,
});

/** An MCP message as an event. */
export const messageEvent = (data: object): ServerSentEvent => ({ event: 'message', data });

/** A notification as it was before it was put into a ring. */
export const eventOfPlaced = ({ id: _place, ...message }: Placed<Notification>): ServerSentEvent =>
  messageEvent(message);

/** The same of a message that may be a request: that keeps its id. */
export const eventOfMessage = ({ id, ...message }: Placed<Message>): ServerSentEvent =>
  messageEvent(message.method.startsWith('notifications/') ? message : { id, ...message });

/** Tells MCP clients of changes: of lists, and of resources that they watch. */
@Injectable()
export class McpStreams {
  private readonly changes = new Map(lists.map((list) => [list, new EventRing<Notification>(smallRing)]));
  private readonly updates = new EventRing<Notification>({ maxEntries: 1_000, maxBytes: 262_144 });

  constructor(
    private readonly streams: OpenStreams,
    registry: ToolRegistry,
    offers: ServerOffers,
    servers: VirtualServers,
  ) {
    const changed = (...names: (typeof lists)[number][]): void => {
      for (const list of names)
        this.changes.get(list)?.append(notificationOf(`notifications/${list}/list_changed`));
    };
    registry.changes.subscribe(() => changed('tools'));
    registry.offers.subscribe(() => changed('resources', 'prompts'));
    servers.changes.subscribe(() => changed(...lists));
    registry.updates.subscribe(({ server, uri }) => {
      const params = { uri: offers.shownUri(server, uri) };
      this.updates.append(notificationOf('notifications/resources/updated', params));
    });
  }

  /**
   * The stream of changes. Its first message lists which of the requested subscriptions are supported.
   * @param holder whose stream it is, in the limits of callers
   * @param watched URIs of resources; others may be added later
   * @param tasks changes of tasks, for this subscription alone
   * @throws Problem `rate_limited`, `shutting_down`
   */
  follow(
    holder: string,
    watched: Pick<ReadonlySet<string>, 'has'>,
    subscription?: Subscription,
    tasks?: EventRing<Notification>,
  ): SseStream<Notification> {
    const eventOf = subscription ? subscribed(subscription) : eventOfPlaced;
    const followings = lists.flatMap((list) => {
      const ring = this.changes.get(list);
      const isWanted = subscription?.notifications[`${list}ListChanged`] ?? !subscription;
      return ring && isWanted ? [{ ring, place: ring.end, missedEvent, eventOf }] : [];
    });
    const ofWatched: Following<Notification>['eventOf'] = (message) =>
      watched.has(String(message.params?.['uri'])) ? eventOf(message) : undefined;
    const { updates } = this;
    const all = [
      ...followings,
      { ring: updates, place: updates.end, missedEvent, eventOf: ofWatched },
      ...(tasks ? [{ ring: tasks, place: 0, missedEvent, eventOf }] : []),
    ];
    const greeting = subscription && acknowledged(subscription);
    return this.streams.follow('streams of changed tools', holder, all, greeting);
  }
}

/** The first message to a subscription. */
function acknowledged({ id, notifications }: Subscription): string {
  const params = { notifications, _meta: subscriptionMeta(id) };
  return sseEvent(messageEvent(notificationOf('notifications/subscriptions/acknowledged', params)));
}

function subscribed({ id }: Subscription): Following<Notification>['eventOf'] {
  const _meta = subscriptionMeta(id);
  return ({ id: _place, ...message }) => messageEvent({ ...message, params: { ...message.params, _meta } });
}

const levels = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const;
/** MCP's, the least first. */
const mcpLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/**
 * Converts a tool's notice to an MCP notification.
 * @param leastLevel the place of the least level of logs that the client wants
 * @returns undefined for a notice below the client's level
 */
export function noticeMessage(
  notice: ToolNotice,
  progressToken: unknown,
  leastLevel: number,
): Notification | undefined {
  if (notice.type === 'progress') {
    if (progressToken === undefined) return undefined;
    const { type: _type, ...progress } = notice;
    return notificationOf('notifications/progress', { progressToken, ...progress });
  }
  const { level, message, data } = notice;
  if (mcpLevels.indexOf(levels[level]) < leastLevel) return undefined;
  const content = data === undefined ? message : { message, data };
  return notificationOf('notifications/message', { level: levels[level], data: content });
}

/**
 * The index of the minimum level that a client requests, from 2026-07-28 on.
 * @param level an MCP level; undefined: no logs
 */
export const wantedLevel = (level: unknown): number =>
  level === undefined ? Infinity : mcpLevels.findIndex((each) => each === level);

export function missedNotices(notices: number): ServerSentEvent {
  const data = `${notices} notices were left out: the client reads too slowly`;
  return messageEvent(notificationOf('notifications/message', { level: 'warning', data }));
}
