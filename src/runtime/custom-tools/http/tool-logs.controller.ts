import { Get, Param, Query, Req, Res } from '@nestjs/common';
import {
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { holderIn } from '../../../web/auth/principal.decorator.js';
import { Public } from '../../../web/auth/scopes.decorator.js';
import { FleetLogs, replicaHeader } from '../logs/fleet-logs.js';
import { type LogEntry, ToolLogs } from '../logs/tool-logs.js';
import type { Placed } from '../../../base/streams/event-ring.js';
import { OpenStreams } from '../../../base/streams/open-streams.js';
import { StreamTopics } from '../../../base/streams/stream-topics.js';
import { acceptsEvents, lastSeenId, sseEvent, sseHeaders } from '../../../base/streams/sse.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { LogPageView, LogsQuery } from './tool-logs.dto.js';
import { ApiName, CustomToolRoutes } from './tool-route.decorator.js';

const streamExample =
  'id: mhq3k2x19f2c6b-42\nevent: log\n' +
  'data: {"id":"mhq3k2x19f2c6b-42","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","replica":"gateway-2:17:mhq3k2x1","event":"stderr","pid":4711,"message":"3 lines had no time"}\n\n';

/** Serves a tool's log to operators, as a page or a stream. */
@CustomToolRoutes('/:name/logs', 'tools:admin')
export class ToolLogsController {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly logs: ToolLogs,
    private readonly fleet: FleetLogs,
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
  @ApiHeader({
    name: 'last-event-id',
    required: false,
    description: 'Id of the last event received; the stream resumes after it',
  })
  @ApiOperation({
    summary: "Read a tool's log, or follow it",
    description:
      'Stderr, unparsed output on stdout, and starts and ends of processes, as replicas keep them in memory. A page has the lines of all replicas. With `Accept: text/event-stream`, a stream has the lines of the replica that answers, which its first event `replica` names; other events: `log`, `missed` (entries dropped before you read them) and `end`. Known secrets are redacted. The scope `tools:admin` is required, because a tool may write others.',
  })
  @ApiExtraModels(LogPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(LogPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: streamExample },
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
    const { ring, replica } = this.logs.open(name);
    if (request.method === 'GET' && acceptsEvents(request.headers)) {
      // A returning client resumes after its last entry; a new one begins with the latest entries.
      const id = lastSeenId(request.headers, since);
      const place = id === undefined ? Math.max(0, ring.end - limit) : ring.placeAfter(id);
      const eventOf = (entry: Placed<LogEntry>) => ({ id: entry.id, event: 'log', data: entry });
      const greeting = sseEvent({ event: 'replica', data: { replica } });
      const holder = holderIn(request);
      const stream = this.streams.follow('streams of logs', holder, { ring, place, eventOf }, greeting);
      void reply.headers(sseHeaders);
      return stream;
    }
    return this.fleet.read(name, limit, since);
  }

  /** The lines of this replica, for another replica, which signs its request. */
  @Get('own')
  @Public()
  @ApiExcludeEndpoint()
  async getOwnLogs(
    @Param('name') name: string,
    @Query() { limit, since }: LogsQuery,
    @Req() { url, headers }: FastifyRequest,
  ): Promise<LogPageView> {
    this.fleet.admit(url, headers[replicaHeader]);
    await this.repository.get(name);
    return this.fleet.ownPage(name, limit, since);
  }
}
