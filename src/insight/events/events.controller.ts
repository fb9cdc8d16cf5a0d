import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { EventPageView, EventsQuery, TopicsQuery } from './events.dto.js';
import { EventsService } from './events.service.js';
import { TopicStreamService } from './topic-stream.service.js';

const lastEventId = 'Id of the last event received; the stream resumes after it';

const eventsExample = [
  'id: mhq3k2x19f2c6b01-42',
  'event: circuit.opened',
  'data: {"id":"mhq3k2x19f2c6b01-42","type":"circuit.opened","tool":"disk_usage","timestamp":"2026-01-23T10:30:00.000Z","message":"5 of 8 calls failed in 300 s","data":{"from":"closed","to":"open","by":null}}',
  '',
  '',
].join('\n');

/** Events of tools: a page, or a stream. */
@ApiTags('events')
@Scopes('metrics:read')
@Controller('api/v1/events')
export class EventsController {
  constructor(private readonly service: EventsService) {}

  @Get()
  @ApiHeader({ name: 'last-event-id', required: false, description: lastEventId })
  @ApiOperation({
    summary: 'Read events of tools, or follow them',
    description:
      'The latest crashes, failures, recoveries, grade and circuit changes, oldest first, including those before a restart. With `Accept: text/event-stream`, new events follow. Control events: `missed` (events dropped before you read them), `reset` (unknown `last-event-id`), `end`.',
  })
  @ApiExtraModels(EventPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(EventPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: eventsExample },
    },
  })
  @ApiProblems('invalid_request', 'rate_limited', 'shutting_down', 'unauthorized', 'forbidden')
  getEvents(
    @Query() query: EventsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): EventPageView | Readable {
    return this.service.read(query, request, reply);
  }
}

const topicsExample = [
  'id: events=mhq3k2x19f2c6b01-42,logs:log_summary=mhq3k2x1-7',
  'event: log',
  'data: {"id":"mhq3k2x1-7","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","message":"3 lines had no time"}',
  '',
  '',
].join('\n');

/** One stream of several topics, because a browser opens few connections to a host. */
@ApiTags('events')
@ApiProblems('unauthorized', 'forbidden')
// Each topic has its own scope.
@Scopes()
@Controller('api/v1/console/stream')
export class TopicStreamController {
  constructor(private readonly service: TopicStreamService) {}

  @Get()
  @ApiHeader({ name: 'last-event-id', required: false, description: lastEventId })
  @ApiOperation({
    summary: 'Follow several topics in one stream',
    description:
      'Each topic needs a scope. `events` (`metrics:read`) has the events of `GET /api/v1/events`. `executions` (`metrics:read`) has the executions that ended on this server, at most twice a second. `logs:<tool>` (`tools:admin`) has the events of `GET /api/v1/custom-tools/{name}/logs`. `spans` (`traces:read`) counts the new spans of a project, at most twice a second. `ui:<session>` (`tools:call`) has the calls of a page. Control events: `missed`, `reset` and `closed` (the tool was removed), each with its `topic`, and `end`.',
  })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' }, example: topicsExample } } })
  @ApiProblems('invalid_request', 'not_found', 'rate_limited', 'shutting_down', 'database_unavailable')
  followTopics(
    @Query() query: TopicsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return this.service.follow(query, request, reply);
  }
}
