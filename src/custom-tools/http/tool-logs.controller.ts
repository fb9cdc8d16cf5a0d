import { Get, Param, Query, Req, Res } from '@nestjs/common';
import {
  ApiProperty,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  getSchemaPath,
} from '@nestjs/swagger';
import { type LogEntry, LogEntryView, ToolLogs } from '../logs/tool-logs.js';
import { Limit, Ruled, NullableText } from '../../rest/dto.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Placed } from '../../streams/event-ring.js';
import { OpenStreams } from '../../streams/open-streams.js';
import { StreamTopics } from '../../streams/stream-topics.js';
import { acceptsEvents, lastSeenId, sseHeaders } from '../../streams/sse.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import { CustomToolRoutes, ApiName } from './tool-route.decorator.js';

const idPattern = /^[a-z0-9]{1,16}-\d{1,15}$/;
export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be the id of a log entry', (id) => idPattern.test(String(id)))({
    required: false,
    example: 'mhq3k2x1-41',
    description: 'Only what came after the entry of this id; absent: the latest entries',
  }))
  readonly since?: string;
}

export class LogPageView {
  @ApiProperty({ type: [LogEntryView], description: 'Oldest first' }) readonly data!: LogEntryView[];
  @NullableText('mhq3k2x1-42', 'Send it as since for what comes next')
  readonly nextSince!: string | null;
  @ApiProperty({ example: 0, description: 'Entries after since that had to make room before they were read' })
  readonly missed!: number;
}

const logStream = [
  'id: mhq3k2x1-42',
  'event: log',
  'data: {"id":"mhq3k2x1-42","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","pid":4711,"message":"3 lines had no time"}',
  '',
  '',
].join('\n');

/** A tool's log as its operator reads it: a page, or live. */
@CustomToolRoutes('/:name/logs', 'tools:admin')
export class ToolLogsController {
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

  @Get()
  @ApiName()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: "Read a tool's log, or follow it",
    description:
      'Output of the tool on stderr, unparsed output on stdout, and starts and ends of its processes, as this server keeps them in memory. Secrets that the server knows are redacted. It needs the scope `tools:admin`, because a tool may write other secrets. With `Accept: text/event-stream` the log is followed: events `log`, `missed` (entries that had to make room before they were read) and `end`.',
  })
  @ApiExtraModels(LogPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(LogPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: logStream },
    },
  })
  @ApiProblems('not_found', 'rate_limited', 'shutting_down', 'database_unavailable')
  async getCustomToolLogs(
    @Param('name') name: string,
    @Query() { limit, since }: LogsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
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
