import { Inject, Injectable } from '@nestjs/common';
import type { Placed } from '../../common/event-ring.js';
import { Lifecycle } from '../../common/lifecycle.js';
import { endlessPatience as patience, OpenStreams } from '../../common/open-streams.js';
import { SseStream } from '../../common/sse-stream.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { LogEntry, LogRing } from './log-entry.js';

/** The clients that follow logs. */
@Injectable()
export class LogStreams extends OpenStreams {
  private readonly heartbeatMs: number;

  constructor(
    @Inject(APP_CONFIG) { toolLogs, server }: Pick<AppConfig, 'toolLogs' | 'server'>,
    lifecycle: Lifecycle,
  ) {
    super({ most: toolLogs.maxStreams, variable: 'CUSTOM_TOOLS_LOG_STREAMS', what: 'logs' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
  }

  /** @throws Problem `rate_limited`, `shutting_down` */
  follow(ring: LogRing, place: number): SseStream<LogEntry> {
    const eventOf = (entry: Placed<LogEntry>) => ({ id: entry.id, event: 'log', data: entry });
    return this.add(() => new SseStream(ring, { place, eventOf, patience }, this.heartbeatMs));
  }
}
