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

const stream = [
  'id: mhq3k2x19f2c6b01-42',
  'event: circuit.opened',
  'data: {"id":"mhq3k2x19f2c6b01-42","type":"circuit.opened","tool":"disk_usage","timestamp":"2026-01-23T10:30:00.000Z","message":"5 of 8 calls failed in 300 s","data":{"from":"closed","to":"open","by":null}}',
  '',
  '',
].join('\n');

@ApiTags('events')
@Scopes('metrics:read')
@Controller('api/v1/events')
export class EventsController {
  constructor(private readonly service: EventsService) {}

  @Get()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: 'Read what happened to tools, or follow it',
    description:
      'Crashes, failures, recoveries, grades and circuits, the newest that are stored, also those from before a restart. With `Accept: text/event-stream` they are followed: beside them come `missed` (events that had to make room before they were read), `reset` (the id to go on from is not known here) and `end`.',
  })
  @ApiExtraModels(EventPageView)
  @ApiOkResponse({
    description: 'A page, or a stream of events',
    content: {
      'application/json': { schema: { $ref: getSchemaPath(EventPageView) } },
      'text/event-stream': { schema: { type: 'string' }, example: stream },
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

const example = [
  'id: events=mhq3k2x19f2c6b01-42,logs:log_summary=mhq3k2x1-7',
  'event: log',
  'data: {"id":"mhq3k2x1-7","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"log_summary","event":"stderr","message":"3 lines had no time"}',
  '',
  '',
].join('\n');

@ApiTags('events')
// Each topic asks for a scope of its own.
@Scopes()
@Controller('api/v1/console/stream')
export class TopicStreamController {
  constructor(private readonly service: TopicStreamService) {}

  @Get()
  @ApiHeader({ name: 'last-event-id', required: false, description: 'Where a stream goes on after a break' })
  @ApiOperation({
    summary: 'Follow several things in one stream',
    description:
      'What `GET /api/v1/events` and `GET /api/v1/custom-tools/{name}/logs` stream one by one, as events of the same names; `events` needs the scope `metrics:read`, `logs:<tool>` needs `tools:admin`, `spans`, which says twice a second at most how many came in for a project, `traces:read`, and `ui:<session>`, the calls of a page, `tools:call`. Beside them come `missed`, `reset` and `closed` (the tool was removed), each with its `topic`, and `end`.',
  })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' }, example } } })
  @ApiProblems(
    ...(['invalid_request', 'not_found', 'rate_limited', 'shutting_down', 'database_unavailable'] as const),
    ...(['unauthorized', 'forbidden'] as const),
  )
  followTopics(
    @Query() query: TopicsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return this.service.follow(query, request, reply);
  }
}
