import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { acceptsEvents, sseHeaders } from '../../common/sse.js';
import { CustomToolsRepository } from '../custom-tools.repository.js';
import type { LogRing } from './log-entry.js';
import { LogStreams } from './log-streams.js';
import type { LogPageBody, LogsQuery } from './tool-logs.dto.js';
import { ToolLogs } from './tool-logs.js';

/** A tool's log as its operator reads it: a page, or live. */
@Injectable()
export class ToolLogsService {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly logs: ToolLogs,
    private readonly streams: LogStreams,
  ) {}

  /** @throws Problem `not_found`; `rate_limited` when too many clients follow logs */
  async read(
    name: string,
    { limit, since }: LogsQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<LogPageBody | Readable> {
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
