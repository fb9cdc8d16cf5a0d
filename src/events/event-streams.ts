import { Inject, Injectable } from '@nestjs/common';
import type { Placed } from '../streams/event-ring.js';
import { Lifecycle } from '../common/lifecycle.js';
import { endlessMaxUnread as maxUnread, OpenStreams } from '../streams/open-streams.js';
import { type Following, SseStream } from '../streams/sse-stream.js';
import type { ToolEvent } from '../streams/tool-events.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { RecentEvents } from './recent-events.js';

/** The clients that follow events. */
@Injectable()
export class EventStreams extends OpenStreams {
  private readonly heartbeatMs: number;

  constructor(
    @Inject(APP_CONFIG) { events, server }: Pick<AppConfig, 'events' | 'server'>,
    lifecycle: Lifecycle,
    private readonly recent: RecentEvents,
  ) {
    super({ most: events.maxStreams, what: 'events' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
  }

  /**
   * @param place of the first event, counted from 0
   * @throws Problem `rate_limited`, `shutting_down`
   */
  follow(place: number, wants: (event: ToolEvent) => boolean, greeting?: string): SseStream<ToolEvent> {
    const eventOf = (event: Placed<ToolEvent>) =>
      wants(event) ? { id: event.id, event: event.type, data: event } : undefined;
    return this.add(
      () =>
        new SseStream({ ring: this.recent.ring, place, eventOf }, { greeting, maxUnread }, this.heartbeatMs),
    );
  }

  /** The same of several rings at once. @throws Problem `rate_limited`, `shutting_down` */
  followAll(followings: readonly Following<object>[], greeting?: string): SseStream<object> {
    return this.add(() => new SseStream(followings, { greeting, maxUnread }, this.heartbeatMs));
  }
}
