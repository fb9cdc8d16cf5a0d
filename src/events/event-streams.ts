import { Inject, Injectable } from '@nestjs/common';
import { Lifecycle } from '../common/lifecycle.js';
import { OpenStreams } from '../common/open-streams.js';
import { type Following, RingStream } from '../common/ring-stream.js';
import type { ToolEvent } from '../common/tool-events.js';
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
    super({ most: events.maxStreams, variable: 'EVENTS_STREAMS', what: 'events' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
  }

  /** @throws Problem `rate_limited`, `shutting_down` */
  follow(following: Omit<Following<ToolEvent>, 'nameOf'>): RingStream<ToolEvent> {
    const named = { ...following, nameOf: ({ type }: ToolEvent) => type };
    return this.add(() => new RingStream(this.recent.ring, named, this.heartbeatMs));
  }
}
