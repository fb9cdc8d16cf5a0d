import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Placed } from '../../streams/event-ring.js';
import { Lifecycle } from '../../common/lifecycle.js';
import { endlessMaxUnread as maxUnread, OpenStreams } from '../../streams/open-streams.js';
import { SseStream } from '../../streams/sse-stream.js';
import { StreamTopics } from '../../streams/stream-topics.js';
import { acceptsEvents, sseHeaders } from '../../streams/sse.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { type LogEntry, type LogRing, ToolLogs } from '../logs/tool-logs.js';
import type { LogPageView, LogsQuery } from './tool-logs.dto.js';

/** The clients that follow logs. */
@Injectable()
export class LogStreams extends OpenStreams {
  private readonly heartbeatMs: number;

  constructor(
    @Inject(APP_CONFIG) { events, server }: Pick<AppConfig, 'events' | 'server'>,
    lifecycle: Lifecycle,
  ) {
    super({ most: events.maxStreams, what: 'logs' }, lifecycle);
    this.heartbeatMs = server.sseHeartbeatMs;
  }

  /** @throws Problem `rate_limited`, `shutting_down` */
  follow(ring: LogRing, place: number): SseStream<LogEntry> {
    const eventOf = (entry: Placed<LogEntry>) => ({ id: entry.id, event: 'log', data: entry });
    return this.add(() => new SseStream({ ring, place, eventOf }, { maxUnread }, this.heartbeatMs));
  }
}

/** A tool's log as its operator reads it: a page, or live. */
@Injectable()
export class ToolLogsService {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly logs: ToolLogs,
    private readonly streams: LogStreams,
    topics: StreamTopics,
  ) {
    topics.add('logs', {
      scope: 'tools:admin',
      earlier: 1_000,
      eventName: () => 'log',
      ring: async (tool) => logs.open((await repository.get(tool ?? '')).name).ring,
    });
  }

  /** @throws Problem `not_found`; `rate_limited` when too many clients follow logs */
  async read(
    name: string,
    { limit, since }: LogsQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<LogPageView | Readable> {
    await this.repository.get(name);
    const { ring } = this.logs.open(name);
    if (request.method === 'GET' && acceptsEvents(request.headers)) {
      const stream = this.streams.follow(ring, placeToStart(ring, limit, since, request));
      void reply.headers(sseHeaders);
      return stream;
    }
    const { entries, last, missed } = ring.slice(limit, since);
    return { data: entries, nextSince: last ?? null, missed };
  }
}

/** A client that comes back goes on where it was; a new one gets the latest entries first. */
function placeToStart(
  ring: LogRing,
  limit: number,
  since: string | undefined,
  request: FastifyRequest,
): number {
  const lastSeen = request.headers['last-event-id'];
  const id = typeof lastSeen === 'string' && lastSeen !== '' ? lastSeen : since;
  return id === undefined ? Math.max(0, ring.end - limit) : ring.placeAfter(id);
}
