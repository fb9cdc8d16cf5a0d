import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Placed } from '../../streams/event-ring.js';
import { OpenStreams } from '../../streams/open-streams.js';
import { StreamTopics } from '../../streams/stream-topics.js';
import { acceptsEvents, lastSeenId, sseHeaders } from '../../streams/sse.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { type LogEntry, ToolLogs } from '../logs/tool-logs.js';
import type { LogPageView, LogsQuery } from './tool-logs.dto.js';

/** A tool's log as its operator reads it: a page, or live. */
@Injectable()
export class ToolLogsService {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly logs: ToolLogs,
    private readonly streams: OpenStreams,
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
      // A client that comes back goes on where it was; a new one gets the latest entries first.
      const id = lastSeenId(request.headers, since);
      const place = id === undefined ? Math.max(0, ring.end - limit) : ring.placeAfter(id);
      const eventOf = (entry: Placed<LogEntry>) => ({ id: entry.id, event: 'log', data: entry });
      const stream = this.streams.follow('logs', { ring, place, eventOf });
      void reply.headers(sseHeaders);
      return stream;
    }
    const { entries, last, missed } = ring.slice(limit, since);
    return { data: entries, nextSince: last ?? null, missed };
  }
}
